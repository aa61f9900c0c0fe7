"""Play a session as an animation: HTML page or asciicast.

Modules:
    asciicast    Casts: frames as an asciicast, the form that asciinema and its players read (version 2: a header,
                 then events).
    frames       The player: a session as frames with their times, and the state of playing them.
    player_page  Pages that play: frames in one file that loads nothing, shown one after the other by a script of
                 the page's own.
"""
