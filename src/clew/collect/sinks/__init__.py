"""Where collected lines are delivered: files, HTTP, OpenTelemetry, PostgreSQL, Delta Lake.

Modules:
    address     Addresses: which sink is meant by what a person writes behind `--to`.
    http        A sink behind HTTP: batches in an envelope, packed with gzip.
    jsonl       A sink that is a file of JSON lines, for whatever reads those.
    lake/       Deliver to Delta Lake tables, and query them with DuckDB or Spark.
    otlp/       Deliver sessions as OpenTelemetry spans.
    outbox      The outbox: the archive itself, and for each sink a cursor behind what it has accepted.
    parquet     A sink that is a folder of Parquet files, one for each batch, for whatever reads those.
    postgres/   Deliver to PostgreSQL, and query it.
    record      Records: what a sink is given: a line, where it stood, and to whom it belongs.
    state_file  The state file: for each file how far it was delivered, in the form that other collectors keep too.
"""
