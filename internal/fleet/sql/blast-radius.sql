-- Which leak costs the most memory, over all hosts?
-- Asked by: whoever decides what is fixed first.
-- A row is a site of a service, with all builds of the latest night added up: on how many hosts it leaks,
-- and how many bytes an hour all of them lose together. Only the builds in which it leaks over all hosts are
-- counted (see leaks).
WITH tonight AS (
  SELECT max(night) AS latest FROM runs
), asked_runs AS (
  SELECT ${RUN_COLUMNS}
  FROM runs r JOIN tonight t ON r.night = t.latest WHERE r.status = 'judged'
), asked_sites AS (
  SELECT ${SITE_COLUMNS}
  FROM sites s JOIN tonight t ON s.night = t.latest
),
${REPORTED},
${CELLS}
SELECT l.service AS service, l.site_key AS site_key, min(l.function_name) AS function_name,
  min(l.module_name) AS module_name,
  count(*) AS builds, sum(l.leaking_hosts) AS leaking_hosts, sum(l.slopes) AS bytes_per_hour,
  max(l.fastest) AS worst_host_bytes_per_hour, min(r.hosts_missing) AS hosts_missing, min(r.mixed) AS mixed
FROM site_cells l JOIN reported r ON l.service = r.service
WHERE l.parts >= 4096e0 * ${LEAST_CONFIDENCE} * l.hosts AND l.gains >= ${LEAST_GAINED} * l.hosts
GROUP BY l.service, l.site_key
ORDER BY sum(l.slopes) DESC, l.service, l.site_key
