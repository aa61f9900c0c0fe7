"""The web application of `clew serve`.

Modules:
    access_control  Decide which requests are answered, and set the security headers of every response.
    app_state       The objects that all request handlers share, and the cache of rendered pages.
    async_search    Await the answers of the search thread.
    compare_page    Compare two sessions, or two branches of one, turn by turn.
    export_page     Export a session as one file, and draw its charts.
    gone_page       The page of a session whose transcript is gone: where it is known from, what is left of it, and
                    the next step.
    http_limits     Limit how long and how many connections clients may keep open.
    list_page       The list page: a search, filters, and the matching sessions.
    live_updates    Watch the sessions that readers follow, and report their changes.
    paging          Split turns into pages of bounded size; appended entries do not change earlier pages.
    reader_page     The pages of one session: its turns, outline, branches, agents and live changes.
    routes          The URL routes of the application, and the pages for errors.
    session_cache   Open sessions, looked up by id and cached while there is room.
    templates       Render templates, in which every value is escaped, and serve static files.
    turn_html       Render a page of a session as HTML, with links to its turns and agents.
    web_server      Run the web application on a socket of this machine.
"""
