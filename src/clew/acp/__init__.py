"""The door for editors: sessions over the Agent Client Protocol."""
