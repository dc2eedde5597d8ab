-- Which sites need more memory in the latest build, on the same hosts?
-- Asked by: the team that released it.
-- A row is a site whose mean level rose by 1 MiB and by 10 % or more between the two latest builds of a
-- service, and that rose on at least 80 % of the hosts that ran both. Each host is compared with itself,
-- over all its nights. mixed (see leaks) is over the runs of both builds: levels that were sampled differently
-- are not comparable.
WITH tonight AS (
  SELECT max(night) AS latest FROM runs
), ordered AS (
  SELECT b.service AS service, b.build_id AS build_id, row_number() OVER (
    PARTITION BY b.service ORDER BY b.seq DESC, b.first_seen DESC, b.first_night DESC, b.build_id DESC) AS age
  FROM (
    SELECT service, build_id, coalesce(min(build_seq), 0) AS seq, coalesce(min(started), 0) AS first_seen,
      min(night) AS first_night
    FROM runs GROUP BY service, build_id
  ) b
), asked_runs AS (
  SELECT ${RUN_COLUMNS}
  FROM runs r JOIN ordered o ON r.service = o.service AND r.build_id = o.build_id
  WHERE o.age <= 2
),
${REPORTED}, levels AS (
  SELECT s.service AS service, s.site_key AS site_key, s.host AS host, o.age AS age,
    min(s.function) AS function_name,
    CAST(floor(avg(s.level)) AS BIGINT) AS mean_level
  FROM known_sites s JOIN ordered o ON s.service = o.service AND s.build_id = o.build_id
  WHERE o.age <= 2
  GROUP BY s.service, s.site_key, s.host, o.age
), paired AS (
  SELECT a.service AS service, a.site_key AS site_key, a.function_name AS function_name,
    b.mean_level AS level_before, a.mean_level AS level_after
  FROM levels a JOIN levels b ON a.service = b.service AND a.site_key = b.site_key AND a.host = b.host
  WHERE a.age = 1 AND b.age = 2
), summed AS (
  SELECT service, site_key, min(function_name) AS function_name, count(*) AS hosts,
    sum(CASE WHEN level_after > level_before THEN 1 ELSE 0 END) AS hosts_that_rose,
    sum(level_before) AS all_before, sum(level_after) AS all_after
  FROM paired GROUP BY service, site_key
)
SELECT s.service AS service, s.site_key AS site_key, s.function_name AS function_name, s.hosts AS hosts,
  s.hosts_that_rose AS hosts_that_rose,
  CAST(floor(1e0 * s.all_before / s.hosts) AS BIGINT) AS before_bytes,
    CAST(floor(1e0 * s.all_after / s.hosts) AS BIGINT) AS after_bytes,
  r.hosts_missing AS hosts_missing, r.mixed AS mixed
FROM summed s JOIN reported r ON s.service = r.service
WHERE s.all_after - s.all_before >= 1048576 * s.hosts AND 10 * (s.all_after - s.all_before) >= s.all_before
  AND 10 * s.hosts_that_rose >= 8 * s.hosts
ORDER BY s.all_after - s.all_before DESC, s.service, s.site_key
