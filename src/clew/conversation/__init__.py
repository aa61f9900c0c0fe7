"""What was said: graph, replies, calls, turns, branches, agents."""
