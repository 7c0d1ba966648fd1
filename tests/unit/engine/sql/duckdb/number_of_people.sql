WITH typed AS (SELECT person AS person, TRY_CAST("c_key" AS VARCHAR) AS "c_key", TRY_CAST("c_code" AS DOUBLE) AS "c_code", TRY_CAST("c_yes" AS BOOLEAN) AS "c_yes" FROM source),
cleaned AS (SELECT person, "c_key", CASE WHEN isfinite("c_code") THEN "c_code" END AS "c_code", "c_yes" FROM typed),
bounded AS MATERIALIZED (SELECT DISTINCT person, COALESCE(keys_0.number, 2) AS k0, keys_1.number AS k1
  FROM cleaned LEFT JOIN keys_0 ON "c_key" = keys_0.key LEFT JOIN keys_1 ON "c_code" = keys_1.key WHERE ("c_yes" = TRUE) AND person IS NOT NULL AND COALESCE(keys_0.number, 2) IS NOT NULL AND keys_1.number IS NOT NULL),
people AS (SELECT person, CAST(CASE WHEN COUNT(*) <= 3 THEN 65536 ELSE 196608 // COUNT(*) END AS INTEGER) AS w
  FROM bounded GROUP BY person),
tally AS (SELECT k0, k1, w, COUNT(*) AS n
  FROM bounded JOIN people USING (person) GROUP BY k0, k1, w)
SELECT (k0) * 2 + k1 AS cell, COALESCE(SUM(w * n), 0)
  FROM tally WHERE k0 IS NOT NULL AND k1 IS NOT NULL GROUP BY (k0) * 2 + k1
