-- Which hosts hold far more memory at a site than the others?
-- Asked by: the engineer who suspects a broken host, or an unusual client.
-- A row is a site on a host where its level is more than four times the median over the hosts of the build
-- in the latest night, and more by 16 MiB. The median is a value that a host has: engines agree on it.
-- mixed (see leaks) is over the runs of the service.
WITH tonight AS (
  SELECT max(night) AS latest FROM runs
), asked_runs AS (
  SELECT ${RUN_COLUMNS}
  FROM runs r JOIN tonight t ON r.night = t.latest
),
${REPORTED}, ranked AS (
  SELECT s.service AS service, s.build_id AS build_id, s.site_key AS site_key, s.function AS function_name,
    s.host AS host, s.run_id AS run_id, s.level AS own_level,
    row_number() OVER (PARTITION BY s.service, s.build_id, s.site_key ORDER BY s.level, s.host, s.run_id) AS place,
    count(*) OVER (PARTITION BY s.service, s.build_id, s.site_key) AS all_places
  FROM sites s JOIN tonight t ON s.night = t.latest
), medians AS (
  SELECT service, build_id, site_key, own_level AS median_level FROM ranked
  WHERE place = floor((all_places + 1) / 2e0)
)
SELECT r.service AS service, r.host AS host, r.run_id AS run_id, r.site_key AS site_key,
  r.function_name AS function_name, r.own_level AS level_bytes, m.median_level AS median_bytes,
  r.all_places AS runs_compared, k.hosts_missing AS hosts_missing, k.mixed AS mixed
FROM ranked r JOIN medians m ON r.service = m.service AND r.build_id = m.build_id AND r.site_key = m.site_key
  JOIN reported k ON r.service = k.service
WHERE r.own_level > 4 * m.median_level AND r.own_level - m.median_level > 16777216
ORDER BY r.own_level - m.median_level DESC, r.service, r.host, r.run_id, r.site_key
