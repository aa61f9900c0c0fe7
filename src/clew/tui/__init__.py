"""The browser in the terminal (`clew` without arguments), built with Textual.

Modules:
    browser_app        The browser: the screens together, and what both of them can do with a session.
    dialogs            Dialogs: the keys, the branches of a session, and the name of a file.
    external_programs  Outside: the programs that the browser hands over to, and how a session goes on after it.
    folding            Folding: which rows belong to a call or an agent, and which are seen.
    home_screen        The first screen: a search, the sessions that answer it, and a preview of the one that is
                       chosen.
    line_wrap          Wrapping: text as lines that fit a width in columns.
    load_rows          Loading: the rows of a session, made in a thread and handed over in batches.
    preview_pane       The preview: what a session is about, beside the list.
    reader_screen      The reader: one session, whole.
    row_text           Painting: a row as lines of styled text, laid out for a width.
    row_widget         The rows of a session on the screen, with calls and agents that fold.
    search_thread      Seeking: searches and the refresh of the index, each in a thread of its own with its own
                       connection.
    session_item       Hits: what a list says of a session, whether the index knows it or only its file does.
    session_list       The list of sessions: a line for each, and a second one for the passage that was found.
    virtual_list       Virtual lists: things of some height below each other, of which only those on the screen are
                       ever drawn.
"""
