WITH typed AS (SELECT CAST("c_key" AS TEXT) AS "c_key" FROM source),
cleaned AS (SELECT "c_key" FROM typed),
kept AS (SELECT "c_key" AS cell FROM cleaned),
had AS (SELECT CASE WHEN NOT (length(cell) > 200 OR cell ~ '[\x01-\x1f\x7f-\x9f\u2028\u2029]') THEN cell END AS key FROM kept)
SELECT key, COUNT(*) AS people FROM had WHERE key IS NOT NULL GROUP BY key
