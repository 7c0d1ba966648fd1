WITH typed AS (SELECT person AS person, TRY_CAST(`c_x` AS DOUBLE) AS `c_x`, TRY_CAST(`c_y` AS DOUBLE) AS `c_y`, TRY_CAST(`c_key` AS STRING) AS `c_key`, TRY_CAST(`c_yes` AS BOOLEAN) AS `c_yes` FROM source),
cleaned AS (SELECT person, `c_x`, `c_y`, `c_key`, `c_yes` FROM typed),
computed_1 AS (SELECT cleaned.*, CAST(CASE WHEN `c_y` BETWEEN -1.7976931348623157e308D AND 1.7976931348623157e308D THEN CASE WHEN `c_y` <= -0.5e0D THEN 0 WHEN `c_y` >= 100.0e0D THEN 1646592 ELSE CAST(FLOOR((`c_y` - -0.5e0D) * 16384.0e0D + 0.5e0D) AS INT) END END AS BIGINT) - 8192 AS x0 FROM cleaned),
computed_2 AS (SELECT computed_1.*, ABS(x0) AS x1 FROM computed_1),
bounded AS (SELECT person, COALESCE(keys_0.number, 2) AS k0, CASE WHEN `c_x` BETWEEN -1.7976931348623157e308D AND 1.7976931348623157e308D THEN CASE WHEN `c_x` <= -2.0e0D THEN 0 WHEN `c_x` >= 7.0e0D THEN 9 ELSE CAST(FLOOR((`c_x` - -2.0e0D) * 1.0e0D + 0.5e0D) AS INT) END END AS i0, COALESCE(CAST(CAST(x1 AS INT) AS BIGINT) + 0, 0) AS v0
  FROM computed_2 LEFT JOIN keys_0 ON `c_key` = keys_0.key WHERE (`c_yes` = TRUE) AND person IS NOT NULL),
counted AS (SELECT k0, i0, v0, COUNT(*) OVER (PARTITION BY person) AS c FROM bounded),
tally AS (SELECT k0, c, i0, SUM(v0) AS n
  FROM counted GROUP BY k0, c, i0),
weighed AS (SELECT tally.*, CAST(CASE WHEN c <= 3 THEN 65536 ELSE 196608 DIV c END AS INT) AS w FROM tally)
SELECT k0 AS cell, i0, COALESCE(SUM(w * CAST(n AS DECIMAL(38, 0))), 0) AS weight
  FROM weighed WHERE i0 IS NOT NULL AND k0 IS NOT NULL GROUP BY k0, i0
