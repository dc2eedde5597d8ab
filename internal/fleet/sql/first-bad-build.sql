-- With which build did tonight's leaks begin?
-- Asked by: the engineer who looks for the commit.
-- A row is a site that leaks tonight (see leaks) and the first build of its service whose mean confidence
-- over all host-nights was that of a leak. Other sites are not asked about: over all sites and builds, chance
-- finds hundreds. host_night_share is the share of the host-nights on which it was called a leak. mixed is
-- over all nights.
WITH tonight AS (
  SELECT max(night) AS latest FROM runs
), ordered AS (
  SELECT b.service AS service, b.build_id AS build_id, row_number() OVER (
    PARTITION BY b.service ORDER BY b.seq, b.first_seen, b.first_night, b.build_id) AS build_number
  FROM (
    SELECT service, build_id, coalesce(min(build_seq), 0) AS seq, coalesce(min(started), 0) AS first_seen,
      min(night) AS first_night
    FROM runs GROUP BY service, build_id
  ) b
), asked_runs AS (
  SELECT ${RUN_COLUMNS}
  FROM runs r WHERE r.status = 'judged'
), asked_sites AS (
  SELECT ${SITE_COLUMNS}
  FROM known_sites s
),
${REPORTED},
${CELLS}, bad_tonight AS (
  SELECT DISTINCT l.service AS service, l.site_key AS site_key
  FROM site_cells l JOIN tonight t ON l.night = t.latest
  WHERE l.parts >= 4096e0 * ${LEAST_CONFIDENCE} * l.hosts AND l.gains >= ${LEAST_GAINED} * l.hosts
), host_nights AS (
  SELECT service, build_id, sum(hosts) AS hosts FROM cells GROUP BY service, build_id
), by_build AS (
  SELECT l.service AS service, l.build_id AS build_id, l.site_key AS site_key,
    min(l.function_name) AS function_name, sum(l.leaking_hosts) AS leaking_hosts, sum(l.parts) AS parts,
    sum(l.gains) AS gains
  FROM site_cells l JOIN bad_tonight b ON l.service = b.service AND l.site_key = b.site_key
  GROUP BY l.service, l.build_id, l.site_key
), judged AS (
  SELECT x.service AS service, x.site_key AS site_key, x.build_id AS build_id, x.function_name AS function_name,
    x.leaking_hosts AS leaking_hosts, x.parts AS parts, x.gains AS gains, h.hosts AS hosts,
    o.build_number AS build_number
  FROM by_build x
    JOIN host_nights h ON x.service = h.service AND x.build_id = h.build_id
    JOIN ordered o ON x.service = o.service AND x.build_id = o.build_id
), bad AS (
  SELECT j.service AS service, j.site_key AS site_key, j.build_id AS build_id,
    j.function_name AS function_name, j.build_number AS build_number,
    floor(1e3 * (1e0 * j.leaking_hosts / j.hosts) + 0.5e0) / 1e3 AS host_night_share,
    floor(1e3 * (j.parts / 4096e0 / j.hosts) + 0.5e0) / 1e3 AS mean_confidence,
    row_number() OVER (PARTITION BY j.service, j.site_key ORDER BY j.build_number) AS place
  FROM judged j
  WHERE j.parts >= 4096e0 * ${LEAST_CONFIDENCE} * j.hosts AND j.gains >= ${LEAST_GAINED} * j.hosts
)
SELECT bad.service AS service, bad.site_key AS site_key, bad.function_name AS function_name,
  bad.build_id AS first_bad_build, bad.build_number AS build_number, bad.host_night_share AS host_night_share,
  bad.mean_confidence AS mean_confidence, r.hosts_missing AS hosts_missing, r.mixed AS mixed
FROM bad JOIN reported r ON bad.service = r.service
WHERE bad.place = 1
ORDER BY bad.service, bad.build_number, bad.site_key
