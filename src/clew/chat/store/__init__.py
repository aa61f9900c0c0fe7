"""The session file of a running chat: append, resume, fork, lock.

Modules:
    earlier_lines       Collect what a resume takes from the lines before those that it sends, without decoding what
                        was said in them.
    file_snapshots      Save each file before it is changed, so that the changes of a prompt can be undone.
    fork_session        Copy a session under a new id, as Claude Code forks it.
    journal             Append lines to a session file while a conversation runs.
    journal_lines       Build the lines that clew writes into session files, as pure functions.
    live_conversation   The state of a running conversation, in memory and in its session file.
    pending_prompts     Prompts that wait until the model can receive them.
    result_records      Record what the results of calls say beyond the conversation: pull requests and todo lists.
    resume_session      Read everything that a chat needs to resume a session, whichever program wrote it.
    resumed_part        Read the end of a session file from which a resume can be built, and no more of the rest
                        than it leaves behind.
    session_lock        Lock a session file for one writer.
    session_state       The state from which a conversation starts or continues.
    task_notifications  Build and find the reports of background tasks that have ended.
"""
