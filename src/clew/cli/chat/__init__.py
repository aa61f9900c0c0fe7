"""Commands that talk to a model.

Modules:
    chat         `clew chat`: work with a model in a folder, in sessions that Claude Code can go on with.
    chat_stream  The doors of programs: a conversation as JSON lines on stdin and stdout, and `clew-agent`, which
                 Agent SDKs start.
    race         `clew race`: say the same thing at the same place of a session to several models, and compare what
                 they do.
    resume       `clew resume`: go on with a session, found by its id or by what was said in it.
    trust        `clew trust`: the folders whose own settings may run things.
"""
