"""The web application of `clew serve`.

Modules:
    access_control     The guard: who may ask, what may be asked, and what every answer says to the browser.
    app_state          The desk: what every answer is made from.
    background_search  Seeking: searches and the refresh of the index, each in a thread of its own with its own
                       connection.
    compare_page       Side by side: two sessions, or two branches of one, turn by turn.
    export_page        Sharing: a session as a file to keep, and its charts.
    http_limits        Connections: HTTP as uvicorn speaks it, with limits on how long and how many a client may
                       keep open.
    list_page          The list: a search, filters, and the sessions that answer them.
    live_updates       Live: one watch over each session that somebody follows, however many they are.
    paging             Paging: turns cut into pages of bounded size, the same pages however often it is done.
    reader_page        The reader: one session, page by page, with its outline, its branches, its agents, and what
                       is new in it.
    routes             The app: which address is answered by what.
    session_cache      The shelf: the sessions that are open, found by their ids and kept as long as there is room.
    templates          Rendering: the templates, in which every value is escaped, and the files that pages load.
    turn_html          Fragments: a page of a session as HTML, with links to what stands on pages of its own.
    web_server         The server: a socket on this machine alone, and the app behind it.
"""
