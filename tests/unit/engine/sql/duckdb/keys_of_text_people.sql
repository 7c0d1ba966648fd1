WITH typed AS (SELECT person AS person, TRY_CAST("c_key" AS VARCHAR) AS "c_key" FROM source),
cleaned AS (SELECT person, "c_key" FROM typed),
kept AS (SELECT person, "c_key" AS cell FROM cleaned WHERE person IS NOT NULL),
had AS (SELECT DISTINCT person, CASE WHEN NOT (length(cell) > 200 OR regexp_matches(cell, '[\p{Cc}\p{Zl}\p{Zp}]')) THEN cell END AS key FROM kept),
numbered AS (SELECT person, key, CASE WHEN starts_with(CAST(person AS VARCHAR), chr(1) || 'number ')
      THEN TRY_CAST(split_part(substr(CAST(person AS VARCHAR), 9), '/', 1) AS DOUBLE)
      / NULLIF(TRY_CAST(split_part(CAST(person AS VARCHAR), '/', 2) AS DOUBLE), 0)
      WHEN typeof(person) <> 'VARCHAR' OR regexp_matches(CAST(person AS VARCHAR), '^[-+]?[0-9]{1,27}([.]0*)?$') THEN TRY_CAST(CAST(person AS VARCHAR) AS DOUBLE) END AS v FROM had WHERE key IS NOT NULL),
halved AS (SELECT person, key, v, CASE WHEN abs(v) < 1e+27
  THEN FLOOR(v / 4294967296.0e0) END AS h FROM numbered),
named AS (SELECT person, key, COALESCE(CASE WHEN v - h * 4294967296.0e0 = FLOOR(v - h * 4294967296.0e0) THEN CAST(CAST(h AS BIGINT) AS VARCHAR) || ' ' || CAST(CAST(v - h * 4294967296.0e0 AS BIGINT) AS VARCHAR) END, CAST(v AS VARCHAR), CAST(person AS VARCHAR)) AS who FROM halved),
placed AS (SELECT key, ROW_NUMBER() OVER (PARTITION BY person
  ORDER BY md5(who || ' ' || CAST(key AS VARCHAR)), key) AS place FROM named)
SELECT key, COUNT(*) AS people FROM placed WHERE place <= 3 GROUP BY key
