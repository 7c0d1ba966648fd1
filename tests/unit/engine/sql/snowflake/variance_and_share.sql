-- not run here: written for snowflake and checked as text alone; columns must have the declared types: TRY_CAST takes texts alone
WITH typed AS (SELECT CAST("x" AS DOUBLE) AS "c_x", CAST("y" AS DOUBLE) AS "c_y", CAST("code" AS DOUBLE) AS "c_code" FROM source),
cleaned AS (SELECT CASE WHEN "c_x" BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN "c_x" END AS "c_x", CASE WHEN "c_y" BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN "c_y" END AS "c_y", CASE WHEN "c_code" BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN "c_code" END AS "c_code" FROM typed),
bounded AS (SELECT "c_code" AS k0, CASE WHEN ("c_x" < "c_y") OR ("c_x" IS NULL) THEN 1 ELSE 0 END AS i0, CASE WHEN "c_y" BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN CASE WHEN "c_y" <= -0.5e0 THEN 0 WHEN "c_y" >= 100.0e0 THEN 1646592 ELSE CAST(FLOOR(("c_y" - -0.5e0) * 16384.0e0 + 0.5e0) AS NUMBER(38, 0)) END END AS i1
  FROM cleaned),
tally AS (SELECT k0, COUNT(*) AS n, COUNT(i0) AS m0, SUM(i0) AS s0, COUNT(i1) AS m1, SUM(i1) AS s1, SUM(CAST(i1 AS NUMBER(38, 0)) * i1) AS q1
  FROM bounded GROUP BY k0)
SELECT keys_0.number AS cell, COALESCE(SUM(n), 0), COALESCE(SUM(m0), 0), COALESCE(SUM(s0), 0), COALESCE(SUM(m1), 0), COALESCE(SUM(s1), 0), COALESCE(SUM(q1), 0)
  FROM tally JOIN keys_0 ON k0 = keys_0.key GROUP BY keys_0.number
