WITH typed AS (SELECT TRY_CAST(`c_key` AS STRING) AS `c_key`, TRY_CAST(`c_code` AS DOUBLE) AS `c_code` FROM source),
cleaned AS (SELECT `c_key`, CASE WHEN `c_code` BETWEEN -1.7976931348623157e308D AND 1.7976931348623157e308D THEN `c_code` END AS `c_code` FROM typed),
bounded AS (SELECT `c_key` AS k0, `c_code` AS k1
  FROM cleaned),
tally AS (SELECT k0, k1, COUNT(*) AS n
  FROM bounded GROUP BY k0, k1)
SELECT (COALESCE(keys_0.number, 2)) * 2 + keys_1.number AS cell, COALESCE(SUM(n), 0)
  FROM tally LEFT JOIN keys_0 ON k0 = keys_0.key JOIN keys_1 ON k1 = keys_1.key GROUP BY (COALESCE(keys_0.number, 2)) * 2 + keys_1.number
