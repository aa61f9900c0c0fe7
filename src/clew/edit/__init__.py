"""Edit sessions: a plan is an immutable chain of steps, verified, then written as a new session beside the original.

Modules:
    drop_turns          Turns: leave some of them out, or end with one.
    fix/                Repair a session: links, calls without results, the leaf.
    media_placeholders  Pictures and documents inside messages, and the notes that take their place.
    merge_sessions      Merging: the same session continued in two places becomes one tree with both branches.
    plan                The plan: what a session would become, as a value.
    plan_diff           The difference: what a plan takes out, puts in and changes, a line of text for each entry.
    plan_report         The report of a plan: how much there was, and how much is left.
    redact_session      Redaction: a session without its secrets, in every file of it.
    redactor            The veil: what may not be seen, taken out of texts, entries and files.
    relink              Relinking: take entries out of a session so that nothing left names what is gone.
    removals            Cuts: what is to be taken out of a session or made shorter, gathered first and then done in
                        one pass.
    rename_session      Names: a title or a tag for a session, by adding the line that Claude Code itself adds.
    restate_usage       Size: let the last reply tell how many tokens it would have been given of what is left.
    session_lineage     Lineage: what a session was made of, what was made of it, and which others hold the same
                        entries.
    strip               Stripping: thinking, pictures, the program's copies of results, lines that no model sees,
                        what was compacted away.
    summary/            Shorten a session by summaries: compact and compress.
    trim_presets        Presets: what a trim takes out, as one value, and the names of those that are asked for
                        often.
    trim_tools          Trimming tools: take calls out together with their results, or make both short.
    undo_journal        The journal: what clew wrote and where, so that any of it can be taken back.
    verify              Verification: an edit may not break what was whole.
    write_plan          Writing a plan: a new session beside the original, with its agents, long outputs and file
                        history.
"""
