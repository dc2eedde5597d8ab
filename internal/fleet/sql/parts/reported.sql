-- What the runs of each service in asked_runs differ in, if that makes their confidences differ in kind, and
-- how many hosts have reported in an earlier night and not tonight.
reported AS (
  SELECT k.service AS service, k.mixed AS mixed, m.hosts_missing AS hosts_missing
  FROM (
    SELECT r.service AS service, CASE WHEN count(DISTINCT r.model) > 1 THEN 'models'
      WHEN count(DISTINCT r.format) > 1 THEN 'formats' WHEN count(DISTINCT r.period) > 1 THEN 'periods'
      WHEN count(DISTINCT CASE WHEN r.has_alloc THEN 1 ELSE 0 END) > 1 THEN 'counts' ELSE 'no' END AS mixed
    FROM asked_runs r GROUP BY r.service
  ) k JOIN (
    SELECT h.service AS service, count(*) - sum(h.reported) AS hosts_missing
    FROM (
      SELECT r.service AS service, r.host AS host, max(CASE WHEN r.night = t.latest THEN 1 ELSE 0 END) AS reported
      FROM runs r CROSS JOIN tonight t GROUP BY r.service, r.host
    ) h GROUP BY h.service
  ) m ON k.service = m.service
)
