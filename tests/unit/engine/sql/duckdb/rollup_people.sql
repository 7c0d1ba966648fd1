WITH typed AS (SELECT person AS person, TRY_CAST("c_y" AS DOUBLE) AS "c_y", TRY_CAST("c_key" AS VARCHAR) AS "c_key", TRY_CAST("c_code" AS DOUBLE) AS "c_code" FROM source),
cleaned AS (SELECT person, "c_y", "c_key", CASE WHEN isfinite("c_code") THEN "c_code" END AS "c_code" FROM typed),
bounded AS MATERIALIZED (SELECT person, COALESCE(keys_0.number, 2) AS k0, keys_1.number AS k1, CASE WHEN isfinite("c_y") THEN CAST(FLOOR((LEAST(GREATEST("c_y", -0.5e0), 100.0e0) - -0.5e0) * 16384.0e0 + 0.5e0) AS INTEGER) END AS i0
  FROM cleaned LEFT JOIN keys_0 ON "c_key" = keys_0.key LEFT JOIN keys_1 ON "c_code" = keys_1.key WHERE person IS NOT NULL),
people AS (SELECT person, CAST(CASE WHEN COUNT(*) <= 3 THEN 65536 ELSE 196608 // COUNT(*) END AS INTEGER) AS w
  FROM bounded GROUP BY person),
tally AS (SELECT k0, k1, w, COUNT(*) AS n, COUNT(i0) AS m0, SUM(i0) AS s0
  FROM bounded JOIN people USING (person) GROUP BY k0, k1, w),
finest AS MATERIALIZED (SELECT CAST(k0 AS BIGINT) AS c0, CAST(k1 AS BIGINT) AS c1, CAST(COALESCE(SUM(w * n), 0) AS BIGINT) AS f0, CAST(COALESCE(SUM(w * m0), 0) AS BIGINT) AS f1, COALESCE(SUM(w * s0), 0) AS f2
  FROM tally WHERE k0 IS NOT NULL AND k1 IS NOT NULL GROUP BY CAST(k0 AS BIGINT), CAST(k1 AS BIGINT))
SELECT 0 AS which, 0 AS cell, CAST(COALESCE(SUM(f0), 0) AS BIGINT), CAST(COALESCE(SUM(f1), 0) AS BIGINT), COALESCE(SUM(f2), 0) FROM finest
UNION ALL SELECT 1 AS which, c0 AS cell, CAST(COALESCE(SUM(f0), 0) AS BIGINT), CAST(COALESCE(SUM(f1), 0) AS BIGINT), COALESCE(SUM(f2), 0) FROM finest GROUP BY c0
UNION ALL SELECT 2 AS which, (c0) * 2 + c1 AS cell, CAST(COALESCE(SUM(f0), 0) AS BIGINT), CAST(COALESCE(SUM(f1), 0) AS BIGINT), COALESCE(SUM(f2), 0) FROM finest GROUP BY (c0) * 2 + c1
