"""Synthetic sessions: a builder for tests, and the demo tree.

Modules:
    agent_talk      Attach a sub-agent's conversation to the call that started it.
    demo_stories    Build the sessions of the demo tree from `stories/`: one TOML file for each session, a list of
                    steps.
    demo_tree       Write the demo tree: a small made-up `~/.claude` with a session of every kind.
    entry_gaps      The time between two lines of a session, distributed as in real sessions.
    home_files      The demo files outside of sessions: history, statistics, todos, settings, a stale index,
                    leftovers.
    identifiers     Deterministic identifiers in the forms that session files contain.
    line_script     The lines of a conversation, as an immutable value that grows at its end.
    program_notes   Builder methods for lines that Claude Code itself writes: titles, snapshots, hooks, compactions.
    talk            A fluent builder of sessions.
    tool_inputs     Tool calls as plain values: `bash("ls")`, `edit(path, old, new)`, or `tool(name, **input)`.
    tool_results    Tool results: the content for the model, and the detail (`toolUseResult`) stored next to it.
    version_layout  How each Claude Code version writes its lines: fields, their order, and usage.
"""
