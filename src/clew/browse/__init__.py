"""What the terminal browser and the web application share: the search in the background, and sessions in lists.

Modules:
    archived_usage     Transcripts that are only in the archive, deleted or rewritten in the tree, so that usage
                       never shrinks.
    filtered_sessions  The list of all sessions: filters, orders, counts for suggestions, and groups by day.
    search_thread      Search in one thread, by meaning in a second one, and refresh the index in a third, each with
                       its own connection.
    session_charts     The charts of a session for its exported page: the context, and the cost of each turn.
    session_item       A session as lists show it, from the index or from its file.
    summary_thread     Keep the summaries of all sessions in memory, and refresh them in a thread; a large refresh
                       runs in its own process.
"""
