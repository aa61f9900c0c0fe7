"""Tables and views for `clew sql`, the same on every engine.

Modules:
    archive_engine  The facts of an archive, in SQLite: a cache beside it, brought up to date when it is asked, and
                    read only from then on.
    dataframes      Frames: the answer to a query as a table of polars, pandas or DuckDB.
    fact_cursor     The cursor of facts: which files have new lines that a sink has not seen the sum of.
    fact_rows       Facts: the rows of one file, from its lines in the archive, by the same reading that every
                    command has.
    fact_tables     Fact tables: what each file amounts to, as rows that every engine takes alike.
    line_rows       Lines as rows: what a store keeps of each line beside its bytes.
    open_store      Opening what can be asked: the archive, or a store that is named by its address.
    query_result    Results: columns and rows, with the same values whichever engine they come from.
    views           Views: the contract of `clew sql`.
"""
