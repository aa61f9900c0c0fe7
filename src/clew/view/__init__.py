"""What people look at: a session as a flat list of rows, and the printers of those rows."""
