-- not run here: written for trino and checked as text alone
WITH typed AS (SELECT "person" AS person, TRY_CAST("x" AS DOUBLE) AS "c_x", TRY_CAST("day" AS DATE) AS "c_day", TRY_CAST("yes" AS BOOLEAN) AS "c_yes" FROM source),
cleaned AS (SELECT person, CASE WHEN "c_x" BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN "c_x" END AS "c_x", "c_day", "c_yes" FROM typed),
bounded AS (SELECT person, CASE WHEN "c_day" IS NOT NULL THEN 0 END AS i0
  FROM cleaned WHERE (NOT (("c_x" = 7.0e0) AND ("c_yes" = TRUE))) AND person IS NOT NULL),
counted AS (SELECT i0, COUNT(*) OVER (PARTITION BY person) AS c FROM bounded),
tally AS (SELECT c, COUNT(*) AS n, COUNT(i0) AS m0
  FROM counted GROUP BY c),
weighed AS (SELECT tally.*, CAST(CASE WHEN c <= 3 THEN 65536 ELSE 196608 / c END AS BIGINT) AS w FROM tally)
SELECT 0 AS cell, COALESCE(SUM(w * n), 0), COALESCE(SUM(w * m0), 0)
  FROM weighed
