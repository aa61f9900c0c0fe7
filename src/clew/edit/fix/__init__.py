"""Repair a session: links, calls without results, the leaf.

Modules:
    calls           Repair calls without a result, results without a call, and repeated results.
    leaf            Repair both ends of a conversation: its first message, its leaf, missing times and invalid pins.
    links           Repair entries that lost their uuid or parent, share a uuid, or are their own ancestors.
    repair_session  Repair every flaw that hides prompts, or that some version cannot read, one after the other.
"""
