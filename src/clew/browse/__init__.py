"""What the terminal browser and the web application share: the search in the background, and sessions in lists.

Modules:
    search_thread  Search in one thread, by meaning in a second one, and refresh the index in a third, each with its
                   own connection.
    session_item   A session as lists show it, from the index or from its file.
"""
