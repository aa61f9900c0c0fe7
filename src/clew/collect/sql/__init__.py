"""Tables and views for `clew sql`, the same on every engine.

Modules:
    archive_engine   Query the facts of an archive in a SQLite cache, which is updated before each query.
    call_facts       What calls of tools tell beyond their result: refusals by the user, kinds of agents, skills,
                     commits, pull requests.
    content_columns  Which columns of the facts are contents: what people and models wrote, and names of files and
                     folders.
    dataframes       Return the result of a query as a polars, pandas or DuckDB table.
    fact_changes     Compare the facts of a file with those that a sink has, so that only what changed is sent.
    fact_cursor      Find the files with new lines whose facts a sink has not received.
    fact_rows        Build the fact rows of a file from its session and what its lines add up to.
    fact_tables      Define the fact tables: rows derived from each file, with the same types on every engine.
    line_rows        Build the row that a store keeps for each line, in addition to its bytes.
    line_totals      Add up the lines of a file in their order: what its facts need beyond the links between lines.
    open_files       Build the facts of files, and keep the files open that grow: their next facts cost what was
                     added.
    open_store       Open a query engine for the archive, or for a store given by its address.
    query_result     The columns and rows of a query, with the same value types on every engine.
    sent_facts       Remember which facts each sink was sent, as hashes of rows, in a cache beside the archive.
    sql_values       Convert values of transcripts, which may be anything, to those that every engine can store.
    views            SQL of the views of `clew sql`, identical on every engine but for the form of a date.
"""
