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
    checksums          Checksums of the rows of the archive, which bind a content to its position in a file.
    content_reader     Read contents of the archive and verify them: alone, or out of a pack that they share.
    content_writer     Store contents once each, with the packs that they share.
    delete_sessions    Delete sessions that the archive has byte for byte, and bring them back.
    deleted_tree       A cache folder with deleted and reconstructed sessions, laid out like a Claude Code folder.
    erase              Erase sessions, projects or a text from an archive, and remember it, so that they are not
                       collected again.
    known_files        The files of a root as the archive knows them, by path, held compactly: a poll needs all, but
                       looks closely at few.
    packed_contents    Contents that are packed to be stored: neighbours share a pack, so that what repeats from
                       line to line is packed once.
    packing            Pack bytes for the archive with zstd, or with zlib where Python has no zstd, and unpack them.
    reader             Read an archive: list its files, and return each generation byte for byte.
    reconstruct        Reconstruct sessions whose transcripts were deleted before they were archived.
    repack             Write packs again without the bytes that no content refers to any more, so that nothing of
                       them is left.
    restore_files      Restore files from the archive byte for byte, never over an existing file.
    sqlite_errors      Translate SQLite errors of the archive into one-sentence errors with a next step.
    sync_deleted_tree  Bring the deleted tree up to date with the archive.
    verify_contents    Verify a whole archive: SQLite's own check, the hash of every content, and the checksum of
                       every row.
"""
