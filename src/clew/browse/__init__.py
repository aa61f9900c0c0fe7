"""What the terminal browser and the web application share: the search in the background, and sessions in lists.

Modules:
    search_thread  Search in one thread and refresh the index in another, each with its own connection.
    session_item   A session as lists show it, from the index or from its file.
"""
