-- The tables for Spark SQL. recursiveFileLookup keeps Spark from reading the night from the path as a DATE. mergeSchema
-- takes files of older versions, which lack columns.
CREATE OR REPLACE TEMPORARY VIEW all_runs USING parquet OPTIONS (path '${DIR}/runs', recursiveFileLookup 'true', pathGlobFilter '*.parquet');
CREATE OR REPLACE TEMPORARY VIEW all_sites USING parquet OPTIONS (path '${DIR}/sites', recursiveFileLookup 'true', pathGlobFilter '*.parquet', mergeSchema 'true');
CREATE OR REPLACE TEMPORARY VIEW aliases USING parquet OPTIONS (path '${DIR}/aliases', recursiveFileLookup 'true', pathGlobFilter '*.parquet');
-- Nights in the future, from hosts whose clock is wrong, would hide all others.
CREATE OR REPLACE TEMPORARY VIEW runs AS SELECT * FROM all_runs WHERE night <= CAST(date_add(current_date(), 1) AS STRING);
CREATE OR REPLACE TEMPORARY VIEW sites AS SELECT * FROM all_sites WHERE night <= CAST(date_add(current_date(), 1) AS STRING);
CREATE OR REPLACE TEMPORARY VIEW run_labels AS
SELECT night, run_id, service, build_id, host, label_name, label_value
FROM runs LATERAL VIEW explode(labels) e AS label_name, label_value;
-- known_sites has the sites that can be found in other builds. A function that was renamed or split is
-- counted under its old key.
CREATE OR REPLACE TEMPORARY VIEW known_sites AS
SELECT s.night, s.run_id, s.service, s.host, s.build_id, coalesce(a.old_key, s.site_key) AS site_key,
  s.function, s.module, s.label, s.confidence, s.gained, s.slope, s.level
FROM sites s LEFT JOIN (
  SELECT service, new_key, min(old_key) AS old_key FROM aliases GROUP BY service, new_key
) a ON s.service = a.service AND s.site_key = a.new_key
WHERE s.key_kind IN ('function', 'script');
