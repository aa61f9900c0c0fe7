"""The browser in the terminal (`clew` without arguments), built with Textual.

Modules:
    browser_app        The terminal browser: its screens, and the actions on the selected session.
    choice_dialog      A dialog that lets the user choose from a list, which narrows while they type.
    dialogs            Dialogs of the browser: the keys, the branches of a session, and a line of text.
    external_programs  Programs that the browser starts: the pager, the editor, and `claude` to resume a session.
    folding            Which rows a call or an agent contains, and which rows closed folds hide.
    home_screen        The first screen: the search box, the matching sessions, and a preview of the selected one.
    line_wrap          Wrap and truncate text to a width in terminal columns.
    load_rows          Load the rows of a session in a thread, and post them in batches.
    markdown_spans     Style the wrapped lines of a Markdown text: headings, lists, quotes, tables, emphasis, links
                       and fenced code.
    preview_pane       The pane that shows the selected session: its best passage, or its beginning.
    reader_screen      The screen that shows one session.
    row_text           Lay out a row as lines of styled text for a width, independent of widgets.
    row_widget         The widget that shows rows, with calls and agents that fold.
    search_messages    Pass the answers of the search thread to the application as messages.
    session_figures    Count the turns and the cost of sessions in a thread, for the rows on the screen.
    session_list       The list of sessions: one line each, and a second one for the best passage.
    virtual_list       A list of items of varying height that draws only the items on the screen.
"""
