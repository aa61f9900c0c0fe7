"""Sub-agents and background tasks.

Modules:
    background_tasks  Beside the conversation: commands and agents that go on by themselves, watched until they end.
    subagent_run      Agents at work: waited for by the call that sent them, or beside the conversation.
    subagents         Errands: agents that a call sends off with a task of their own, and whose last words are its
                      result.
"""
