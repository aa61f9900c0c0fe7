"""Edit sessions: a plan is an immutable chain of steps, verified, then written as a new session next to the original.

Modules:
    arrival             Put a session with all its files into a folder of Claude Code, where Claude Code finds it;
                        never over anything.
    copy_project        Plan copies of all sessions of a project in the project of another folder, with new ids, as
                        one edit.
    drop_turns          Remove turns from a session, or everything after a position.
    fix/                Repair a session: links, calls without results, the leaf.
    kept_files          Take files out of the folder of Claude Code and put them back, byte for byte and with their
                        modification times.
    media_placeholders  Replace images and documents inside messages by short placeholder texts.
    merge_sessions      Merge a session that was continued in two places into one tree with both branches.
    move_files          Write files to new places and remove the old ones, as one edit that can be completed or
                        undone at any point.
    move_project        Plan the move of all sessions of a project, and of the projects below it, when its folder
                        moved.
    pack_format         Write and read packs: ordinary ZIP files of sessions, laid out as in `~/.claude`, with a
                        manifest and SHA-256 sums.
    plan                Plan edits of a session as an immutable value.
    plan_diff           Describe what a plan removes, adds and changes, one line for each entry.
    plan_files          List the side files of the session that a plan would write: agents, long outputs, file
                        history.
    plan_report         Compare the size of a session before and after a plan.
    project_settings    Read and move the settings that Claude Code keeps for a project folder in `.claude.json`.
    receive_sessions    Receive sessions from a pack, a file or another tree: plan all of them, write them as one
                        edit, check each.
    redact_lines        Redact the lines of transcripts, many at a time, and those of a large session in several
                        processes.
    redact_session      Remove secrets from a session, in every file of it.
    redacted_copies     Write redacted copies of sessions into a temporary tree, to be packed from there.
    redactor            Redact secrets and patterns in texts, entries and side files.
    relink              Remove entries from a session so that no remaining reference names a removed entry.
    removals            Collect what an edit removes or shortens, and apply it in one pass.
    rename_session      Set a title or a tag by appending the line that Claude Code appends.
    restate_usage       Reduce the recorded usage of the last reply to what is left of the session.
    salvaged_entries    Put entries that were salvaged from damaged lines on separate lines.
    session_lineage     Find the sessions that a session was made from, those made from it, and those that share
                        entries.
    strip               Strip thinking, images, copies of results, bookkeeping lines and compacted entries.
    summary/            Shorten a session by summaries: compact and compress.
    sync_trees          Make two folders of Claude Code equal by union: each gets the sessions and lines that it
                        lacks; nothing is deleted.
    trim_presets        Define what a trim removes, as one value, and the presets for common cases.
    trim_tools          Remove tool calls together with their results, or truncate both.
    undo_journal        Record what clew wrote and where, so that it can be undone.
    verify              Verify that an edit does not break what was intact; flaws of the original are not a reason
                        to refuse.
    write_plan          Write a plan as a new session next to the original, with its agents, outputs and file
                        history.
"""
