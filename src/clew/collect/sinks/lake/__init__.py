"""Deliver to Delta Lake tables, and query them with DuckDB or Spark.

Modules:
    delta_tables   A lake: a folder of Delta tables, on this disk or in an object store, that many hosts add to at
                   once.
    duckdb_engine  Asking a lake on one machine: DuckDB over the files that each table has now.
    maintenance    Care for a lake: rows that newer ones took the place of go, small files become large ones, and
                   old files are deleted.
    sink           A sink that is a lake: every line once, and what the files amount to.
    spark_engine   Asking a lake on a cluster: Spark over the Parquet files that each table has now.
"""
