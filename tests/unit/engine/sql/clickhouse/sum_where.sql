-- not run here: written for clickhouse and checked as text alone
WITH typed AS (SELECT accurateCastOrNull("x", 'Float64') AS "c_x", accurateCastOrNull("key", 'String') AS "c_key", accurateCastOrNull("day", 'Date32') AS "c_day", accurateCastOrNull("yes", 'Bool') AS "c_yes" FROM source),
cleaned AS (SELECT CASE WHEN "c_x" BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN "c_x" END AS "c_x", "c_key", "c_day", "c_yes" FROM typed),
bounded AS (SELECT CASE WHEN "c_x" BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN CASE WHEN "c_x" <= -2.0e0 THEN 0 WHEN "c_x" >= 7.0e0 THEN 9 ELSE CAST(FLOOR(("c_x" - -2.0e0) * 1.0e0 + 0.5e0) AS Nullable(Int64)) END END AS i0
  FROM cleaned WHERE ((("c_day" >= DATE '2024-01-01') OR ("c_yes" = TRUE)) AND ("c_key" IN ('a', unhex('69742773'))) AND ("c_x" >= 1.0e0))),
tally AS (SELECT COUNT(*) AS n, COUNT(i0) AS m0, SUM(i0) AS s0
  FROM bounded)
SELECT 0 AS cell, COALESCE(SUM(n), 0), COALESCE(SUM(m0), 0), COALESCE(SUM(CAST(s0 AS Nullable(Int256))), 0)
  FROM tally
SETTINGS join_use_nulls = 1
