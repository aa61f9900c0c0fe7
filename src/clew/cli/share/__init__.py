"""Commands that convert sessions to and from other formats.

Modules:
    demo      `clew demo`: a made-up ~/.claude to try things on.
    export    `clew export`: sessions in another form, to read, to keep or to give away.
    import_   `clew import`: conversations of other programs as sessions that clew and Claude Code go on with.
"""
