WITH typed AS (SELECT person AS person, TRY_CAST(`c_code` AS DOUBLE) AS `c_code` FROM source),
cleaned AS (SELECT person, CASE WHEN `c_code` BETWEEN -1.7976931348623157e308D AND 1.7976931348623157e308D THEN `c_code` END AS `c_code` FROM typed),
kept AS (SELECT person, `c_code` AS cell FROM cleaned WHERE person IS NOT NULL),
had AS (SELECT DISTINCT person, CASE WHEN abs(cell) <= 9007199254740992.0e0D THEN CASE WHEN cell = FLOOR(cell) THEN CAST(cell AS BIGINT) END END AS key FROM kept),
numbered AS (SELECT person, key, CASE WHEN typeof(person) IN ('float', 'double') THEN TRY_CAST(person AS DOUBLE)
      WHEN CAST(person AS STRING) RLIKE '^[-+]?[0-9]{1,27}([.]0*)?$'
      THEN TRY_CAST(CAST(person AS STRING) AS DOUBLE) END AS v FROM had WHERE key IS NOT NULL),
halved AS (SELECT person, key, v, CASE WHEN abs(v) < 1e+27D
  THEN FLOOR(v / 4294967296.0e0D) END AS h FROM numbered),
named AS (SELECT person, key, COALESCE(CASE WHEN v - h * 4294967296.0e0D = FLOOR(v - h * 4294967296.0e0D) THEN CAST(CAST(h AS BIGINT) AS STRING) || ' ' || CAST(CAST(v - h * 4294967296.0e0D AS BIGINT) AS STRING) END, CAST(v AS STRING), CAST(person AS STRING)) AS who FROM halved),
placed AS (SELECT key, ROW_NUMBER() OVER (PARTITION BY person
  ORDER BY md5(who || ' ' || CAST(key AS STRING)), key) AS place FROM named)
SELECT key, COUNT(*) AS people FROM placed WHERE place <= 3 GROUP BY key
