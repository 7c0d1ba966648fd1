-- not run here: written for bigquery and checked as text alone
WITH typed AS (SELECT SAFE_CAST(`e` AS DATE) AS `c_e` FROM source),
cleaned AS (SELECT `c_e` FROM typed),
computed_1 AS (SELECT cleaned.*, CASE WHEN `c_e` <= DATE '2024-01-01' THEN 19723 WHEN `c_e` >= DATE '2024-12-31' THEN 20088 ELSE CAST(DATE_DIFF(`c_e`, DATE '1970-01-01', DAY) AS INT64) END AS x0, CASE WHEN `c_e` BETWEEN DATE '2024-01-01' AND DATE '2024-12-31' THEN CAST(DATE_DIFF(`c_e`, DATE '1970-01-01', DAY) AS INT64) END AS x2 FROM cleaned),
computed_2 AS (SELECT computed_1.*, x0 + (-1) * CAST(19783 AS INT64) AS x1, x2 - CAST(EXTRACT(DAY FROM DATE_ADD(DATE '1970-01-01', INTERVAL x2 DAY)) AS INT64) + 1 AS x3 FROM computed_1),
bounded AS (SELECT DATE_ADD(DATE '1970-01-01', INTERVAL x3 DAY) AS k0, CAST(x1 + 60 AS INT64) AS i0
  FROM computed_2 WHERE (CASE WHEN `c_e` BETWEEN DATE '2024-01-01' AND DATE '2024-12-31' THEN `c_e` END <> DATE '2024-02-29')),
tally AS (SELECT k0, COUNT(*) AS n, COUNT(i0) AS m0, SUM(i0) AS s0
  FROM bounded GROUP BY k0)
SELECT keys_0.number AS cell, COALESCE(SUM(n), 0), COALESCE(SUM(m0), 0), COALESCE(SUM(CAST(s0 AS BIGNUMERIC)), 0)
  FROM tally JOIN keys_0 ON k0 = keys_0.key GROUP BY keys_0.number
