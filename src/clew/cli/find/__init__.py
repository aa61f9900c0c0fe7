"""Commands that search.

Modules:
    embedding_progress   Embed new texts before a search by meaning, and report the time it takes and what is left.
    gone_sessions_error  Sessions whose transcript is gone: the error that reports one, by its id or by a search.
    no_results           Explain why a search found nothing: run variations of it, and name those that find
                         something.
    recall               `clew recall`: save the results of a search and read them again.
    search               `clew search`: search all sessions.
    search_output        Print the results of a search: as text, as JSON lines, or with the turns around each match.
"""
