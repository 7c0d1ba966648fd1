WITH typed AS (SELECT TRY_CAST("c_x" AS DOUBLE) AS "c_x", TRY_CAST("c_y" AS DOUBLE) AS "c_y", TRY_CAST("c_code" AS DOUBLE) AS "c_code" FROM source),
cleaned AS (SELECT CASE WHEN isfinite("c_x") THEN "c_x" END AS "c_x", CASE WHEN isfinite("c_y") THEN "c_y" END AS "c_y", CASE WHEN isfinite("c_code") THEN "c_code" END AS "c_code" FROM typed),
bounded AS (SELECT "c_code" AS k0, CASE WHEN ("c_x" < "c_y") OR ("c_x" IS NULL) THEN 1 ELSE 0 END AS i0, CASE WHEN isfinite("c_y") THEN CAST(FLOOR((LEAST(GREATEST("c_y", -0.5e0), 100.0e0) - -0.5e0) * 16384.0e0 + 0.5e0) AS INTEGER) END AS i1
  FROM cleaned),
tally AS (SELECT k0, COUNT(*) AS n, COUNT(i0) AS m0, SUM(i0) AS s0, COUNT(i1) AS m1, SUM(i1) AS s1, SUM(CAST(i1 AS BIGINT) * i1) AS q1
  FROM bounded GROUP BY k0)
SELECT keys_0.number AS cell, COALESCE(SUM(n), 0), COALESCE(SUM(m0), 0), COALESCE(SUM(s0), 0), COALESCE(SUM(m1), 0), COALESCE(SUM(s1), 0), COALESCE(SUM(q1), 0)
  FROM tally JOIN keys_0 ON k0 = keys_0.key GROUP BY keys_0.number
