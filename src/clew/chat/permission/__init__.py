"""Permissions: what may be done without asking, what must be asked, and what is refused."""
