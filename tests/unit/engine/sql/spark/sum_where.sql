WITH typed AS (SELECT TRY_CAST(`c_x` AS DOUBLE) AS `c_x`, TRY_CAST(`c_key` AS STRING) AS `c_key`, TRY_CAST(`c_day` AS DATE) AS `c_day`, TRY_CAST(`c_yes` AS BOOLEAN) AS `c_yes` FROM source),
cleaned AS (SELECT CASE WHEN `c_x` BETWEEN -1.7976931348623157e308D AND 1.7976931348623157e308D THEN `c_x` END AS `c_x`, `c_key`, `c_day`, `c_yes` FROM typed),
bounded AS (SELECT CASE WHEN `c_x` BETWEEN -1.7976931348623157e308D AND 1.7976931348623157e308D THEN CASE WHEN `c_x` <= -2.0e0D THEN 0 WHEN `c_x` >= 7.0e0D THEN 9 ELSE CAST(FLOOR((`c_x` - -2.0e0D) * 1.0e0D + 0.5e0D) AS INT) END END AS i0
  FROM cleaned WHERE (((`c_day` >= DATE '2024-01-01') OR (`c_yes` = TRUE)) AND (`c_key` IN ('a', decode(unhex('69742773'), 'UTF-8'))) AND (`c_x` >= 1.0e0D))),
tally AS (SELECT COUNT(*) AS n, COUNT(i0) AS m0, SUM(i0) AS s0
  FROM bounded)
SELECT 0 AS cell, COALESCE(SUM(n), 0), COALESCE(SUM(m0), 0), COALESCE(SUM(CAST(s0 AS DECIMAL(38, 0))), 0)
  FROM tally
