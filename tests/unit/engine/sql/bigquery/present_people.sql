-- not run here: written for bigquery and checked as text alone
WITH typed AS (SELECT `person` AS person, SAFE_CAST(`x` AS FLOAT64) AS `c_x`, SAFE_CAST(`day` AS DATE) AS `c_day`, SAFE_CAST(`yes` AS BOOL) AS `c_yes` FROM source),
cleaned AS (SELECT person, CASE WHEN `c_x` BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN `c_x` END AS `c_x`, `c_day`, `c_yes` FROM typed),
bounded AS (SELECT person, CASE WHEN `c_day` IS NOT NULL THEN 0 END AS i0
  FROM cleaned WHERE (NOT ((`c_x` = 7.0e0) AND (`c_yes` = TRUE))) AND person IS NOT NULL),
counted AS (SELECT i0, COUNT(*) OVER (PARTITION BY person) AS c FROM bounded),
tally AS (SELECT c, COUNT(*) AS n, COUNT(i0) AS m0
  FROM counted GROUP BY c),
weighed AS (SELECT tally.*, CAST(CASE WHEN c <= 3 THEN 65536 ELSE DIV(196608, c) END AS INT64) AS w FROM tally)
SELECT 0 AS cell, COALESCE(SUM(w * n), 0), COALESCE(SUM(w * m0), 0)
  FROM weighed
