-- The tables for ClickHouse: clickhouse-local, chdb, or a server that sees the files.
SET join_use_nulls = 1;
SET use_hive_partitioning = 0;
SET prefer_column_name_to_alias = 1;
SET schema_inference_make_columns_nullable = 'auto';
SET schema_inference_mode = 'union'; -- files of older versions lack columns
-- Nights in the future, from hosts whose clock is wrong, would hide all others.
CREATE OR REPLACE VIEW runs AS SELECT * FROM file('${DIR}/runs/*/*.parquet', Parquet) WHERE night <= toString(today() + 1);
CREATE OR REPLACE VIEW sites AS SELECT * FROM file('${DIR}/sites/*/*.parquet', Parquet) WHERE night <= toString(today() + 1);
CREATE OR REPLACE VIEW aliases AS SELECT * FROM file('${DIR}/aliases/*/*.parquet', Parquet);
CREATE OR REPLACE VIEW run_labels AS
SELECT night, run_id, service, build_id, host, e.1 AS label_name, e.2 AS label_value
FROM (SELECT night, run_id, service, build_id, host, arrayJoin(CAST(labels, 'Array(Tuple(String, String))')) AS e FROM runs);
-- known_sites has the sites that can be found in other builds. A function that was renamed or split is
-- counted under its old key.
CREATE OR REPLACE VIEW known_sites AS
SELECT s.night, s.run_id, s.service, s.host, s.build_id, coalesce(a.old_key, s.site_key) AS site_key,
  s.function, s.module, s.label, s.confidence, s.gained, s.slope, s.level
FROM sites s LEFT JOIN (
  SELECT service, new_key, min(old_key) AS old_key FROM aliases GROUP BY service, new_key
) a ON s.service = a.service AND s.site_key = a.new_key
WHERE s.key_kind IN ('function', 'script');
