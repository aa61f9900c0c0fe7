"""The session file of a running chat: append, resume, fork, lock.

Modules:
    file_snapshots      Snapshots: the state of each file before it was changed, so that the changes of a prompt can
                        be taken back.
    fork_session        Forks: a copy of a session under a new id, as the program makes it.
    journal             The journal: writes a conversation down, line by line, as it happens.
    journal_lines       Entries that clew writes: the shapes of its lines, as pure functions.
    live_conversation   A dialogue: a conversation that goes on, in memory and on disk.
    resume_session      Resuming: what a session gives to go on with, whoever wrote it.
    session_lock        The lock: one writer at a time for each session.
    task_notifications  Notifications: what the model is told when something ended in the background, and which of
                        them it never heard.
"""
