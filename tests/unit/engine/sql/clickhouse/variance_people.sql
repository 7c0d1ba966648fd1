-- not run here: written for clickhouse and checked as text alone
WITH typed AS (SELECT "person" AS person, accurateCastOrNull("y", 'Float64') AS "c_y", accurateCastOrNull("key", 'String') AS "c_key" FROM source),
cleaned AS (SELECT person, "c_y", "c_key" FROM typed),
bounded AS (SELECT person, COALESCE(keys_0.number, 2) AS k0, CASE WHEN "c_y" BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN CASE WHEN "c_y" <= -0.5e0 THEN 0 WHEN "c_y" >= 100.0e0 THEN 1646592 ELSE CAST(FLOOR(("c_y" - -0.5e0) * 16384.0e0 + 0.5e0) AS Nullable(Int64)) END END AS i0
  FROM cleaned LEFT JOIN keys_0 ON "c_key" = keys_0.key WHERE person IS NOT NULL),
counted AS (SELECT k0, i0, COUNT(*) OVER (PARTITION BY person) AS c FROM bounded),
tally AS (SELECT k0, c, COUNT(*) AS n, COUNT(i0) AS m0, SUM(i0) AS s0, SUM(MOD(CAST(i0 AS Nullable(Int64)) * i0, 2097152)) AS q0_0, SUM(MOD(intDiv(CAST(i0 AS Nullable(Int64)) * i0, 2097152), 2097152)) AS q0_1
  FROM counted GROUP BY k0, c),
weighed AS (SELECT tally.*, CAST(CASE WHEN c <= 3 THEN 65536 ELSE intDiv(196608, c) END AS Nullable(Int64)) AS w FROM tally)
SELECT k0 AS cell, COALESCE(SUM(w * n), 0), COALESCE(SUM(w * m0), 0), COALESCE(SUM(w * CAST(s0 AS Nullable(Int256))), 0), COALESCE(SUM(w * CAST(q0_0 AS Nullable(Int256))), 0) + 2097152 * COALESCE(SUM(w * CAST(q0_1 AS Nullable(Int256))), 0)
  FROM weighed WHERE k0 IS NOT NULL GROUP BY k0
SETTINGS join_use_nulls = 1
