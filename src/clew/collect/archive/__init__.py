"""The local archive: a SQLite file with every line of every session.

Modules:
    archive_schema     The schema of the archive: one SQLite file that outlives what was collected.
    archive_status     Health: what the archive holds, what waits, and what is wrong, in numbers.
    archive_writer     Writing to the archive: everything that belongs to a poll, in transactions that hold rows and
                       offsets together.
    archived_sessions  What the archive keeps of the sessions of one folder, for searches that also find what is
                       gone from the disk.
    deleted_tree       The attic: what is gone from the disk, laid out again as Claude Code had it, so that
                       everything that reads sessions can.
    reader             The archive for readers: what is in it, and every file as it was, byte for byte, in each of
                       its generations.
    reconstruct        Reconstructed sessions: what can be said of a session whose transcript was gone before
                       anybody kept it.
    restore_files      Restoring: files out of the archive, exactly as they were, and never over a file that is
                       there.
    sqlite_errors      Failures of the archive: the errors of SQLite as ours, in one sentence and with the next
                       step.
    sync_deleted_tree  Furnishing the attic: what is gone from the disk comes out of the archive, and what came back
                       is taken out.
"""
