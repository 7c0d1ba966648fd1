WITH typed AS (SELECT TRY_CAST(`c_key` AS STRING) AS `c_key` FROM source),
cleaned AS (SELECT `c_key` FROM typed),
kept AS (SELECT `c_key` AS cell FROM cleaned),
had AS (SELECT CASE WHEN NOT (length(cell) > 200 OR NOT is_valid_utf8(cell) OR cell RLIKE decode(unhex('5b5c707b43637d5c707b5a6c7d5c707b5a707d5d'), 'UTF-8')) THEN cell END AS key FROM kept)
SELECT key, COUNT(*) AS people FROM had WHERE key IS NOT NULL GROUP BY key
