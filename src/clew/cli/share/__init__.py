"""Commands that convert sessions to and from other formats.

Modules:
    demo             `clew demo`: create a sample ~/.claude folder.
    export           `clew export`: write sessions as Markdown, HTML, JSON or JSON lines, or for another program.
    export_document  One exported session: what stands above it, its parts in the chosen format, and the message
                     that it was written.
    export_many      Export several sessions to a folder: a file for each, and an index.
    export_to        `clew export --to PROGRAM`: write sessions where another program finds and continues them.
    import_          `clew import`: import conversations of other programs as sessions.
    import_claude    `clew import` of a transcript of Claude Code: put it, with the files next to it, where Claude
                     Code finds it.
    pack             `clew pack`: write sessions with all their files into one file, for another machine or another
                     person.
    received_output  Write sessions that arrive, and print what happened to each.
    unpack           `clew unpack`: put the sessions of a pack where Claude Code finds them.
"""
