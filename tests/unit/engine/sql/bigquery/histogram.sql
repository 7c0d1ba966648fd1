-- not run here: written for bigquery and checked as text alone
WITH typed AS (SELECT SAFE_CAST(`x` AS FLOAT64) AS `c_x` FROM source),
cleaned AS (SELECT CASE WHEN `c_x` BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN `c_x` END AS `c_x` FROM typed),
bounded AS (SELECT CASE WHEN `c_x` IS NOT NULL THEN CASE WHEN `c_x` < 0.0e0 THEN 0 WHEN `c_x` < 2.5e0 THEN 1 ELSE 2 END END AS k0
  FROM cleaned),
tally AS (SELECT k0, COUNT(*) AS n
  FROM bounded GROUP BY k0)
SELECT k0 AS cell, COALESCE(SUM(n), 0)
  FROM tally WHERE k0 IS NOT NULL GROUP BY k0
