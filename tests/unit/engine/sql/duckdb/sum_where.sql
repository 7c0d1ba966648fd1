WITH typed AS (SELECT TRY_CAST("c_x" AS DOUBLE) AS "c_x", TRY_CAST("c_key" AS VARCHAR) AS "c_key", TRY_CAST("c_day" AS DATE) AS "c_day", TRY_CAST("c_yes" AS BOOLEAN) AS "c_yes" FROM source),
cleaned AS (SELECT CASE WHEN isfinite("c_x") THEN "c_x" END AS "c_x", "c_key", "c_day", "c_yes" FROM typed),
bounded AS (SELECT CASE WHEN isfinite("c_x") THEN CAST(FLOOR((LEAST(GREATEST("c_x", -2.0e0), 7.0e0) - -2.0e0) * 1.0e0 + 0.5e0) AS INTEGER) END AS i0
  FROM cleaned WHERE ((("c_day" >= DATE '2024-01-01') OR ("c_yes" = TRUE)) AND ("c_key" IN ('a', 'it''s')) AND ("c_x" >= 1.0e0))),
tally AS (SELECT COUNT(*) AS n, COUNT(i0) AS m0, SUM(i0) AS s0
  FROM bounded)
SELECT 0 AS cell, COALESCE(SUM(n), 0), COALESCE(SUM(m0), 0), COALESCE(SUM(s0), 0)
  FROM tally
