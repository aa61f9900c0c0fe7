"""Hooks: the user's commands and callbacks that run on events of a chat.

Modules:
    env_file       Variables that hooks set for later commands: they write `export` lines into the file that
                   `CLAUDE_ENV_FILE` names.
    hook           One hook: what runs, at which event, and for which tools.
    hook_output    Interpret the exit code and output of hooks, and merge the answers of several hooks.
    hook_settings  Read hooks from settings and plugins.
    remote_hooks   Run hooks that are not programs: requests to an address, questions to a model, and tools of MCP
                   servers.
    runner         Run hooks: shell commands, requests, prompts and tools from the settings, and callbacks of an
                   SDK.
"""
