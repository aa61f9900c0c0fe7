"""Synthetic sessions: a builder for tests, and the demo tree.

Modules:
    agent_talk      Errands: a sub-agent's conversation, made part of the session whose call began it.
    demo_tree       The demo tree: a small `~/.claude` with some of everything in it, made up from beginning to end.
    entry_gaps      How long after the line before it a line of a session comes, as in real sessions.
    home_files      What lies around the sessions in the demo: history, statistics, todos, settings, an index gone
                    stale, leftovers.
    identifiers     Identifiers in the forms that the files hold, as functions of their parts: no chance, no clock.
    line_script     The lines of a conversation, written down one by one: an immutable value that grows at its end.
    program_notes   What the program itself notes: titles, pins and snapshots beside the conversation; hooks,
                    progress, durations and compactions inside it.
    stories/        The stories of the demo tree.
    talk            A builder of sessions that reads like the conversation it makes.
    tool_inputs     Tool calls as plain values: `bash("ls")`, `edit(path, old, new)`, `tool(name, **input)` for any
                    other.
    tool_results    What tools answer: the content for the model, and the detail (`toolUseResult`) kept beside it.
    version_layout  How each version of Claude Code lays out its lines: which fields, in which order, with what
                    usage.
"""
