-- not run here: written for clickhouse and checked as text alone
WITH typed AS (SELECT accurateCastOrNull("key", 'String') AS "c_key", accurateCastOrNull("code", 'Float64') AS "c_code" FROM source),
cleaned AS (SELECT "c_key", CASE WHEN "c_code" BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN "c_code" END AS "c_code" FROM typed),
bounded AS (SELECT "c_key" AS k0, "c_code" AS k1
  FROM cleaned),
tally AS (SELECT k0, k1, COUNT(*) AS n
  FROM bounded GROUP BY k0, k1),
finest AS (SELECT CAST(COALESCE(keys_0.number, 2) AS Nullable(Int64)) AS c0, CAST(keys_1.number AS Nullable(Int64)) AS c1, CAST(COALESCE(SUM(n), 0) AS Nullable(Int64)) AS f0
  FROM tally LEFT JOIN keys_0 ON k0 = keys_0.key JOIN keys_1 ON k1 = keys_1.key GROUP BY CAST(COALESCE(keys_0.number, 2) AS Nullable(Int64)), CAST(keys_1.number AS Nullable(Int64))),
summed AS (SELECT c0, c1, CAST(GROUPING(c0) AS Nullable(Int64)) * 1 + CAST(GROUPING(c1) AS Nullable(Int64)) * 2 AS mask, CAST(COALESCE(SUM(f0), 0) AS Nullable(Int64)) AS t0
  FROM finest GROUP BY GROUPING SETS ((), (c0), (c1), (c0, c1)))
SELECT CASE mask WHEN 3 THEN 0 WHEN 2 THEN 1 WHEN 1 THEN 2 WHEN 0 THEN 3 END AS which, CASE mask WHEN 3 THEN 0 WHEN 2 THEN c0 WHEN 1 THEN c1 WHEN 0 THEN (c0) * 2 + c1 END AS cell, t0
  FROM summed
SETTINGS join_use_nulls = 1
