-- Which leaks occur only on hosts with a certain setting?
-- Asked by: the engineer who rolls out a flag, a kernel, or a machine type.
-- A row is a site and a label (export --label) with which it leaks on at least 34 % of the hosts, and at
-- least four times as often as on the other hosts of the service, the reference. Half a host is added to
-- both counts of leaks, and one host to both counts of hosts, so that a few hosts decide nothing.
WITH tonight AS (
  SELECT max(night) AS latest FROM runs
), judged AS (
  SELECT DISTINCT r.service AS service,
    r.host AS host FROM runs r JOIN tonight t ON r.night = t.latest WHERE r.status = 'judged'
), service_hosts AS (
  SELECT service, count(*) AS hosts FROM judged GROUP BY service
), labelled AS (
  SELECT DISTINCT l.service AS service, l.host AS host, l.label_name AS label_name, l.label_value AS label_value
  FROM run_labels l JOIN tonight t ON l.night = t.latest
    JOIN judged j ON l.service = j.service AND l.host = j.host
), label_hosts AS (
  SELECT service, label_name, label_value, count(*) AS hosts FROM labelled GROUP BY service, label_name,
    label_value
), leaking AS (
  SELECT s.service AS service, s.site_key AS site_key, s.host AS host, min(s.function) AS function_name
  FROM sites s JOIN tonight t ON s.night = t.latest
  WHERE s.label IN ('leak', 'leak-late')
  GROUP BY s.service, s.site_key, s.host
), leaking_hosts AS (
  SELECT service, site_key, count(*) AS hosts FROM leaking GROUP BY service, site_key
), leaking_with AS (
  SELECT k.service AS service, k.site_key AS site_key, l.label_name AS label_name,
    l.label_value AS label_value, min(k.function_name) AS function_name, count(*) AS hosts
  FROM leaking k JOIN labelled l ON k.service = l.service AND k.host = l.host
  GROUP BY k.service, k.site_key, l.label_name, l.label_value
), compared AS (
  SELECT w.service AS service, w.site_key AS site_key, w.function_name AS function_name,
    w.label_name AS label_name, w.label_value AS label_value,
    w.hosts AS leaking_with_label, h.hosts AS hosts_with_label,
    a.hosts - w.hosts AS leaking_without, s.hosts - h.hosts AS hosts_without
  FROM leaking_with w
    JOIN label_hosts h ON w.service = h.service AND w.label_name = h.label_name AND w.label_value = h.label_value
    JOIN leaking_hosts a ON w.service = a.service AND w.site_key = a.site_key
    JOIN service_hosts s ON w.service = s.service
)
SELECT c.service AS service, c.site_key AS site_key, c.function_name AS function_name,
  c.label_name AS label_name, c.label_value AS label_value, c.leaking_with_label AS leaking_with_label,
  c.hosts_with_label AS hosts_with_label,
  c.leaking_without AS leaking_without, c.hosts_without AS hosts_without,
  floor(1e2 * (((c.leaking_with_label + 0.5e0) / (c.hosts_with_label + 1)) / ((c.leaking_without + 0.5e0) / (c.hosts_without + 1))) + 0.5e0) / 1e2 AS lift
FROM compared c
WHERE c.hosts_without > 0 AND 1e0 * c.leaking_with_label / c.hosts_with_label >= 0.34
  AND ((c.leaking_with_label + 0.5e0) / (c.hosts_with_label + 1)) >= 4 * ((c.leaking_without + 0.5e0) / (c.hosts_without + 1))
ORDER BY c.service, c.site_key, c.label_name, c.label_value
