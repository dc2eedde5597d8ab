-- With which build did tonight's leaks begin?
-- Asked by: the engineer who looks for the commit.
-- A row is a site that leaks tonight (see leaks) and the first build of its service in which it leaked on
-- at least 34 % of the host-nights. Other sites are not asked about: over all sites and builds, chance
-- finds hundreds.
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
), judged AS (
  SELECT j.service AS service, j.night AS night, j.build_id AS build_id, count(DISTINCT j.host) AS hosts
  FROM runs j WHERE j.status = 'judged'
  GROUP BY j.service, j.night, j.build_id
), leaking AS (
  SELECT s.service AS service, s.night AS night, s.build_id AS build_id, s.site_key AS site_key,
    min(s.function) AS function_name, count(DISTINCT s.host) AS leaking_hosts
  FROM known_sites s WHERE s.label IN ('leak', 'leak-late')
  GROUP BY s.service, s.night, s.build_id, s.site_key
), bad_tonight AS (
  SELECT DISTINCT l.service AS service, l.site_key AS site_key
  FROM leaking l
    JOIN tonight t ON l.night = t.latest
    JOIN judged j ON l.service = j.service AND l.night = j.night AND l.build_id = j.build_id
  WHERE 1e0 * l.leaking_hosts / j.hosts >= 0.34
), host_nights AS (
  SELECT service, build_id, sum(hosts) AS all_host_nights FROM judged GROUP BY service, build_id
), by_build AS (
  SELECT l.service AS service, l.build_id AS build_id, l.site_key AS site_key,
    min(l.function_name) AS function_name, sum(l.leaking_hosts) AS leaking_host_nights
  FROM leaking l JOIN bad_tonight b ON l.service = b.service AND l.site_key = b.site_key
  GROUP BY l.service, l.build_id, l.site_key
), bad AS (
  SELECT x.service AS service, x.site_key AS site_key, x.build_id AS build_id,
    x.function_name AS function_name, o.build_number AS build_number,
    floor(1e3 * (1e0 * x.leaking_host_nights / h.all_host_nights) + 0.5e0) / 1e3 AS host_night_share,
    row_number() OVER (PARTITION BY x.service, x.site_key ORDER BY o.build_number) AS place
  FROM by_build x
    JOIN host_nights h ON x.service = h.service AND x.build_id = h.build_id
    JOIN ordered o ON x.service = o.service AND x.build_id = o.build_id
  WHERE 1e0 * x.leaking_host_nights / h.all_host_nights >= 0.34
)
SELECT bad.service AS service, bad.site_key AS site_key, bad.function_name AS function_name,
  bad.build_id AS first_bad_build, bad.build_number AS build_number, bad.host_night_share AS host_night_share
FROM bad WHERE bad.place = 1
ORDER BY bad.service, bad.build_number, bad.site_key
