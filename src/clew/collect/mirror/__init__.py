"""Read a store: mirror its sessions into a private cache folder that looks like that of Claude Code.

Modules:
    lake_reader      Read the lines of a lake: only the files that were added to its table since the last time.
    mirror_catalog   The catalog of a mirror: what the store has of each file, how much of it was fetched, and where
                     it is.
    mirror_update    Bring a mirror up to date: fetch the lines that are new in the store, verify them, and append
                     them to the files.
    mirrored_copies  Show one of several copies of a session that hosts collected, if the others have nothing that
                     it lacks.
    mirrored_path    Decide where a file of a store goes in the mirror.
    open_reader      Open the store at an address for reading.
    postgres_reader  Read the lines of a PostgreSQL store, as far as the user may read them.
    store_reader     What can be read of a store: its hosts, what it has of each file, and the lines of some files.
    store_tree       Open a store as a folder that every reading command can read: a mirror in the cache, brought up
                     to date.
"""
