WITH typed AS (SELECT 1 AS one FROM source),
cleaned AS (SELECT one FROM typed),
bounded AS (SELECT 1 AS one
  FROM cleaned),
tally AS (SELECT COUNT(*) AS n
  FROM bounded)
SELECT 0 AS cell, COALESCE(SUM(n), 0)
  FROM tally
