"""The index: a cache of where every word is, outside the folder of Claude Code. It can be deleted at any time."""
