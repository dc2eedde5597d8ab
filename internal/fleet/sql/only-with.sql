-- Which leaks occur only with a setting, or only with the latest build?
-- Asked by: the engineer who rolls out a flag, a kernel, a machine type, or a build.
-- A row is a site and a label (export --label) with which it leaks over all hosts (see leaks), and whose mean
-- confidence there is at least ${LEAST_LIFT} times that on the reference hosts: the other hosts of the service.
-- The label "build" is the latest build; its reference is the last night of the build before. Runs without a
-- build ID belong to no build there. One host with the confidence ${LIFT_PRIOR} is added to both sides, so that a
-- few hosts decide nothing. Shares count the hosts on which it is called a leak.
WITH tonight AS (
  SELECT max(night) AS latest FROM runs
), ordered AS (
  SELECT b.service AS service, b.build_id AS build_id, b.last_night AS last_night, row_number() OVER (
    PARTITION BY b.service ORDER BY b.seq DESC, b.first_seen DESC, b.first_night DESC, b.build_id DESC) AS age
  FROM (
    SELECT service, build_id, coalesce(min(build_seq), 0) AS seq, coalesce(min(started), 0) AS first_seen,
      min(night) AS first_night, max(night) AS last_night
    FROM runs WHERE status = 'judged' GROUP BY service, build_id
  ) b
), asked_runs AS (
  SELECT ${RUN_COLUMNS}
  FROM runs r JOIN ordered o ON r.service = o.service AND r.build_id = o.build_id CROSS JOIN tonight t
  WHERE r.status = 'judged' AND (r.night = t.latest OR o.age = 2 AND r.night = o.last_night)
), asked_sites AS (
  SELECT ${SITE_COLUMNS}
  FROM known_sites s JOIN ordered o ON s.service = o.service AND s.build_id = o.build_id CROSS JOIN tonight t
  WHERE s.night = t.latest OR o.age = 2 AND s.night = o.last_night
),
${REPORTED},
${CELLS}, members AS (
  SELECT 'label' AS kind, c.service AS service, c.night AS night, c.build_id AS build_id, c.host AS host
  FROM cell_runs c JOIN tonight t ON c.night = t.latest
  UNION ALL
  SELECT 'build' AS kind, c.service AS service, c.night AS night, c.build_id AS build_id, c.host AS host
  FROM cell_runs c JOIN ordered o ON c.service = o.service AND c.build_id = o.build_id AND c.night = o.last_night
  WHERE o.age <= 2 AND c.build_id <> ''
), labelled AS (
  SELECT DISTINCT 'label' AS kind, c.service AS service, c.night AS night, c.build_id AS build_id, c.host AS host,
    l.label_name AS label_name, l.label_value AS label_value
  FROM run_labels l JOIN tonight t ON l.night = t.latest
    JOIN cell_runs c ON l.service = c.service AND l.night = c.night AND l.build_id = c.build_id AND l.host = c.host
  UNION ALL
  SELECT m.kind AS kind, m.service AS service, m.night AS night, m.build_id AS build_id, m.host AS host,
    'build' AS label_name, m.build_id AS label_value
  FROM members m JOIN ordered o ON m.service = o.service AND m.build_id = o.build_id
    JOIN tonight t ON m.night = t.latest
  WHERE m.kind = 'build' AND o.age = 1
), all_hosts AS (
  SELECT kind, service, count(*) AS hosts FROM members GROUP BY kind, service
), label_hosts AS (
  SELECT kind, service, label_name, label_value, count(*) AS hosts FROM labelled
  GROUP BY kind, service, label_name, label_value
), everywhere AS (
  SELECT m.kind AS kind, e.service AS service, e.site_key AS site_key, sum(e.parts) AS parts,
    sum(e.leaking) AS leaking
  FROM evidence e
    JOIN members m ON e.service = m.service AND e.night = m.night AND e.build_id = m.build_id AND e.host = m.host
  GROUP BY m.kind, e.service, e.site_key
), with_label AS (
  SELECT l.kind AS kind, e.service AS service, e.site_key AS site_key, l.label_name AS label_name,
    l.label_value AS label_value, min(e.function_name) AS function_name, sum(e.parts) AS parts,
    sum(e.gains) AS gains, sum(e.leaking) AS leaking
  FROM evidence e
    JOIN labelled l ON e.service = l.service AND e.night = l.night AND e.build_id = l.build_id AND e.host = l.host
  GROUP BY l.kind, e.service, e.site_key, l.label_name, l.label_value
), compared AS (
  SELECT w.service AS service, w.site_key AS site_key, w.function_name AS function_name,
    w.label_name AS label_name, w.label_value AS label_value, w.leaking AS leaking, h.hosts AS hosts,
    w.parts AS parts, w.gains AS gains, a.leaking - w.leaking AS leaking_without, s.hosts - h.hosts AS hosts_without,
    a.parts - w.parts AS parts_without,
    (w.parts / 4096e0 + ${LIFT_PRIOR}) / (h.hosts + 1) AS smooth_with,
    ((a.parts - w.parts) / 4096e0 + ${LIFT_PRIOR}) / (s.hosts - h.hosts + 1) AS smooth_without
  FROM with_label w
    JOIN label_hosts h ON w.kind = h.kind AND w.service = h.service AND w.label_name = h.label_name
      AND w.label_value = h.label_value
    JOIN everywhere a ON w.kind = a.kind AND w.service = a.service AND w.site_key = a.site_key
    JOIN all_hosts s ON w.kind = s.kind AND w.service = s.service
)
SELECT c.service AS service, c.site_key AS site_key, c.function_name AS function_name,
  c.label_name AS label_name, c.label_value AS label_value, c.leaking AS leaking_with_label,
  c.hosts AS hosts_with_label, c.leaking_without AS leaking_without, c.hosts_without AS hosts_without,
  floor(1e2 * (c.smooth_with / c.smooth_without) + 0.5e0) / 1e2 AS lift,
  floor(1e3 * (c.parts / 4096e0 / c.hosts) + 0.5e0) / 1e3 AS mean_confidence,
  floor(1e3 * (c.parts_without / 4096e0 / c.hosts_without) + 0.5e0) / 1e3 AS mean_without,
  r.hosts_missing AS hosts_missing, r.mixed AS mixed
FROM compared c JOIN reported r ON c.service = r.service
WHERE c.hosts_without > 0 AND c.parts >= 4096e0 * ${LEAST_CONFIDENCE} * c.hosts AND c.gains >= ${LEAST_GAINED} * c.hosts
  AND c.smooth_with >= ${LEAST_LIFT} * c.smooth_without
ORDER BY c.service, c.site_key, c.label_name, c.label_value
