-- Which sites come nearest to a row of leaks?
-- Asked by: heaplapse, if leaks has no row.
-- A row is a site of one build, as in leaks. The first ones reach the largest part of both conditions of leaks.
WITH tonight AS (
  SELECT max(night) AS latest FROM runs
), asked_runs AS (
  SELECT ${RUN_COLUMNS}
  FROM runs r JOIN tonight t ON r.night = t.latest WHERE r.status = 'judged'
), asked_sites AS (
  SELECT ${SITE_COLUMNS}
  FROM sites s JOIN tonight t ON s.night = t.latest
),
${CELLS},
${PLACES}
SELECT l.service AS service, l.build_id AS build_id, l.site_key AS site_key, l.function_name AS function_name,
  p.file_name AS file, p.line AS line, floor(1e3 * (l.parts / 4096e0 / l.hosts)) / 1e3 AS mean_confidence,
  l.leaking_runs AS leaking_processes, l.runs AS processes, floor(l.gains / l.hosts) AS gained_bytes_per_host
FROM site_cells l JOIN places p ON l.service = p.service AND l.build_id = p.build_id AND l.site_key = p.site_key
WHERE l.gains > 0
ORDER BY least(l.parts / l.hosts, 4096e0 * ${LEAST_CONFIDENCE}) * least(l.gains / l.hosts, ${LEAST_GAINED}) DESC,
  l.service, l.build_id, l.site_key
LIMIT 3
