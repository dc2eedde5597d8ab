-- Which leaks are new tonight, which are known, and which are gone?
-- Asked by: the weekly meeting.
-- A row is a site that leaked on at least 34 % of the hosts of a build in some night. new: tonight for the
-- first time. known: tonight, and before. fixed: before, and not tonight, although the service reported.
-- Nights are judged one by one: distinct hosts over many nights would accumulate false alarms.
WITH tonight AS (
  SELECT max(night) AS latest FROM runs
), judged AS (
  SELECT r.service AS service, r.night AS night, r.build_id AS build_id, count(DISTINCT r.host) AS hosts
  FROM runs r WHERE r.status = 'judged'
  GROUP BY r.service, r.night, r.build_id
), leaking AS (
  SELECT s.service AS service, s.night AS night, s.build_id AS build_id, s.site_key AS site_key,
    min(s.function) AS function_name, count(DISTINCT s.host) AS leaking_hosts
  FROM known_sites s WHERE s.label IN ('leak', 'leak-late')
  GROUP BY s.service, s.night, s.build_id, s.site_key
), bad AS (
  SELECT l.service AS service, l.site_key AS site_key, l.night AS night,
    min(l.function_name) AS function_name, sum(l.leaking_hosts) AS leaking_hosts
  FROM leaking l JOIN judged j ON l.service = j.service AND l.night = j.night AND l.build_id = j.build_id
  WHERE 1e0 * l.leaking_hosts / j.hosts >= 0.34
  GROUP BY l.service, l.site_key, l.night
), summed AS (
  SELECT b.service AS service, b.site_key AS site_key, min(b.function_name) AS function_name,
    min(b.night) AS first_night, max(b.night) AS last_night,
    count(*) AS nights
  FROM bad b GROUP BY b.service, b.site_key
), reported AS (
  SELECT DISTINCT r.service AS service,
    t.latest AS latest FROM runs r JOIN tonight t ON r.night = t.latest WHERE r.status = 'judged'
)
SELECT CASE WHEN s.last_night < r.latest THEN 'fixed' WHEN s.first_night = r.latest THEN 'new' ELSE 'known' END AS state,
  s.service AS service, s.site_key AS site_key, s.function_name AS function_name,
    s.first_night AS first_night, s.last_night AS last_night, s.nights AS nights
FROM summed s JOIN reported r ON s.service = r.service
ORDER BY state, s.service, s.site_key
