"""Subagents and background tasks.

Modules:
    background_tasks  Wait for background commands and subagents, and report their end to the conversation that
                      started them.
    subagent_run      A running subagent, which its call waits for or which runs in the background.
    subagents         Start subagents for the Task tool; the final text of a subagent is the result of its call.
"""
