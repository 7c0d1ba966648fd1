WITH typed AS (SELECT TRY_CAST("c_key" AS VARCHAR) AS "c_key" FROM source),
cleaned AS (SELECT "c_key" FROM typed),
kept AS (SELECT "c_key" AS cell FROM cleaned),
had AS (SELECT CASE WHEN NOT (length(cell) > 200 OR regexp_matches(cell, '[\p{Cc}\p{Zl}\p{Zp}]')) THEN cell END AS key FROM kept)
SELECT key, COUNT(*) AS people FROM had WHERE key IS NOT NULL GROUP BY key
