WITH typed AS (SELECT TRY_CAST("c_x" AS DOUBLE) AS "c_x", TRY_CAST("c_y" AS DOUBLE) AS "c_y" FROM source),
cleaned AS (SELECT "c_x", "c_y" FROM typed),
computed_1 AS (SELECT cleaned.*, CAST(CASE WHEN isfinite("c_x") THEN CAST(FLOOR((LEAST(GREATEST("c_x", -2.0e0), 7.0e0) - -2.0e0) * 1.0e0 + 0.5e0) AS INTEGER) END AS BIGINT) - 2 AS x0 FROM cleaned),
computed_2 AS (SELECT computed_1.*, ABS(x0) AS x1 FROM computed_1),
bounded AS (SELECT CASE WHEN isfinite("c_y") THEN CAST(FLOOR((LEAST(GREATEST("c_y", -0.5e0), 100.0e0) - -0.5e0) * 16384.0e0 + 0.5e0) AS INTEGER) END AS i0, COALESCE(CAST(CAST(x1 AS INTEGER) AS BIGINT) + 0, 0) AS v0
  FROM computed_2),
tally AS (SELECT i0, SUM(v0) AS n
  FROM bounded GROUP BY i0)
SELECT 0 AS cell, i0, COALESCE(SUM(n), 0) AS weight
  FROM tally WHERE i0 IS NOT NULL GROUP BY i0
