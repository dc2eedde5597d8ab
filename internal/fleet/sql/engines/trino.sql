-- The tables for Trino, with the Hive connector. Not tested. The nights are partitions: the column night of
-- the files is left out. The location is one such as s3://bucket/tables.
CREATE TABLE all_runs (run_id VARCHAR, service VARCHAR, host VARCHAR, pid BIGINT, build_id VARCHAR, build_seq BIGINT, program VARCHAR,
  workload VARCHAR, labels MAP(VARCHAR, VARCHAR), format VARCHAR, period BIGINT, has_alloc BOOLEAN,
    clock VARCHAR, snapshots BIGINT,
  truncated BIGINT, started BIGINT, span BIGINT, heap BIGINT, heap_gained BIGINT, heap_slope BIGINT,
    rss BIGINT, rss_slope BIGINT,
  memory_limit BIGINT, verdict VARCHAR, status VARCHAR, sites BIGINT, tool VARCHAR, model VARCHAR,
    night VARCHAR)
WITH (format = 'PARQUET', external_location = '${DIR}/runs', partitioned_by = ARRAY['night']);
CREATE TABLE all_sites (run_id VARCHAR, service VARCHAR, host VARCHAR, build_id VARCHAR, site_key BIGINT, key_kind VARCHAR, path_key BIGINT,
  function VARCHAR, module VARCHAR, file VARCHAR, line BIGINT, label VARCHAR, confidence DOUBLE, gained BIGINT,
    slope BIGINT, slope_error BIGINT,
  sigma BIGINT, level BIGINT, now BIGINT, objects BIGINT, noise BIGINT, call_paths BIGINT, old_share DOUBLE, night VARCHAR)
WITH (format = 'PARQUET', external_location = '${DIR}/sites', partitioned_by = ARRAY['night']);
CREATE TABLE aliases (service VARCHAR, old_build_id VARCHAR, new_build_id VARCHAR, old_key BIGINT, new_key BIGINT,
  old_function VARCHAR, new_function VARCHAR, bytes BIGINT, night VARCHAR)
WITH (format = 'PARQUET', external_location = '${DIR}/aliases', partitioned_by = ARRAY['night']);
CALL system.sync_partition_metadata(CURRENT_SCHEMA, 'all_runs', 'FULL');
CALL system.sync_partition_metadata(CURRENT_SCHEMA, 'all_sites', 'FULL');
CALL system.sync_partition_metadata(CURRENT_SCHEMA, 'aliases', 'FULL');
-- Nights in the future, from hosts whose clock is wrong, would hide all others.
CREATE OR REPLACE VIEW runs AS SELECT * FROM all_runs WHERE night <= CAST(date_add('day', 1, current_date) AS VARCHAR);
CREATE OR REPLACE VIEW sites AS SELECT * FROM all_sites WHERE night <= CAST(date_add('day', 1, current_date) AS VARCHAR);
CREATE OR REPLACE VIEW run_labels AS
SELECT night, run_id, service, build_id, host, label_name, label_value
FROM runs CROSS JOIN UNNEST(labels) AS e (label_name, label_value);
-- known_sites has the sites that can be found in other builds. A function that was renamed or split is
-- counted under its old key.
CREATE OR REPLACE VIEW known_sites AS
SELECT s.night, s.run_id, s.service, s.host, s.build_id, coalesce(a.old_key, s.site_key) AS site_key,
  s.function, s.module, s.label, s.confidence, s.gained, s.slope, s.level
FROM sites s LEFT JOIN (
  SELECT service, new_key, min(old_key) AS old_key FROM aliases GROUP BY service, new_key
) a ON s.service = a.service AND s.site_key = a.new_key
WHERE s.key_kind IN ('function', 'script');
