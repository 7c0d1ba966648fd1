WITH typed AS (SELECT person AS person, TRY_CAST("c_x" AS DOUBLE) AS "c_x", TRY_CAST("c_day" AS DATE) AS "c_day", TRY_CAST("c_yes" AS BOOLEAN) AS "c_yes" FROM source),
cleaned AS (SELECT person, CASE WHEN isfinite("c_x") THEN "c_x" END AS "c_x", "c_day", "c_yes" FROM typed),
bounded AS MATERIALIZED (SELECT person, CASE WHEN "c_day" IS NOT NULL THEN 0 END AS i0
  FROM cleaned WHERE (NOT (("c_x" = 7.0e0) AND ("c_yes" = TRUE))) AND person IS NOT NULL),
people AS (SELECT person, CAST(CASE WHEN COUNT(*) <= 3 THEN 65536 ELSE 196608 // COUNT(*) END AS INTEGER) AS w
  FROM bounded GROUP BY person),
tally AS (SELECT w, COUNT(*) AS n, COUNT(i0) AS m0
  FROM bounded JOIN people USING (person) GROUP BY w)
SELECT 0 AS cell, COALESCE(SUM(w * n), 0), COALESCE(SUM(w * m0), 0)
  FROM tally
