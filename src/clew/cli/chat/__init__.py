"""Commands that talk to a model.

Modules:
    chat           `clew chat`: chat with a model in a folder, in sessions that Claude Code can resume.
    chat_stream    The doors of programs: a conversation as JSON lines on stdin and stdout, and `clew-agent`, which
                   Agent SDKs start.
    model_options  Options of a chat about its model: which, where, how much of it, and in which form it answers.
    race           `clew race`: send one prompt to several models at the same point of a session, and compare the
                   results.
    resume         `clew resume`: resume a session, found by its id or by a search.
    trust          `clew trust`: the folders whose own settings may run things.
"""
