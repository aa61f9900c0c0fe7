"""Deliver to Delta Lake tables, and query them with DuckDB or Spark.

Modules:
    delta_tables   A folder of Delta tables, on disk or in an object store, that many hosts append to.
    duckdb_engine  Query a lake on one machine with DuckDB.
    lake_erasure   Erase people, projects, sessions and texts from a lake, and drop what is older than its
                   retention.
    lake_rules     The rules of a lake, in its table `about`: its version, its retention, and hashes of what was
                   erased.
    maintenance    Compact a lake: delete superseded rows, merge small files, and delete unused ones.
    newest_facts   SQL that selects the current facts of a lake from all rows that were ever appended, for DuckDB
                   and Spark.
    sink           Deliver lines and facts to a lake.
    spark_engine   Query a lake on a cluster with Spark.
"""
