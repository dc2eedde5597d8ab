-- The evidence for each site of each cell: the hosts of a service that ran one build in one night. The
-- question has defined asked_runs and asked_sites before. The confidence of a host is the mean over its
-- processes, in whole parts of 1/4096, so that sums do not depend on their order. A function that was split
-- has several rows in a run under one key: the likeliest counts.
cell_runs AS (
  SELECT r.service AS service, r.night AS night, r.build_id AS build_id, r.host AS host, count(*) AS runs
  FROM asked_runs r
  GROUP BY r.service, r.night, r.build_id, r.host
), cells AS (
  SELECT service, night, build_id, count(*) AS hosts, sum(runs) AS runs FROM cell_runs GROUP BY service, night, build_id
), on_run AS (
  SELECT a.service AS service, a.night AS night, a.build_id AS build_id, a.site_key AS site_key, a.host AS host,
    a.run_id AS run_id, min(a.function_name) AS function_name, min(a.module_name) AS module_name,
    max(a.confidence) AS confidence, sum(a.gained) AS gains, sum(a.slope) AS slopes,
    max(CASE WHEN a.label IN ('leak', 'leak-late') THEN 1 ELSE 0 END) AS leaking
  FROM asked_sites a JOIN asked_runs r ON a.night = r.night AND a.run_id = r.run_id
  WHERE a.confidence > 0
  GROUP BY a.service, a.night, a.build_id, a.site_key, a.host, a.run_id
), on_host AS (
  SELECT o.service AS service, o.night AS night, o.build_id AS build_id, o.site_key AS site_key, o.host AS host,
    min(o.function_name) AS function_name, min(o.module_name) AS module_name, sum(o.confidence) AS confidences,
    sum(o.gains) AS gains, sum(o.slopes) AS slopes, max(o.slopes) AS fastest, max(o.leaking) AS leaking,
    sum(o.leaking) AS leaking_runs
  FROM on_run o
  GROUP BY o.service, o.night, o.build_id, o.site_key, o.host
), evidence AS (
  SELECT o.service AS service, o.night AS night, o.build_id AS build_id, o.site_key AS site_key, o.host AS host,
    o.function_name AS function_name, o.module_name AS module_name, floor(4096e0 * o.confidences / c.runs) AS parts,
    o.gains AS gains, o.slopes AS slopes, o.fastest AS fastest, o.leaking AS leaking, o.leaking_runs AS leaking_runs
  FROM on_host o JOIN cell_runs c
    ON o.service = c.service AND o.night = c.night AND o.build_id = c.build_id AND o.host = c.host
), site_cells AS (
  SELECT e.service AS service, e.night AS night, e.build_id AS build_id, e.site_key AS site_key,
    min(e.function_name) AS function_name, min(e.module_name) AS module_name, sum(e.parts) AS parts,
    sum(e.gains) AS gains, sum(e.slopes) AS slopes, max(e.fastest) AS fastest, sum(e.leaking) AS leaking_hosts,
    sum(e.leaking_runs) AS leaking_runs, min(c.hosts) AS hosts, min(c.runs) AS runs
  FROM evidence e JOIN cells c ON e.service = c.service AND e.night = c.night AND e.build_id = c.build_id
  GROUP BY e.service, e.night, e.build_id, e.site_key
)
