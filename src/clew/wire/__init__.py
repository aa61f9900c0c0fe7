"""The file format: the only code that knows the JSON fields and the folder layout of ~/.claude.

Modules:
    arrival_time      Choose the modification time of a file that arrives in a folder of Claude Code.
    boundary_search   Find the last compaction of a session file from its end, without decoding the lines after it.
    bulk_scan         Scan many files quickly: decode only the fields of one shape and keep no bytes.
    clew_config       Read clew's own settings, `clew/config.toml` in the configuration folder.
    content_block     Decode API messages: one tolerant shape for every kind of content block.
    content_time      Order session files by their content: the time of the last entry of the conversation.
    entry             Read session files as typed entries, without losing a byte.
    entry_edit        Change fields or blocks of an entry; every other byte stays the same.
    entry_types       Typed details of each kind of entry, beyond the fields that all entries share.
    growth            Recognise a file that has only grown since it was read, so that only its new lines are read.
    javascript_dates  Parse dates as JavaScript's `Date` does, because Claude Code reads timestamps with it.
    json_codec        Encode and decode JSON as JavaScript does; decoding copes with any input.
    json_splice       Replace some fields of a JSON object and keep every other byte.
    known_sessions    Sessions in Claude Code's own lists: `sessions-index.json` of each project and the prompt
                      history.
    layout            List sessions, agents and projects in the folder of Claude Code.
    lenient           Convert decoded JSON to typed shapes; a field that does not fit gets its default.
    line              Split files into lines: exact bytes, including the newline, with their offsets.
    line_blocks       Read the complete lines of a file in large blocks, each byte once, together with the
                      fingerprint of what was read.
    lookup            Find a session by id, prefix or path, and a project by path or name.
    numeric_limits    Bounds of the numbers in transcripts: finite, not negative, small enough for sums, databases
                      and clocks.
    overflow_files    Read long tool outputs, which Claude Code saves as files in `<session>/tool-results/`.
    path_mapping      Map paths at or below one folder to another folder, also between Windows and POSIX paths.
    project_slug      Convert project paths to the folder names that Claude Code uses, and back.
    prompt_history    Read and extend `history.jsonl`, which contains every typed prompt of every project.
    relocate_lines    Change the paths that bind a transcript to its project folder: in `cwd`, file history,
                      worktrees, saved outputs.
    rename_ids        Rename the ids by which entries refer to each other and to their session.
    resume_fields     Decode only the fields of an entry that a resume takes from lines that it does not send.
    running_sessions  Read which sessions run now, from the files that Claude Code and clew keep while a process
                      runs.
    salvage           Find complete objects in a line that is not one JSON object.
    session_parts     List every file of a session: its transcript, agents, long outputs, file history, todo lists,
                      tasks and plans.
    session_writer    Append lines to session files, or create new files atomically; never overwrite a session.
    side_files        Read the JSON files next to the sessions: index, statistics, agents, todos, tasks, settings.
    tail_reader       Read the new lines of a growing file since the last read.
    timestamps        Convert the timestamps in session files, and times typed by users, to aware datetimes in UTC.
    tree_walk         List every transcript in a folder of Claude Code, with its size and modification time.
    usage_fields      Decode only the fields of an entry that its token usage is counted from.
    work_files        Read todo lists, tasks and plans, which Claude Code stores in files next to the transcripts.
"""
