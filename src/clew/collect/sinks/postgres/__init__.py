"""Deliver to PostgreSQL, and query it.

Modules:
    blocked_rows        Keep a PostgreSQL store from taking again what was erased, or is older than its retention.
    connection          A PostgreSQL connection that opens on demand, times out, and reopens after a loss.
    moved_rows          Note in PostgreSQL which turns, replies and calls occur on several days, when they are
                        written.
    postgres_erasure    Erase people, projects, sessions and texts from a PostgreSQL store, as its owner.
    postgres_errors     Translate PostgreSQL errors into one sentence, whether a retry may help, and a next step.
    postgres_retention  Drop lines and facts of a PostgreSQL store that are older than its retention, as its owner.
    query_engine        Query a PostgreSQL store in a read-only transaction, with streamed rows.
    roles               Roles of a PostgreSQL store, and which rows and columns each may read.
    setup               Create the tables and roles of a PostgreSQL store, and bring those of an earlier version up
                        to date.
    store_version       The versions of a PostgreSQL store, and which versions of clew may send to it.
    tables              Deliver lines and facts of many hosts to PostgreSQL.
"""
