WITH typed AS (SELECT person AS person, CAST("c_key" AS TEXT) AS "c_key" FROM source),
cleaned AS (SELECT person, "c_key" FROM typed),
kept AS (SELECT person, "c_key" AS cell FROM cleaned WHERE person IS NOT NULL),
had AS (SELECT DISTINCT person, CASE WHEN NOT (length(cell) > 200 OR cell ~ '[\x01-\x1f\x7f-\x9f\u2028\u2029]') THEN cell END AS key FROM kept),
numbered AS (SELECT person, key, CASE WHEN octet_length(CAST(person AS TEXT)) < 1000 AND CAST(person AS TEXT) ~ '^[-+]?[0-9]{1,27}([.]0*)?$'
      THEN CAST(CAST(person AS TEXT) AS DOUBLE PRECISION) END AS v FROM had WHERE key IS NOT NULL),
halved AS (SELECT person, key, v, CASE WHEN abs(v) < 1e+27
  THEN FLOOR(v / 4294967296.0e0) END AS h FROM numbered),
named AS (SELECT person, key, COALESCE(CASE WHEN v - h * 4294967296.0e0 = FLOOR(v - h * 4294967296.0e0) THEN CAST(CAST(h AS BIGINT) AS TEXT) || ' ' || CAST(CAST(v - h * 4294967296.0e0 AS BIGINT) AS TEXT) END, CAST(v AS TEXT), CAST(person AS TEXT)) AS who FROM halved),
placed AS (SELECT key, ROW_NUMBER() OVER (PARTITION BY person
  ORDER BY md5(who || ' ' || CAST(key AS TEXT)), key) AS place FROM named)
SELECT key, COUNT(*) AS people FROM placed WHERE place <= 3 GROUP BY key
