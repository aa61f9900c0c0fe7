"""Collecting: every line that Claude Code writes, kept in an archive of its own before the program deletes it."""
