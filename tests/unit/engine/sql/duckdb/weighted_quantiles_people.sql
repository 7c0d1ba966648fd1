WITH typed AS (SELECT person AS person, TRY_CAST("c_x" AS DOUBLE) AS "c_x", TRY_CAST("c_y" AS DOUBLE) AS "c_y", TRY_CAST("c_key" AS VARCHAR) AS "c_key", TRY_CAST("c_yes" AS BOOLEAN) AS "c_yes" FROM source),
cleaned AS (SELECT person, "c_x", "c_y", "c_key", "c_yes" FROM typed),
computed_1 AS (SELECT cleaned.*, CAST(CASE WHEN isfinite("c_y") THEN CAST(FLOOR((LEAST(GREATEST("c_y", -0.5e0), 100.0e0) - -0.5e0) * 16384.0e0 + 0.5e0) AS INTEGER) END AS BIGINT) - 8192 AS x0 FROM cleaned),
computed_2 AS (SELECT computed_1.*, ABS(x0) AS x1 FROM computed_1),
bounded AS MATERIALIZED (SELECT person, COALESCE(keys_0.number, 2) AS k0, CASE WHEN isfinite("c_x") THEN CAST(FLOOR((LEAST(GREATEST("c_x", -2.0e0), 7.0e0) - -2.0e0) * 1.0e0 + 0.5e0) AS INTEGER) END AS i0, COALESCE(CAST(CAST(x1 AS INTEGER) AS BIGINT) + 0, 0) AS v0
  FROM computed_2 LEFT JOIN keys_0 ON "c_key" = keys_0.key WHERE ("c_yes" = TRUE) AND person IS NOT NULL),
people AS (SELECT person, CAST(CASE WHEN COUNT(*) <= 3 THEN 65536 ELSE 196608 // COUNT(*) END AS INTEGER) AS w
  FROM bounded GROUP BY person),
tally AS (SELECT k0, w, i0, SUM(v0) AS n
  FROM bounded JOIN people USING (person) GROUP BY k0, w, i0)
SELECT k0 AS cell, i0, COALESCE(SUM(w * n), 0) AS weight
  FROM tally WHERE i0 IS NOT NULL AND k0 IS NOT NULL GROUP BY k0, i0
