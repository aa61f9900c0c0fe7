"""Hooks: the user's commands and callbacks that run on events of a chat.

Modules:
    hook_output  Interpret the exit code and output of hooks, and merge the answers of several hooks.
    runner       Run hooks: shell commands from the settings and callbacks of an SDK.
"""
