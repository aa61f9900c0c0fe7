"""Reshaping: a plan over a session, written as a new one beside it."""
