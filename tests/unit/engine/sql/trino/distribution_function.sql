-- not run here: written for trino and checked as text alone
WITH typed AS (SELECT TRY_CAST("y" AS DOUBLE) AS "c_y", TRY_CAST("key" AS VARCHAR) AS "c_key" FROM source),
cleaned AS (SELECT CASE WHEN "c_y" BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN "c_y" END AS "c_y", "c_key" FROM typed),
bounded AS (SELECT "c_key" AS k0, CASE WHEN "c_y" IS NOT NULL THEN CASE WHEN "c_y" < 49.75e0 THEN CASE WHEN "c_y" < 4.525e0 THEN 0 WHEN "c_y" < 9.55e0 THEN 1 WHEN "c_y" < 14.575e0 THEN 2 WHEN "c_y" < 19.6e0 THEN 3 WHEN "c_y" < 24.625e0 THEN 4 WHEN "c_y" < 29.65e0 THEN 5 WHEN "c_y" < 34.675e0 THEN 6 WHEN "c_y" < 39.7e0 THEN 7 WHEN "c_y" < 44.725e0 THEN 8 ELSE 9 END ELSE CASE WHEN "c_y" < 54.775e0 THEN 10 WHEN "c_y" < 59.8e0 THEN 11 WHEN "c_y" < 64.825e0 THEN 12 WHEN "c_y" < 69.85e0 THEN 13 WHEN "c_y" < 74.875e0 THEN 14 WHEN "c_y" < 79.9e0 THEN 15 WHEN "c_y" < 84.925e0 THEN 16 WHEN "c_y" < 89.95e0 THEN 17 WHEN "c_y" < 94.975e0 THEN 18 ELSE 19 END END END AS k1
  FROM cleaned),
tally AS (SELECT k0, k1, COUNT(*) AS n
  FROM bounded GROUP BY k0, k1)
SELECT (COALESCE(keys_0.number, 2)) * 20 + k1 AS cell, COALESCE(SUM(n), 0)
  FROM tally LEFT JOIN keys_0 ON k0 = keys_0.key WHERE k1 IS NOT NULL GROUP BY (COALESCE(keys_0.number, 2)) * 20 + k1
