"""Render a session: a list of rows, and printers for the terminal, HTML, Markdown and JSON.

Modules:
    ansi_html         ANSI colours as spans: what a terminal would colour, in classes that a style sheet knows.
    approval_text     Escape text that a user approves, so that the screen shows exactly what will be used.
    attachments       Details of a session that a page has room for: what a call was given, pictures, and what a
                      turn took.
    call_output       The output of a call as rows: from the transcript, or from the file that holds it if it was
                      too long for that.
    comparison        Comparisons: two ways that a conversation went, and what each made of the files.
    export_session    Convert a session to Markdown, HTML, JSON or its own lines: `clew.export` and `clew export`.
    header            About: what is said of a session above it, in words that hold no secret.
    html_page         Pages: what stands around fragments, in one file that loads nothing and reads without scripts.
    markdown_html     Prose: Markdown as people and models write it, as HTML that can hold no markup of theirs.
    mask_rows         Masked rows: secrets do not reach the screen unless they are asked for.
    nesting           Nesting: which rows hold the rows that follow them, so that a printer can open and close as
                      they come.
    playback/         Play a session as an animation: HTML page or asciicast.
    progressive       The opening: the first turns of a large session before all of it has been read.
    round_labels      Rounds as JSON values and in a few words, the same in every command and page.
    row_html          HTML: rows as fragments of a page, every word of a transcript escaped.
    row_labels        What the facts of a row tell, in the words that all printers use; none of it comes out of a
                      transcript.
    row_markdown      Markdown: rows as text that reads well on GitHub and in Obsidian, where no word of a
                      transcript becomes HTML.
    row_terminal      The terminal: rows as text, with colour where there is a terminal and without where there is
                      none.
    row_type          Rows: what every printer prints.
    rows              The document: a session as a flat list of rows with a depth and a budget, and no markup.
    sanitize          Plain text: what may reach a terminal, and numbers in few letters.
    static_site       Archives: a folder of pages with an index that searches them, without a server and from a file
                      too.
    surrounding_rows  The messages around a place, as rows and as JSON.
    truncate          Budgets: the first lines of a long text, with a count of what was left out.
    turn_json         Export: turns as JSON values with a version, every word in its field, agents nested at their
                      calls.
    turn_tree         The shape of a session: the tree of its turns as a flat list of rows, with what happened in
                      each, and no markup.
"""
