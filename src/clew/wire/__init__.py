"""The file format: the only code that knows the JSON fields and the folder layout of ~/.claude.

Modules:
    bulk_scan         Scanning: a pass over many files that keeps nothing of them.
    clew_config       clew's own settings: `clew/config.toml` in the user's folder of settings.
    content_block     The parts of an API message: typed reads, one tolerant shape for every kind of block.
    entry             Entries: typed reads over bytes that are kept.
    entry_edit        Revising: an entry with some of its fields or blocks changed, as a new entry in the place of
                      the old one.
    entry_types       Details: what each kind of entry says beyond the fields that all share.
    javascript_dates  Dates as the `Date` of JavaScript reads them, which decides what Claude Code makes of a
                      timestamp.
    json_codec        JSON in and out: the one encoder of the package, and a decoder that no input can break.
    json_splice       Splicing: other values for some fields of a JSON object, and every other byte as it was.
    layout            Where things lie: the folders of Claude Code, its names for projects, and how to find what was
                      asked for.
    lenient           A lenient conversion of decoded JSON into the typed shapes: what does not fit falls back to
                      its default.
    line              Lines: bytes up to and with their newline, where they stand in the file.
    numeric_limits    The numbers a transcript may hold: finite, not negative, and small enough for every sum,
                      database and clock above.
    overflow_files    Long tool outputs: files in `<session>/tool-results/` that hold what was too long for the
                      transcript.
    project_slug      Slugs: the names that Claude Code gives to the folders of projects.
    prompt_history    The history of prompts: `history.jsonl`, one line for each prompt that was typed, in any
                      project.
    rename_ids        References: the fields by which entries name each other and their session, and how they get
                      new names.
    salvage           Damage: what can be saved from a line that is not one JSON object.
    session_writer    Writing: whole lines behind a session file, or a new file that appears whole.
    side_files        Side files as values: what lies beside the sessions and is not one.
    tail_reader       Tails: the lines that came since last time, of a file that grows.
    timestamps        Instants: the forms of time that the files hold, as aware datetimes in UTC.
    tree_walk         Walking: every transcript below a folder of Claude Code, with what the file system says of it.
    usage_fields      Bills: of an entry only what its usage is counted from, for a pass over many files.
    work_files        Todo lists, tasks and plans: what Claude Code keeps about the work of a session, in files
                      beside the transcripts.
"""
