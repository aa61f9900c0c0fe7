"""Usage as tables and pictures."""
