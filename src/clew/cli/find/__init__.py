"""Commands that search.

Modules:
    embedding_progress   Embedding before a search by meaning: what it costs is said, how far it is is shown, and
                         what is left is told.
    gone_sessions_error  Sessions whose transcript is gone: the error that reports one, by its id or by a search.
    recall               `clew recall`: keep what a search found, and read it again.
    search               `clew search`: search all sessions.
"""
