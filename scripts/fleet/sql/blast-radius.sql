-- Which leak costs the most memory, over all hosts?
-- Asked by: whoever decides what is fixed first.
-- A row is a site of a service, with all builds of the latest night added up: on how many hosts it leaks,
-- and how many bytes an hour all of them lose together. Only sites that leak on 34 % of the hosts of a
-- build are listed (see leaks).
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
    count(DISTINCT s.host) AS leaking_hosts, sum(s.slope) AS slopes, max(s.slope) AS fastest
  FROM sites s JOIN tonight t ON s.night = t.latest
  WHERE s.label IN ('leak', 'leak-late')
  GROUP BY s.service, s.build_id, s.site_key
)
SELECT l.service AS service, l.site_key AS site_key, min(l.function_name) AS function_name,
  min(l.module_name) AS module_name,
  count(*) AS builds, sum(l.leaking_hosts) AS leaking_hosts, sum(l.slopes) AS bytes_per_hour,
  max(l.fastest) AS worst_host_bytes_per_hour
FROM leaking l JOIN judged j ON l.service = j.service AND l.build_id = j.build_id
WHERE 1e0 * l.leaking_hosts / j.hosts >= 0.34
GROUP BY l.service, l.site_key
ORDER BY sum(l.slopes) DESC, l.service, l.site_key
