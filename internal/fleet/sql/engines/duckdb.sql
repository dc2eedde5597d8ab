-- The tables for DuckDB. Files of older versions lack columns.
-- Nights in the future, from hosts whose clock is wrong, would hide all others.
CREATE OR REPLACE TEMP VIEW runs AS SELECT * FROM read_parquet('${DIR}/runs/*/*.parquet', hive_partitioning = false)
WHERE night <= CAST(current_date + 1 AS VARCHAR);
CREATE OR REPLACE TEMP VIEW sites AS
SELECT * FROM read_parquet('${DIR}/sites/*/*.parquet', hive_partitioning = false, union_by_name = true)
WHERE night <= CAST(current_date + 1 AS VARCHAR)
UNION ALL BY NAME SELECT CAST(NULL AS BIGINT) AS line, CAST(NULL AS DOUBLE) AS old_share WHERE false;
CREATE OR REPLACE TEMP VIEW aliases AS SELECT * FROM read_parquet('${DIR}/aliases/*/*.parquet', hive_partitioning = false);
CREATE OR REPLACE TEMP VIEW run_labels AS
SELECT night, run_id, service, build_id, host, e.key AS label_name, e.value AS label_value
FROM (SELECT night, run_id, service, build_id, host, unnest(map_entries(labels)) AS e FROM runs);
-- known_sites has the sites that can be found in other builds. A function that was renamed or split is
-- counted under its old key.
CREATE OR REPLACE TEMP VIEW known_sites AS
SELECT s.night, s.run_id, s.service, s.host, s.build_id, coalesce(a.old_key, s.site_key) AS site_key,
  s.function, s.module, s.label, s.confidence, s.gained, s.slope, s.level
FROM sites s LEFT JOIN (
  SELECT service, new_key, min(old_key) AS old_key FROM aliases GROUP BY service, new_key
) a ON s.service = a.service AND s.site_key = a.new_key
WHERE s.key_kind IN ('function', 'script');
