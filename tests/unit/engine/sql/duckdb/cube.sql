WITH typed AS (SELECT TRY_CAST("c_key" AS VARCHAR) AS "c_key", TRY_CAST("c_code" AS DOUBLE) AS "c_code" FROM source),
cleaned AS (SELECT "c_key", CASE WHEN isfinite("c_code") THEN "c_code" END AS "c_code" FROM typed),
bounded AS (SELECT "c_key" AS k0, "c_code" AS k1
  FROM cleaned),
tally AS (SELECT k0, k1, COUNT(*) AS n
  FROM bounded GROUP BY k0, k1),
finest AS MATERIALIZED (SELECT CAST(COALESCE(keys_0.number, 2) AS BIGINT) AS c0, CAST(keys_1.number AS BIGINT) AS c1, CAST(COALESCE(SUM(n), 0) AS BIGINT) AS f0
  FROM tally LEFT JOIN keys_0 ON k0 = keys_0.key JOIN keys_1 ON k1 = keys_1.key GROUP BY CAST(COALESCE(keys_0.number, 2) AS BIGINT), CAST(keys_1.number AS BIGINT))
SELECT 0 AS which, 0 AS cell, CAST(COALESCE(SUM(f0), 0) AS BIGINT) FROM finest
UNION ALL SELECT 1 AS which, c0 AS cell, CAST(COALESCE(SUM(f0), 0) AS BIGINT) FROM finest GROUP BY c0
UNION ALL SELECT 2 AS which, c1 AS cell, CAST(COALESCE(SUM(f0), 0) AS BIGINT) FROM finest GROUP BY c1
UNION ALL SELECT 3 AS which, (c0) * 2 + c1 AS cell, CAST(COALESCE(SUM(f0), 0) AS BIGINT) FROM finest GROUP BY (c0) * 2 + c1
