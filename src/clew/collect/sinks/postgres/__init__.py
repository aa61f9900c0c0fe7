"""Deliver to PostgreSQL, and query it.

Modules:
    connection       A link to a PostgreSQL server: opened when it is first needed, watched while it is used, opened
                     anew after it was lost.
    postgres_errors  What PostgreSQL says when it fails, as errors of ours: one sentence, whether trying again may
                     help, and the next step.
    query_engine     Asking a PostgreSQL store: one query in a transaction that the server keeps from writing, its
                     rows as they come.
    setup            The tables of a PostgreSQL store, and who may do what with them.
    tables           A sink that is a PostgreSQL database, for many hosts: every line once, and what the files
                     amount to.
"""
