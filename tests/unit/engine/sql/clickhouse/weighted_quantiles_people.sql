-- not run here: written for clickhouse and checked as text alone
WITH typed AS (SELECT "person" AS person, accurateCastOrNull("x", 'Float64') AS "c_x", accurateCastOrNull("y", 'Float64') AS "c_y", accurateCastOrNull("key", 'String') AS "c_key", accurateCastOrNull("yes", 'Bool') AS "c_yes" FROM source),
cleaned AS (SELECT person, "c_x", "c_y", "c_key", "c_yes" FROM typed),
computed_1 AS (SELECT cleaned.*, CAST(CASE WHEN "c_y" BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN CASE WHEN "c_y" <= -0.5e0 THEN 0 WHEN "c_y" >= 100.0e0 THEN 1646592 ELSE CAST(FLOOR(("c_y" - -0.5e0) * 16384.0e0 + 0.5e0) AS Nullable(Int64)) END END AS Nullable(Int64)) - 8192 AS x0 FROM cleaned),
computed_2 AS (SELECT computed_1.*, ABS(x0) AS x1 FROM computed_1),
bounded AS (SELECT person, COALESCE(keys_0.number, 2) AS k0, CASE WHEN "c_x" BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN CASE WHEN "c_x" <= -2.0e0 THEN 0 WHEN "c_x" >= 7.0e0 THEN 9 ELSE CAST(FLOOR(("c_x" - -2.0e0) * 1.0e0 + 0.5e0) AS Nullable(Int64)) END END AS i0, COALESCE(CAST(CAST(x1 AS Nullable(Int64)) AS Nullable(Int64)) + 0, 0) AS v0
  FROM computed_2 LEFT JOIN keys_0 ON "c_key" = keys_0.key WHERE ("c_yes" = TRUE) AND person IS NOT NULL),
counted AS (SELECT k0, i0, v0, COUNT(*) OVER (PARTITION BY person) AS c FROM bounded),
tally AS (SELECT k0, c, i0, SUM(v0) AS n
  FROM counted GROUP BY k0, c, i0),
weighed AS (SELECT tally.*, CAST(CASE WHEN c <= 3 THEN 65536 ELSE intDiv(196608, c) END AS Nullable(Int64)) AS w FROM tally)
SELECT k0 AS cell, i0, COALESCE(SUM(w * CAST(n AS Nullable(Int256))), 0) AS weight
  FROM weighed WHERE i0 IS NOT NULL AND k0 IS NOT NULL GROUP BY k0, i0
SETTINGS join_use_nulls = 1
