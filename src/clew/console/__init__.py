"""The console: a chat in the scrollback of a terminal."""
