"""Collect sessions: read every new line once, archive it, and deliver it to sinks.

Modules:
    archive/        The local archive: a SQLite file with every line of every session.
    collector       The collector: looks at everything, takes what changed, notes what is gone.
    collector_lock  The lock: one collector at a time for each archive.
    direct_collect  Collecting without an archive: new lines go straight to a sink, and a state file says how far
                    each file was delivered.
    discovery       Sources: which files are collected, in which order, and what the file system says of them.
    dry_run         A preview: what a poll would read, with nothing written, not even an archive.
    fingerprint     Proofs: that what was read of a file still stands there, so that it may be read on.
    ingest          Taking one file: what is new in it goes to the writer, with the place behind it.
    install_check   Find the hooks and timers that `clew collect install` wrote, and tell which of them an earlier
                    version wrote.
    install_plan    Install what runs `clew collect` regularly.
    job             Running: a collector with its archive open and locked, once or again and again.
    line_reader     Cutting: the whole lines of an open file from an offset on, without a limit to their length.
    masking         Policies: what of a line may be kept or sent on.
    poll_report     Reports: what a poll did, and what people should know of it.
    read_limits     Limits: how much is read, held and looked at again in one go.
    retention       Retention: after how many days Claude Code deletes what it wrote.
    safe_open       Opening a source: the very file that the scan saw, and no link that took its place since.
    sinks/          Where collected lines are delivered: files, HTTP, OpenTelemetry, PostgreSQL, Delta Lake.
    split_secrets   Secrets that are split: one half ends a text block, and the next block begins with the other.
    sql/            Tables and views for `clew sql`, the same on every engine.
    watch_loop      Watching: when the next poll is due.
"""
