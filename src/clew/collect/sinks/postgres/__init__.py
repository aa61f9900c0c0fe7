"""Deliver to PostgreSQL, and query it.

Modules:
    connection       A PostgreSQL connection that opens on demand, times out, and reopens after a loss.
    postgres_errors  Translate PostgreSQL errors into one sentence, whether a retry may help, and a next step.
    query_engine     Query a PostgreSQL store in a read-only transaction, with streamed rows.
    roles            Roles of a PostgreSQL store, and which rows and columns each may read.
    setup            Create the tables and roles of a PostgreSQL store, and bring those of an earlier version up to
                     date.
    store_version    The versions of a PostgreSQL store, and which versions of clew may send to it.
    tables           Deliver lines and facts of many hosts to PostgreSQL.
"""
