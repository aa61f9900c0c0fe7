"""Commands that edit: they write a copy, or append to a session.

Modules:
    clone            `clew clone`: copy a session: all of it, up to a turn, or into another project.
    compact          `clew compact`: copy a session with older turns replaced by a summary, as /compact does.
    compress         `clew compress`: copy a session with its older replies shortened.
    drop             `clew drop`: copy a session without some of its turns, or with only some of them.
    edit_output      Options of the commands that edit, and the output of their plans.
    merge            `clew merge`: join the same session, continued on two machines.
    move             `clew move`: let all sessions of a project follow its folder.
    redact           `clew redact`: copy a session with its secrets masked.
    repair           `clew repair`: repair a damaged session, or rebuild sessions-index.json.
    retitle          `clew retitle`: set the title of a session.
    rewind           `clew rewind`: return files, a conversation or both to before a prompt.
    size_table       Show the size of each part of a conversation before and after an edit, as a small table.
    summary_options  Options that choose who summarises: a model, or extracts without one.
    tag              `clew tag`: set the tag of a session.
    trim             `clew trim`: shrink a session until it fits the context window.
    undo             `clew undo`: undo what clew wrote.
"""
