"""Deliver to Delta Lake tables, and query them with DuckDB or Spark.

Modules:
    delta_tables   A folder of Delta tables, on disk or in an object store, that many hosts append to.
    duckdb_engine  Query a lake on one machine with DuckDB.
    maintenance    Compact a lake: delete superseded rows, merge small files, and delete unused ones.
    newest_facts   SQL that selects the current facts of a lake from all rows that were ever appended, for DuckDB
                   and Spark.
    sink           Deliver lines and facts to a lake.
    spark_engine   Query a lake on a cluster with Spark.
"""
