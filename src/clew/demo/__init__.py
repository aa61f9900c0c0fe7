"""Synthetic sessions: a builder that reads like a conversation, and a demo tree to try everything on."""
