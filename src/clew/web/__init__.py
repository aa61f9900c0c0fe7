"""The browser on the web."""
