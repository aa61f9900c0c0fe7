"""Where collected lines are delivered: files, HTTP, OpenTelemetry, PostgreSQL, Delta Lake.

Modules:
    address     Create the sink and the deliveries for an address given with `--to`.
    http        Send batches of records in a JSON envelope over HTTP, compressed with gzip.
    jsonl       Append records to a file of JSON lines.
    lake/       Deliver to Delta Lake tables, and query them with DuckDB or Spark.
    otlp/       Deliver sessions as OpenTelemetry spans.
    outbox      Deliver archived records to sinks in batches, with a cursor per sink and retries.
    parquet     Write each batch of records as one Parquet file in a folder.
    postgres/   Deliver to PostgreSQL, and query it.
    record      The record that a sink receives: a line, its position, and the session it belongs to.
    state_file  A cursor in a JSON state file that other collectors use too: how far each file was delivered.
"""
