-- Which sites leak, over all hosts that run a build?
-- Asked by: the engineer who is on call, every morning.
-- A row is a site of one build whose mean confidence over the hosts that ran this build in the latest night
-- is ${LEAST_CONFIDENCE} or more, and that gained ${LEAST_GAINED} bytes a host or more. The confidence of a
-- host is the mean over its processes; that of a host without the site is 0. One host does not decide: of 300
-- sites on each of many hosts, some are called leaks by chance. mixed names what the runs of the service
-- differ in, if that makes their confidences differ in kind: models, formats, periods, or counts (only some
-- have cumulative counts).
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
${CELLS},
${PLACES}
SELECT l.service AS service, l.build_id AS build_id, l.site_key AS site_key, l.function_name AS function_name,
  p.file_name AS file, p.line AS line, l.module_name AS module_name, l.leaking_hosts AS leaking_hosts, l.hosts AS hosts,
  floor(1e3 * (1e0 * l.leaking_hosts / l.hosts) + 0.5e0) / 1e3 AS host_share, l.slopes AS bytes_per_hour,
  l.gains AS gained_bytes, floor(1e3 * (l.parts / 4096e0 / l.hosts) + 0.5e0) / 1e3 AS mean_confidence,
  r.hosts_missing AS hosts_missing, r.mixed AS mixed
FROM site_cells l JOIN reported r ON l.service = r.service
  JOIN places p ON l.service = p.service AND l.build_id = p.build_id AND l.site_key = p.site_key
WHERE l.parts >= 4096e0 * ${LEAST_CONFIDENCE} * l.hosts AND l.gains >= ${LEAST_GAINED} * l.hosts
ORDER BY l.parts / l.hosts DESC, l.service, l.build_id, l.site_key
