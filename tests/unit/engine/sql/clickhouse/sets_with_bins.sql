-- not run here: written for clickhouse and checked as text alone
WITH typed AS (SELECT accurateCastOrNull("y", 'Float64') AS "c_y", accurateCastOrNull("key", 'String') AS "c_key", accurateCastOrNull("code", 'Float64') AS "c_code" FROM source),
cleaned AS (SELECT CASE WHEN "c_y" BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN "c_y" END AS "c_y", "c_key", CASE WHEN "c_code" BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN "c_code" END AS "c_code" FROM typed),
bounded AS (SELECT "c_code" AS k0, "c_key" AS k1, CASE WHEN "c_y" IS NOT NULL THEN CASE WHEN "c_y" < 3.0e0 THEN 0 ELSE 1 END END AS k2, CASE WHEN "c_y" BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN CASE WHEN "c_y" <= -0.5e0 THEN 0 WHEN "c_y" >= 100.0e0 THEN 1646592 ELSE CAST(FLOOR(("c_y" - -0.5e0) * 16384.0e0 + 0.5e0) AS Nullable(Int64)) END END AS i0
  FROM cleaned),
tally AS (SELECT k0, k1, k2, COUNT(*) AS n, COUNT(i0) AS m0, SUM(i0) AS s0, SUM(MOD(CAST(i0 AS Nullable(Int64)) * i0, 2097152)) AS q0_0, SUM(MOD(intDiv(CAST(i0 AS Nullable(Int64)) * i0, 2097152), 2097152)) AS q0_1
  FROM bounded GROUP BY k0, k1, k2),
finest AS (SELECT CAST(keys_0.number AS Nullable(Int64)) AS c0, CAST(COALESCE(keys_1.number, 2) AS Nullable(Int64)) AS c1, CAST(k2 AS Nullable(Int64)) AS c2, CAST(COALESCE(SUM(n), 0) AS Nullable(Int64)) AS f0, CAST(COALESCE(SUM(m0), 0) AS Nullable(Int64)) AS f1, COALESCE(SUM(CAST(s0 AS Nullable(Int256))), 0) AS f2, COALESCE(SUM(CAST(q0_0 AS Nullable(Int256))), 0) + 2097152 * COALESCE(SUM(CAST(q0_1 AS Nullable(Int256))), 0) AS f3
  FROM tally JOIN keys_0 ON k0 = keys_0.key LEFT JOIN keys_1 ON k1 = keys_1.key WHERE k2 IS NOT NULL GROUP BY CAST(keys_0.number AS Nullable(Int64)), CAST(COALESCE(keys_1.number, 2) AS Nullable(Int64)), CAST(k2 AS Nullable(Int64))),
summed AS (SELECT c0, c1, c2, CAST(GROUPING(c0) AS Nullable(Int64)) * 1 + CAST(GROUPING(c1) AS Nullable(Int64)) * 2 + CAST(GROUPING(c2) AS Nullable(Int64)) * 4 AS mask, CAST(COALESCE(SUM(f0), 0) AS Nullable(Int64)) AS t0, CAST(COALESCE(SUM(f1), 0) AS Nullable(Int64)) AS t1, COALESCE(SUM(f2), 0) AS t2, COALESCE(SUM(f3), 0) AS t3
  FROM finest GROUP BY GROUPING SETS ((), (c0), (c1, c2)))
SELECT CASE mask WHEN 7 THEN 0 WHEN 6 THEN 1 WHEN 1 THEN 2 END AS which, CASE mask WHEN 7 THEN 0 WHEN 6 THEN c0 WHEN 1 THEN (c1) * 2 + c2 END AS cell, t0, t1, t2, t3
  FROM summed
SETTINGS join_use_nulls = 1
