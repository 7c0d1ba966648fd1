-- not run here: written for clickhouse and checked as text alone
WITH typed AS (SELECT accurateCastOrNull("e", 'Date32') AS "c_e" FROM source),
cleaned AS (SELECT "c_e" FROM typed),
computed_1 AS (SELECT cleaned.*, CASE WHEN "c_e" <= DATE '2024-01-01' THEN 19723 WHEN "c_e" >= DATE '2024-12-31' THEN 20088 ELSE CAST(dateDiff('day', toDate32('1970-01-01'), "c_e") AS Nullable(Int64)) END AS x0, CASE WHEN "c_e" BETWEEN DATE '2024-01-01' AND DATE '2024-12-31' THEN CAST(dateDiff('day', toDate32('1970-01-01'), "c_e") AS Nullable(Int64)) END AS x2 FROM cleaned),
computed_2 AS (SELECT computed_1.*, x0 + (-1) * CAST(19783 AS Nullable(Int64)) AS x1, x2 - CAST(EXTRACT(DAY FROM addDays(toDate32('1970-01-01'), x2)) AS Nullable(Int64)) + 1 AS x3 FROM computed_1),
bounded AS (SELECT addDays(toDate32('1970-01-01'), x3) AS k0, CAST(x1 + 60 AS Nullable(Int64)) AS i0
  FROM computed_2 WHERE (CASE WHEN "c_e" BETWEEN DATE '2024-01-01' AND DATE '2024-12-31' THEN "c_e" END <> DATE '2024-02-29')),
tally AS (SELECT k0, COUNT(*) AS n, COUNT(i0) AS m0, SUM(i0) AS s0
  FROM bounded GROUP BY k0)
SELECT keys_0.number AS cell, COALESCE(SUM(n), 0), COALESCE(SUM(m0), 0), COALESCE(SUM(CAST(s0 AS Nullable(Int256))), 0)
  FROM tally JOIN keys_0 ON k0 = keys_0.key GROUP BY keys_0.number
SETTINGS join_use_nulls = 1
