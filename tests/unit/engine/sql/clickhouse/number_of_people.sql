-- not run here: written for clickhouse and checked as text alone
WITH typed AS (SELECT "person" AS person, accurateCastOrNull("key", 'String') AS "c_key", accurateCastOrNull("code", 'Float64') AS "c_code", accurateCastOrNull("yes", 'Bool') AS "c_yes" FROM source),
cleaned AS (SELECT person, "c_key", CASE WHEN "c_code" BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN "c_code" END AS "c_code", "c_yes" FROM typed),
bounded AS (SELECT DISTINCT person, COALESCE(keys_0.number, 2) AS k0, keys_1.number AS k1
  FROM cleaned LEFT JOIN keys_0 ON "c_key" = keys_0.key LEFT JOIN keys_1 ON "c_code" = keys_1.key WHERE ("c_yes" = TRUE) AND person IS NOT NULL AND COALESCE(keys_0.number, 2) IS NOT NULL AND keys_1.number IS NOT NULL),
counted AS (SELECT k0, k1, COUNT(*) OVER (PARTITION BY person) AS c FROM bounded),
tally AS (SELECT k0, k1, c, COUNT(*) AS n
  FROM counted GROUP BY k0, k1, c),
weighed AS (SELECT tally.*, CAST(CASE WHEN c <= 3 THEN 65536 ELSE intDiv(196608, c) END AS Nullable(Int64)) AS w FROM tally)
SELECT (k0) * 2 + k1 AS cell, COALESCE(SUM(w * n), 0)
  FROM weighed WHERE k0 IS NOT NULL AND k1 IS NOT NULL GROUP BY (k0) * 2 + k1
SETTINGS join_use_nulls = 1
