-- The file and the line of each site that may leak in the latest night. The line is the first that a process
-- of the build reports, and is not known if the key stands for functions in several files.
places AS (
  SELECT s.service AS service, s.build_id AS build_id, s.site_key AS site_key, min(s.file) AS file_name,
    CASE WHEN min(s.file) = max(s.file) THEN min(s.line) END AS line
  FROM sites s JOIN tonight t ON s.night = t.latest
  WHERE s.confidence > 0
  GROUP BY s.service, s.build_id, s.site_key
)
