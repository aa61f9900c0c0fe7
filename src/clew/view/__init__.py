"""Render a session: a list of rows, and printers for the terminal, HTML, Markdown and JSON.

Modules:
    ansi_html          Convert ANSI colours to HTML spans with CSS classes; all other codes are removed.
    approval_text      Escape text that a user approves, so that the screen shows exactly what will be used.
    attachments        Call inputs, pictures and turn totals, which pages show in addition to the text.
    call_groups        Find runs of calls that are shown as one line, such as `12 reads, 3 edits`.
    call_output        Convert the output of a call to rows, from the transcript or from its long-output file.
    comparison         Compare two paths of a conversation, and what each did to the files.
    decisions          Describe what a person or a rule decided about a tool call: an answer, an approval, a
                       refusal, a denial.
    depths             How much of a session is shown: the values of `--depth`, which options name before a session
                       is read.
    diff_html          Render a unified diff as HTML: line numbers from its hunks, marks on changed words, colours
                       of the language.
    display_time       Show times in the zone that the reader chose: UTC in files, the zone of the settings in the
                       web pages.
    export_session     Convert a session to Markdown, HTML, JSON or its own lines: `clew.export` and `clew export`.
    fence_language     The language of a call's input or output, for the fence around it, and file content without
                       line numbers.
    header             The header of a session: title, start and other facts, with secrets masked.
    html_page          Wrap HTML fragments in a page: one file that loads nothing and works without scripts.
    lexing/            Read code into lines of tokens, with the rules of Pygments but faster.
    markdown_headings  Lower the headings of Markdown text, so that they are below the headings of the document
                       around it.
    markdown_html      Convert Markdown to HTML that contains no markup from the transcript.
    mask_rows          Mask secrets in rows before they are printed.
    nesting            Determine which rows contain the following rows, so that printers can open and close
                       elements.
    playback/          Play a session as an animation: HTML page or asciicast.
    progressive        Show the first turns of a large session before the complete file is read.
    round_labels       Rounds as JSON and as short labels, the same in all commands and pages.
    row_html           Convert rows to HTML fragments, with all text of the transcript escaped.
    row_labels         Labels of rows that all printers share; none of them comes from a transcript.
    row_markdown       Convert rows to Markdown for GitHub and Obsidian, in which no text of the transcript becomes
                       HTML.
    row_terminal       Print rows as text, with colours on a terminal.
    row_types          The rows that all printers print: one frozen class for each kind, and `Row`, the union of
                       them.
    rows               Convert a session to a flat list of rows, which all printers (terminal, Markdown, HTML)
                       print.
    sanitize           Sanitize text for terminals, and format numbers briefly.
    static_site        Export sessions as a folder of pages with an index page that searches them without a server.
    surrounding_rows   The messages around a position, as rows and as JSON.
    syntax             Colour code with Pygments: text becomes lines of tokens, and tokens become escaped HTML with
                       five CSS classes.
    terminal_markdown  Render Markdown for a terminal, left-aligned and without boxes around headings and code.
    tree_problems      Events of the turn tree for damage: broken links, unreadable lines, calls and results without
                       a partner.
    tree_row           Row and event types of the turn tree.
    truncate           Truncate long texts to their first lines, and count the lines left out.
    turn_alignment     Align the turns of two conversations: which are the same, which changed, and which only one
                       of them has.
    turn_json          Export turns as JSON, with agents nested at their calls.
    turn_tree          The tree of a session's turns as a flat list of rows, with the events of each turn.
"""
