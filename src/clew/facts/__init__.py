"""What a conversation amounts to: usage, words, labels, secrets. Pure functions, no I/O."""
