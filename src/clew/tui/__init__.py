"""The browser in the terminal: a thin layer over the index, the view and the conversation."""
