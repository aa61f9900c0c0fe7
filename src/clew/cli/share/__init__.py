"""Commands that convert sessions to and from other formats.

Modules:
    demo      `clew demo`: create a sample ~/.claude folder.
    export    `clew export`: write sessions as Markdown, HTML, JSON or JSON lines.
    import_   `clew import`: import conversations of other programs as sessions.
"""
