"""Where collected lines are delivered: files, HTTP, OpenTelemetry, PostgreSQL, Delta Lake.

Modules:
    address            Create the sinks and the deliveries of a configuration.
    delivery_marks     Marks of what a sink was sent, and the names under which an archive sends.
    erasure            What is erased from a store, and the hashes by which a store remembers it.
    fact_check         Compare the facts that a store has of an archive with those that it was sent.
    http               Send batches of records in a JSON envelope over HTTP, compressed with gzip.
    jsonl              Append records to a file of JSON lines.
    lake/              Deliver to Delta Lake tables, and query them with DuckDB or Spark.
    otlp/              Deliver sessions as OpenTelemetry spans, and the state of the collector as metrics.
    outbox             Deliver archived records to sinks in batches, with a cursor per sink and retries.
    paced_cursors      Cursors for stores in which every delivery costs a request and creates a file: large batches,
                       at intervals.
    parquet            Write each batch of records as one Parquet file in a folder.
    postgres/          Deliver to PostgreSQL, and query it.
    probe              Try a sink without sending anything of a session: can it be reached, may it be written to, is
                       its version right.
    record             The record that a sink receives: a line, its position, and the session it belongs to.
    rejected           List the records that sinks rejected, and send them again.
    state_file         A cursor in a JSON state file that other collectors use too: how far each file was delivered.
    store_check        Compare what a store says that it has with what the archive has sent.
    store_maintenance  Open a store as its owner, to erase from it or to apply its retention.
"""
