-- not run here: written for snowflake and checked as text alone; columns must have the declared types: TRY_CAST takes texts alone
WITH typed AS (SELECT CAST("y" AS DOUBLE) AS "c_y", CAST("key" AS VARCHAR) AS "c_key", CAST("code" AS DOUBLE) AS "c_code" FROM source),
cleaned AS (SELECT CASE WHEN "c_y" BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN "c_y" END AS "c_y", "c_key", CASE WHEN "c_code" BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN "c_code" END AS "c_code" FROM typed),
bounded AS (SELECT "c_code" AS k0, "c_key" AS k1, CASE WHEN "c_y" IS NOT NULL THEN CASE WHEN "c_y" < 3.0e0 THEN 0 ELSE 1 END END AS k2, CASE WHEN "c_y" BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN CASE WHEN "c_y" <= -0.5e0 THEN 0 WHEN "c_y" >= 100.0e0 THEN 1646592 ELSE CAST(FLOOR(("c_y" - -0.5e0) * 16384.0e0 + 0.5e0) AS NUMBER(38, 0)) END END AS i0
  FROM cleaned),
tally AS (SELECT k0, k1, k2, COUNT(*) AS n, COUNT(i0) AS m0, SUM(i0) AS s0, SUM(CAST(i0 AS NUMBER(38, 0)) * i0) AS q0
  FROM bounded GROUP BY k0, k1, k2),
finest AS (SELECT CAST(keys_0.number AS NUMBER(38, 0)) AS c0, CAST(COALESCE(keys_1.number, 2) AS NUMBER(38, 0)) AS c1, CAST(k2 AS NUMBER(38, 0)) AS c2, CAST(COALESCE(SUM(n), 0) AS NUMBER(38, 0)) AS f0, CAST(COALESCE(SUM(m0), 0) AS NUMBER(38, 0)) AS f1, COALESCE(SUM(s0), 0) AS f2, COALESCE(SUM(q0), 0) AS f3
  FROM tally JOIN keys_0 ON k0 = keys_0.key LEFT JOIN keys_1 ON k1 = keys_1.key WHERE k2 IS NOT NULL GROUP BY CAST(keys_0.number AS NUMBER(38, 0)), CAST(COALESCE(keys_1.number, 2) AS NUMBER(38, 0)), CAST(k2 AS NUMBER(38, 0))),
summed AS (SELECT c0, c1, c2, CAST(GROUPING(c0) AS NUMBER(38, 0)) * 1 + CAST(GROUPING(c1) AS NUMBER(38, 0)) * 2 + CAST(GROUPING(c2) AS NUMBER(38, 0)) * 4 AS mask, CAST(COALESCE(SUM(f0), 0) AS NUMBER(38, 0)) AS t0, CAST(COALESCE(SUM(f1), 0) AS NUMBER(38, 0)) AS t1, COALESCE(SUM(f2), 0) AS t2, COALESCE(SUM(f3), 0) AS t3
  FROM finest GROUP BY GROUPING SETS ((), (c0), (c1, c2)))
SELECT CASE mask WHEN 7 THEN 0 WHEN 6 THEN 1 WHEN 1 THEN 2 END AS which, CASE mask WHEN 7 THEN 0 WHEN 6 THEN c0 WHEN 1 THEN (c1) * 2 + c2 END AS cell, t0, t1, t2, t3
  FROM summed
