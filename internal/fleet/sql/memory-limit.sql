-- Which hosts reach their memory limit within a week?
-- Asked by: the engineer who is on call, to know which hosts to restart before they are killed.
-- A row is a process that has a limit (export --memory-limit), with its fastest site, and the hours that
-- are left if its resident set, or without one its heap, grows on as in the latest night.
WITH tonight AS (
  SELECT max(night) AS latest FROM runs
), growing AS (
  SELECT r.run_id AS run_id, r.service AS service, r.host AS host, r.memory_limit AS memory_limit,
    coalesce(r.rss, r.heap) AS size_now,
    coalesce(r.rss_slope, r.heap_slope) AS speed
  FROM runs r JOIN tonight t ON r.night = t.latest
  WHERE r.memory_limit IS NOT NULL AND coalesce(r.rss_slope, r.heap_slope) > 0
), near AS (
  SELECT g.run_id AS run_id, g.service AS service, g.host AS host, g.memory_limit AS memory_limit,
    g.size_now AS size_now, g.speed AS speed,
    CASE WHEN g.size_now >= g.memory_limit THEN 0e0 ELSE 1e0 * (g.memory_limit - g.size_now) / g.speed END AS hours_left
  FROM growing g
), fastest AS (
  SELECT s.run_id AS run_id, s.site_key AS site_key, s.function AS function_name, s.label AS label,
    s.slope AS slope,
    row_number() OVER (PARTITION BY s.run_id ORDER BY s.slope DESC, s.site_key) AS place
  FROM sites s JOIN tonight t ON s.night = t.latest
  WHERE s.slope > 0
)
SELECT n.service AS service, n.host AS host, n.run_id AS run_id, floor(1e1 * (n.hours_left) + 0.5e0) / 1e1 AS hours_left,
  n.size_now AS now_bytes, n.memory_limit AS limit_bytes,
  n.speed AS bytes_per_hour, f.function_name AS worst_site, f.site_key AS site_key, f.label AS label,
    f.slope AS site_bytes_per_hour
FROM near n LEFT JOIN fastest f ON n.run_id = f.run_id AND f.place = 1
WHERE n.hours_left <= 168
ORDER BY n.hours_left, n.service, n.host, n.run_id
