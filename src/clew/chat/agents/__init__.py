"""Subagents: their types, and running them for the Task tool.

Modules:
    agent_files     Load the types of subagents: built-in ones, and those in files of the user and the project.
    agent_kind      A type of subagent: its purpose, system prompt, tools and limits.
    agent_worktree  A git worktree for one subagent, so that its changes do not meet those of others.
    main_agent      Let the main conversation be of a type of agent: its system prompt, its tools and its model.
    subagent_run    A running subagent, which its call waits for or which runs in the background.
    subagents       Start subagents for the Task tool; the final text of a subagent is the result of its call.
"""
