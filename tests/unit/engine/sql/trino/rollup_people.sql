-- not run here: written for trino and checked as text alone
WITH typed AS (SELECT "person" AS person, TRY_CAST("y" AS DOUBLE) AS "c_y", TRY_CAST("key" AS VARCHAR) AS "c_key", TRY_CAST("code" AS DOUBLE) AS "c_code" FROM source),
cleaned AS (SELECT person, "c_y", "c_key", CASE WHEN "c_code" BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN "c_code" END AS "c_code" FROM typed),
bounded AS (SELECT person, COALESCE(keys_0.number, 2) AS k0, keys_1.number AS k1, CASE WHEN "c_y" BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN CASE WHEN "c_y" <= -0.5e0 THEN 0 WHEN "c_y" >= 100.0e0 THEN 1646592 ELSE CAST(FLOOR(("c_y" - -0.5e0) * 16384.0e0 + 0.5e0) AS BIGINT) END END AS i0
  FROM cleaned LEFT JOIN keys_0 ON "c_key" = keys_0.key LEFT JOIN keys_1 ON "c_code" = keys_1.key WHERE person IS NOT NULL),
counted AS (SELECT k0, k1, i0, COUNT(*) OVER (PARTITION BY person) AS c FROM bounded),
tally AS (SELECT k0, k1, c, COUNT(*) AS n, COUNT(i0) AS m0, SUM(i0) AS s0
  FROM counted GROUP BY k0, k1, c),
weighed AS (SELECT tally.*, CAST(CASE WHEN c <= 3 THEN 65536 ELSE 196608 / c END AS BIGINT) AS w FROM tally),
finest AS (SELECT CAST(k0 AS BIGINT) AS c0, CAST(k1 AS BIGINT) AS c1, CAST(COALESCE(SUM(w * n), 0) AS BIGINT) AS f0, CAST(COALESCE(SUM(w * m0), 0) AS BIGINT) AS f1, COALESCE(SUM(w * CAST(s0 AS DECIMAL(38, 0))), 0) AS f2
  FROM weighed WHERE k0 IS NOT NULL AND k1 IS NOT NULL GROUP BY CAST(k0 AS BIGINT), CAST(k1 AS BIGINT)),
summed AS (SELECT c0, c1, CAST(GROUPING(c0) AS BIGINT) * 1 + CAST(GROUPING(c1) AS BIGINT) * 2 AS mask, CAST(COALESCE(SUM(f0), 0) AS BIGINT) AS t0, CAST(COALESCE(SUM(f1), 0) AS BIGINT) AS t1, COALESCE(SUM(f2), 0) AS t2
  FROM finest GROUP BY GROUPING SETS ((), (c0), (c0, c1)))
SELECT CASE mask WHEN 3 THEN 0 WHEN 2 THEN 1 WHEN 0 THEN 2 END AS which, CASE mask WHEN 3 THEN 0 WHEN 2 THEN c0 WHEN 0 THEN (c0) * 2 + c1 END AS cell, t0, t1, t2
  FROM summed
