"""Play a session as an animation: HTML page or asciicast.

Modules:
    asciicast    Write frames as an asciicast (version 2: a header, then events), for asciinema and its players.
    frames       Convert a session to timed frames, and keep the state of playing them.
    player_page  Write frames as one HTML page with a script that plays them.
"""
