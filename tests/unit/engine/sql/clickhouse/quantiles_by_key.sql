-- not run here: written for clickhouse and checked as text alone
WITH typed AS (SELECT accurateCastOrNull("x", 'Float64') AS "c_x", accurateCastOrNull("key", 'String') AS "c_key" FROM source),
cleaned AS (SELECT "c_x", "c_key" FROM typed),
bounded AS (SELECT "c_key" AS k0, CASE WHEN "c_x" BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN CASE WHEN "c_x" <= -2.0e0 THEN 0 WHEN "c_x" >= 7.0e0 THEN 9 ELSE CAST(FLOOR(("c_x" - -2.0e0) * 1.0e0 + 0.5e0) AS Nullable(Int64)) END END AS i0
  FROM cleaned),
tally AS (SELECT k0, COUNT(*) AS n, COUNT(i0) AS m0, SUM(i0) AS s0
  FROM bounded GROUP BY k0)
SELECT COALESCE(keys_0.number, 2) AS cell, COALESCE(SUM(n), 0), COALESCE(SUM(m0), 0), COALESCE(SUM(CAST(s0 AS Nullable(Int256))), 0)
  FROM tally LEFT JOIN keys_0 ON k0 = keys_0.key GROUP BY COALESCE(keys_0.number, 2)
SETTINGS join_use_nulls = 1;
WITH typed AS (SELECT accurateCastOrNull("x", 'Float64') AS "c_x", accurateCastOrNull("key", 'String') AS "c_key" FROM source),
cleaned AS (SELECT "c_x", "c_key" FROM typed),
bounded AS (SELECT "c_key" AS k0, CASE WHEN "c_x" BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN CASE WHEN "c_x" <= -2.0e0 THEN 0 WHEN "c_x" >= 7.0e0 THEN 9 ELSE CAST(FLOOR(("c_x" - -2.0e0) * 1.0e0 + 0.5e0) AS Nullable(Int64)) END END AS i0
  FROM cleaned),
tally AS (SELECT k0, i0, COUNT(*) AS n
  FROM bounded GROUP BY k0, i0)
SELECT COALESCE(keys_0.number, 2) AS cell, i0, CAST(COALESCE(SUM(n), 0) AS Nullable(Int64)) AS weight
  FROM tally LEFT JOIN keys_0 ON k0 = keys_0.key WHERE i0 IS NOT NULL GROUP BY COALESCE(keys_0.number, 2), i0
SETTINGS join_use_nulls = 1
