-- The tables for BigQuery. Not tested. The location is one such as gs://bucket/tables. Run it in a session
-- whose default data set is yours.
CREATE OR REPLACE EXTERNAL TABLE all_runs OPTIONS (format = 'PARQUET', uris = ['${DIR}/runs/*.parquet']);
CREATE OR REPLACE EXTERNAL TABLE all_sites OPTIONS (format = 'PARQUET', uris = ['${DIR}/sites/*.parquet']);
CREATE OR REPLACE EXTERNAL TABLE aliases OPTIONS (format = 'PARQUET', uris = ['${DIR}/aliases/*.parquet']);
-- Nights in the future, from hosts whose clock is wrong, would hide all others.
CREATE OR REPLACE VIEW runs AS SELECT * FROM all_runs WHERE night <= CAST(DATE_ADD(CURRENT_DATE(), INTERVAL 1 DAY) AS STRING);
CREATE OR REPLACE VIEW sites AS SELECT * FROM all_sites WHERE night <= CAST(DATE_ADD(CURRENT_DATE(), INTERVAL 1 DAY) AS STRING);
CREATE OR REPLACE VIEW run_labels AS
SELECT night, run_id, service, build_id, host, e.key AS label_name, e.value AS label_value
FROM runs, UNNEST(labels.key_value) AS e;
-- known_sites has the sites that can be found in other builds. A function that was renamed or split is
-- counted under its old key.
CREATE OR REPLACE VIEW known_sites AS
SELECT s.night, s.run_id, s.service, s.host, s.build_id, coalesce(a.old_key, s.site_key) AS site_key,
  s.function, s.module, s.label, s.confidence, s.gained, s.slope, s.level
FROM sites s LEFT JOIN (
  SELECT service, new_key, min(old_key) AS old_key FROM aliases GROUP BY service, new_key
) a ON s.service = a.service AND s.site_key = a.new_key
WHERE s.key_kind IN ('function', 'script');
