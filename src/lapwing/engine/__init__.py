"""The engines: a question → SQL → exact integers, on DuckDB, PostgreSQL and Spark."""
