-- not run here: written for bigquery and checked as text alone
WITH typed AS (SELECT SAFE_CAST(`x` AS FLOAT64) AS `c_x`, SAFE_CAST(`y` AS FLOAT64) AS `c_y` FROM source),
cleaned AS (SELECT `c_x`, `c_y` FROM typed),
computed_1 AS (SELECT cleaned.*, CAST(CASE WHEN `c_x` BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN CASE WHEN `c_x` <= -2.0e0 THEN 0 WHEN `c_x` >= 7.0e0 THEN 9 ELSE CAST(FLOOR((`c_x` - -2.0e0) * 1.0e0 + 0.5e0) AS INT64) END END AS INT64) - 2 AS x0 FROM cleaned),
computed_2 AS (SELECT computed_1.*, ABS(x0) AS x1 FROM computed_1),
bounded AS (SELECT CASE WHEN `c_y` BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN CASE WHEN `c_y` <= -0.5e0 THEN 0 WHEN `c_y` >= 100.0e0 THEN 1646592 ELSE CAST(FLOOR((`c_y` - -0.5e0) * 16384.0e0 + 0.5e0) AS INT64) END END AS i0, COALESCE(CAST(CAST(x1 AS INT64) AS INT64) + 0, 0) AS v0
  FROM computed_2),
tally AS (SELECT i0, SUM(v0) AS n
  FROM bounded GROUP BY i0)
SELECT 0 AS cell, i0, COALESCE(SUM(CAST(n AS BIGNUMERIC)), 0) AS weight
  FROM tally WHERE i0 IS NOT NULL GROUP BY i0
