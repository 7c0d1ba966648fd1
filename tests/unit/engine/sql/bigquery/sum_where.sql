-- not run here: written for bigquery and checked as text alone
WITH typed AS (SELECT SAFE_CAST(`x` AS FLOAT64) AS `c_x`, SAFE_CAST(`key` AS STRING) AS `c_key`, SAFE_CAST(`day` AS DATE) AS `c_day`, SAFE_CAST(`yes` AS BOOL) AS `c_yes` FROM source),
cleaned AS (SELECT CASE WHEN `c_x` BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN `c_x` END AS `c_x`, `c_key`, `c_day`, `c_yes` FROM typed),
bounded AS (SELECT CASE WHEN `c_x` BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN CASE WHEN `c_x` <= -2.0e0 THEN 0 WHEN `c_x` >= 7.0e0 THEN 9 ELSE CAST(FLOOR((`c_x` - -2.0e0) * 1.0e0 + 0.5e0) AS INT64) END END AS i0
  FROM cleaned WHERE (((`c_day` >= DATE '2024-01-01') OR (`c_yes` = TRUE)) AND (`c_key` IN ('a', SAFE_CONVERT_BYTES_TO_STRING(FROM_HEX('69742773')))) AND (`c_x` >= 1.0e0))),
tally AS (SELECT COUNT(*) AS n, COUNT(i0) AS m0, SUM(i0) AS s0
  FROM bounded)
SELECT 0 AS cell, COALESCE(SUM(n), 0), COALESCE(SUM(m0), 0), COALESCE(SUM(CAST(s0 AS BIGNUMERIC)), 0)
  FROM tally
