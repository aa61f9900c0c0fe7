"""The client: a conversation with a model, kept in the same files."""
