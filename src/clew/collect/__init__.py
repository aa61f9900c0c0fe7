"""Collect sessions: read every new line once, archive it, and deliver it to sinks.

Modules:
    archive/           The local archive: a SQLite file with every line of every session.
    collector          Poll a Claude Code folder: ingest changed files, follow moved ones, record deleted ones.
    collector_lock     A lock file that allows one collector at a time per archive.
    config             Read the configuration of the collector: the sinks it sends to, each with its own
                       credentials, filters and pace.
    direct_collect     Collect without an archive: send new lines directly to a sink and keep the offsets in a state
                       file.
    discovery          List the files to collect, their kind, owner and file-system state, in reading order.
    dry_run            List the files that a poll would read, without writing anything.
    expiring_sessions  Count the sessions that Claude Code will delete soon and that the archive does not have.
    fingerprint        Prove that the part of a file that was already read is unchanged, so that reading can resume
                       after it.
    identity           Find out who collects: the developer, the machine and the team that the rows of every store
                       name.
    ingest             Read what is new in one file and pass it to the archive writer together with the new
                       position.
    install_check      Find the hooks and timers that `clew collect install` wrote, and detect those of earlier
                       versions.
    install_plan       Plan and install a timer or a hook that runs `clew collect` regularly.
    job                Open and lock an archive, and create its collector.
    landing/           A landing zone: hosts put objects under a prefix of their own, and an ingester commits them
                       to a store.
    line_reader        Read complete lines of any length from an open file, in chunks that can be read independently
                       of each other.
    masking            Decide what part of a line may be stored or sent; with a key, secrets are replaced by marks.
    mirror/            Read a store: mirror its sessions into a private cache folder that looks like that of Claude
                       Code.
    poll_report        The result of a poll: counts, resets, moves and failures.
    prepared_lines     Prepare lines to be stored: hash, inspect, mask and pack them.
    read_ahead         Read and prepare the lines of files; if there is much to read, by several processes.
    read_limits        Limits for reading, buffering and verifying files, as one value.
    repair_archive     Repair damaged contents of the archive from the file that they were read from, while it still
                       exists.
    retention          How long an archive or a store keeps lines and facts, in days.
    safe_open          Open exactly the file that the scan listed, never a link that replaced it.
    sink_health        Remember how the deliveries to each sink went, and describe it for people, scripts and
                       Prometheus.
    sinks/             Where collected lines are delivered: files, HTTP, OpenTelemetry, PostgreSQL, Delta Lake.
    split_secrets      Mask secrets that are split across the border of two text blocks.
    sql/               Tables and views for `clew sql`, the same on every engine.
    units              Text of the units that run the collector: systemd, launchd, or a line of a crontab.
    watch_loop         Poll repeatedly: after file-system notifications, and at intervals because notifications can
                       get lost.
"""
