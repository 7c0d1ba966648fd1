WITH typed AS (SELECT TRY_CAST("c_x" AS DOUBLE) AS "c_x", TRY_CAST("c_key" AS VARCHAR) AS "c_key" FROM source),
cleaned AS (SELECT "c_x", "c_key" FROM typed),
bounded AS (SELECT "c_key" AS k0, CASE WHEN isfinite("c_x") THEN CAST(FLOOR((LEAST(GREATEST("c_x", -2.0e0), 7.0e0) - -2.0e0) * 1.0e0 + 0.5e0) AS INTEGER) END AS i0
  FROM cleaned),
tally AS (SELECT k0, COUNT(*) AS n, COUNT(i0) AS m0, SUM(i0) AS s0
  FROM bounded GROUP BY k0)
SELECT COALESCE(keys_0.number, 2) AS cell, COALESCE(SUM(n), 0), COALESCE(SUM(m0), 0), COALESCE(SUM(s0), 0)
  FROM tally LEFT JOIN keys_0 ON k0 = keys_0.key GROUP BY COALESCE(keys_0.number, 2);
WITH typed AS (SELECT TRY_CAST("c_x" AS DOUBLE) AS "c_x", TRY_CAST("c_key" AS VARCHAR) AS "c_key" FROM source),
cleaned AS (SELECT "c_x", "c_key" FROM typed),
bounded AS (SELECT "c_key" AS k0, CASE WHEN isfinite("c_x") THEN CAST(FLOOR((LEAST(GREATEST("c_x", -2.0e0), 7.0e0) - -2.0e0) * 1.0e0 + 0.5e0) AS INTEGER) END AS i0
  FROM cleaned),
tally AS (SELECT k0, i0, COUNT(*) AS n
  FROM bounded GROUP BY k0, i0)
SELECT COALESCE(keys_0.number, 2) AS cell, i0, CAST(COALESCE(SUM(n), 0) AS BIGINT) AS weight
  FROM tally LEFT JOIN keys_0 ON k0 = keys_0.key WHERE i0 IS NOT NULL GROUP BY COALESCE(keys_0.number, 2), i0
