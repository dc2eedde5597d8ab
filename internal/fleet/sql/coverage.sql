-- Which hosts and builds reported, and can their rows be compared?
-- Asked by: the engineer who runs the export, before anybody trusts the other answers.
-- A row is a service. It counts the hosts that reported tonight, those that reported in an earlier night
-- and are missing, the runs without a verdict, and the builds, formats, sampling periods and versions of
-- the model. counts is 2 if only some runs have cumulative counts. More than one format, period or model, or 2
-- counts, means that confidences differ in kind.
WITH tonight AS (
  SELECT max(night) AS latest FROM runs
), seen AS (
  SELECT r.service AS service, r.host AS host, max(CASE WHEN r.night = t.latest THEN 1 ELSE 0 END) AS reported
  FROM runs r CROSS JOIN tonight t
  GROUP BY r.service, r.host
), hosts AS (
  SELECT service, sum(reported) AS hosts_tonight,
    count(*) - sum(reported) AS hosts_missing FROM seen GROUP BY service
), facts AS (
  SELECT r.service AS service, count(*) AS all_runs,
    sum(CASE WHEN r.status = 'judged' THEN 0 ELSE 1 END) AS undecided_runs,
    sum(CASE WHEN r.truncated > 0 THEN 1 ELSE 0 END) AS truncated_runs,
      sum(CASE WHEN r.started IS NULL THEN 1 ELSE 0 END) AS runs_without_times,
    count(DISTINCT r.build_id) AS builds, count(DISTINCT r.format) AS formats,
      count(DISTINCT r.period) AS periods,
    count(DISTINCT CASE WHEN r.has_alloc THEN 1 ELSE 0 END) AS counts,
    count(DISTINCT r.model) AS models, count(DISTINCT r.tool) AS tools, min(r.snapshots) AS fewest_snapshots
  FROM runs r JOIN tonight t ON r.night = t.latest
  GROUP BY r.service
)
SELECT h.service AS service, h.hosts_tonight AS hosts_tonight, h.hosts_missing AS hosts_missing,
  coalesce(f.all_runs, 0) AS runs_tonight, coalesce(f.undecided_runs, 0) AS undecided_runs,
  coalesce(f.truncated_runs, 0) AS truncated_runs, coalesce(f.runs_without_times, 0) AS runs_without_times,
    coalesce(f.builds, 0) AS builds,
  coalesce(f.formats, 0) AS formats, coalesce(f.periods, 0) AS periods, coalesce(f.counts, 0) AS counts,
  coalesce(f.models, 0) AS models, coalesce(f.tools, 0) AS tools, coalesce(f.fewest_snapshots, 0) AS fewest_snapshots
FROM hosts h LEFT JOIN facts f ON h.service = f.service
ORDER BY h.service
