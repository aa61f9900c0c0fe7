"""Repair a session: links, calls without results, the leaf.

Modules:
    calls           Answers: calls without a result, results without a call, and results that came twice.
    leaf            Both ends of a conversation: where a resume begins and continues, times that are missing, pins
                    that name no entry.
    links           Relations: entries that lost their name or their parent, share a name, or are their own
                    ancestors.
    repair_session  Repair: every flaw that hides prompts, or that some version cannot read, mended one after the
                    other.
"""
