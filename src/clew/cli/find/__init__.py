"""Commands that search.

Modules:
    embedding_progress   Embed new texts before a search by meaning, and report the time it takes and what is left.
    gone_sessions_error  Sessions whose transcript is gone: the error that reports one, by its id or by a search.
    recall               `clew recall`: save the results of a search and read them again.
    search               `clew search`: search all sessions.
"""
