-- not run here: written for snowflake and checked as text alone; columns must have the declared types: TRY_CAST takes texts alone
WITH typed AS (SELECT CAST("e" AS DATE) AS "c_e" FROM source),
cleaned AS (SELECT "c_e" FROM typed),
computed_1 AS (SELECT cleaned.*, CASE WHEN "c_e" <= DATE '2024-01-01' THEN 19723 WHEN "c_e" >= DATE '2024-12-31' THEN 20088 ELSE CAST(DATEDIFF(day, DATE '1970-01-01', "c_e") AS NUMBER(38, 0)) END AS x0, CASE WHEN "c_e" BETWEEN DATE '2024-01-01' AND DATE '2024-12-31' THEN CAST(DATEDIFF(day, DATE '1970-01-01', "c_e") AS NUMBER(38, 0)) END AS x2 FROM cleaned),
computed_2 AS (SELECT computed_1.*, x0 + (-1) * CAST(19783 AS NUMBER(38, 0)) AS x1, x2 - CAST(EXTRACT(DAY FROM DATEADD(day, x2, DATE '1970-01-01')) AS NUMBER(38, 0)) + 1 AS x3 FROM computed_1),
bounded AS (SELECT DATEADD(day, x3, DATE '1970-01-01') AS k0, CAST(x1 + 60 AS NUMBER(38, 0)) AS i0
  FROM computed_2 WHERE (CASE WHEN "c_e" BETWEEN DATE '2024-01-01' AND DATE '2024-12-31' THEN "c_e" END <> DATE '2024-02-29')),
tally AS (SELECT k0, COUNT(*) AS n, COUNT(i0) AS m0, SUM(i0) AS s0
  FROM bounded GROUP BY k0)
SELECT keys_0.number AS cell, COALESCE(SUM(n), 0), COALESCE(SUM(m0), 0), COALESCE(SUM(s0), 0)
  FROM tally JOIN keys_0 ON k0 = keys_0.key GROUP BY keys_0.number
