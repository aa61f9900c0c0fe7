"""The local archive: a SQLite file with every line of every session.

Modules:
    archive_backup     Copy an archive to one file, with its key, and put such a copy back.
    archive_schema     Create and open the archive: a SQLite file with every line of every session.
    archive_status     Count what the archive contains, what waits for each sink, and what is wrong.
    archive_upgrade    Upgrade an archive of an earlier version: ordered steps in one transaction, after a copy of
                       the file was made.
    archive_view       Open the deleted tree of a folder, up to date with the default archive.
    archive_writer     Write everything that belongs to a poll, in transactions that contain rows and offsets
                       together.
    archived_sessions  Look up archived and reconstructed sessions of one folder, for searches that include deleted
                       ones.
    checksums          Verify what the archive returns: a hash for each content, a checksum for each row that says
                       where it belongs.
    delete_sessions    Delete sessions that the archive has byte for byte, and bring them back.
    deleted_tree       A cache folder with deleted and reconstructed sessions, laid out like a Claude Code folder.
    erase              Erase sessions, projects or a text from an archive, and remember it, so that they are not
                       collected again.
    reader             Read an archive: list its files, and return each generation byte for byte.
    reconstruct        Reconstruct sessions whose transcripts were deleted before they were archived.
    restore_files      Restore files from the archive byte for byte, never over an existing file.
    sqlite_errors      Translate SQLite errors of the archive into one-sentence errors with a next step.
    sync_deleted_tree  Bring the deleted tree up to date with the archive.
    verify_contents    Verify a whole archive: SQLite's own check, the hash of every content, and the checksum of
                       every row.
"""
