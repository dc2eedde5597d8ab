-- Which sites leak on a large share of the hosts that run a build?
-- Asked by: the engineer who is on call, every morning.
-- A row is a site of one build that is called a leak on at least 34 % of the hosts that ran this build in
-- the latest night. One host is never enough where there are others: of 300 sites on each of many hosts,
-- some are called leaks by chance.
WITH tonight AS (
  SELECT max(night) AS latest FROM runs
), judged AS (
  SELECT r.service AS service, r.build_id AS build_id, count(DISTINCT r.host) AS hosts
  FROM runs r JOIN tonight t ON r.night = t.latest
  WHERE r.status = 'judged'
  GROUP BY r.service, r.build_id
), leaking AS (
  SELECT s.service AS service, s.build_id AS build_id, s.site_key AS site_key,
    min(s.function) AS function_name, min(s.module) AS module_name,
    count(DISTINCT s.host) AS leaking_hosts, sum(s.slope) AS slopes, sum(s.gained) AS gains
  FROM sites s JOIN tonight t ON s.night = t.latest
  WHERE s.label IN ('leak', 'leak-late')
  GROUP BY s.service, s.build_id, s.site_key
)
SELECT l.service AS service, l.build_id AS build_id, l.site_key AS site_key, l.function_name AS function_name,
  l.module_name AS module_name, l.leaking_hosts AS leaking_hosts, j.hosts AS hosts,
  floor(1e3 * (1e0 * l.leaking_hosts / j.hosts) + 0.5e0) / 1e3 AS host_share, l.slopes AS bytes_per_hour, l.gains AS gained_bytes
FROM leaking l JOIN judged j ON l.service = j.service AND l.build_id = j.build_id
WHERE 1e0 * l.leaking_hosts / j.hosts >= 0.34
ORDER BY l.leaking_hosts DESC, l.service, l.build_id, l.site_key
