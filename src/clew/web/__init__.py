"""The web application of `clew serve`.

Modules:
    access_control     Decide which requests are answered, and set the security headers of every response.
    app_state          The objects that all request handlers share, and the cache of rendered pages.
    async_search       Await the answers of the search thread.
    charts_page        The charts of one session: its context, and the cost of each turn.
    compare_page       Compare two sessions, or two branches of one: aligned turns, and the files that they left in
                       different states.
    export_page        Export a session as one file.
    files_page         The files that sessions changed, and which prompt wrote each line of one of them.
    find_page          Find words in all turns of a session, loaded by the browser or not.
    first_load         Load what the first pages need while the browser starts.
    forms              Read the forms that pages send: short, of our own pages, and with the token of the signed-in
                       browser.
    gone_page          The page of a session whose transcript is gone: where it is known from, what is left of it,
                       and the next step.
    http_limits        Limit how long and how many connections clients may keep open.
    list_page          The list page: all sessions, with filters, groups by day, and a preview.
    live_updates       Watch followed sessions, all session files and the index, once for all pages, and stream what
                       changed.
    loading            Say how far the reading of a large session is, in the page that is being sent.
    page_target        Resolve what a request asks for: a session or one of its agents, along a branch, with
                       options.
    paging             Split turns into pages of bounded size; appended entries do not change earlier pages.
    palette_page       The palette: sessions, projects, saved searches and pages by their names.
    parameters         Read the parameters of an address: values that cannot be understood count as missing.
    preferences        Settings and marks of the web pages: one file in clew's state folder, which all servers of
                       the user share.
    query_suggestions  Suggest how a query can go on: operators, and the values that they can take in the sessions
                       at hand.
    reader_page        The pages of one session: its turns, outline, branches, agents and live changes.
    routes             The URL routes of the application, and the pages for errors.
    search_page        The search page: passages of all sessions, counts to narrow the search, suggestions, and
                       saved searches.
    server_record      What the server of a Claude folder keeps in clew's state folder, so that cookies and
                       addresses survive a restart.
    session_cache      Open sessions, looked up by id and cached while there is room.
    session_row        What a row of a list shows of a session, ready for the template: masked, formatted, with a
                       sparkline.
    session_rows       The sessions that the list, the search and the palette show, with the marks of the user.
    settings_page      The settings page: theme, density, width, time zone, first day of the week, masking.
    start_page         The start page: what was used, where and when, what runs now, and what is about to be
                       deleted; also of one project.
    templates          Render templates, in which every value is escaped, and serve static files.
    turn_facts         What each turn of a reading did and cost, for the header, the margin and the outline of the
                       reader.
    turn_html          Render a page of a session as HTML, with links to its turns and agents.
    usage_data         Read the usage of all sessions in a thread, and keep the sums of the last state.
    usage_page         The usage page: the tables and charts of `clew usage` with filters, and their numbers as
                       files.
    user_marks         Pins, tags and saved searches: what the user notes on the pages, kept in clew's own
                       preferences.
    web_server         Run the web application on a socket of this machine.
"""
