-- Which leaks are new tonight, which are known, and which are gone?
-- Asked by: the weekly meeting.
-- A row is a site that leaked over all hosts of a build in some night (see leaks). new: tonight for the first
-- time. known: tonight, and before. fixed: before, and not tonight, although the service reported. Nights are
-- judged one by one: distinct hosts over many nights would accumulate false alarms. mixed is over all nights.
WITH tonight AS (
  SELECT max(night) AS latest FROM runs
), asked_runs AS (
  SELECT ${RUN_COLUMNS}
  FROM runs r WHERE r.status = 'judged'
), asked_sites AS (
  SELECT ${SITE_COLUMNS}
  FROM known_sites s
),
${REPORTED},
${CELLS}, bad AS (
  SELECT l.service AS service, l.site_key AS site_key, l.night AS night, min(l.function_name) AS function_name
  FROM site_cells l
  WHERE l.parts >= 4096e0 * ${LEAST_CONFIDENCE} * l.hosts AND l.gains >= ${LEAST_GAINED} * l.hosts
  GROUP BY l.service, l.site_key, l.night
), summed AS (
  SELECT b.service AS service, b.site_key AS site_key, min(b.function_name) AS function_name,
    min(b.night) AS first_night, max(b.night) AS last_night,
    count(*) AS nights
  FROM bad b GROUP BY b.service, b.site_key
), latest_runs AS (
  SELECT DISTINCT r.service AS service, t.latest AS latest FROM asked_runs r JOIN tonight t ON r.night = t.latest
)
SELECT CASE WHEN s.last_night < l.latest THEN 'fixed' WHEN s.first_night = l.latest THEN 'new' ELSE 'known' END AS state,
  s.service AS service, s.site_key AS site_key, s.function_name AS function_name,
    s.first_night AS first_night, s.last_night AS last_night, s.nights AS nights,
    r.hosts_missing AS hosts_missing, r.mixed AS mixed
FROM summed s JOIN latest_runs l ON s.service = l.service JOIN reported r ON s.service = r.service
ORDER BY state, s.service, s.site_key
