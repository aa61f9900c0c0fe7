"""Pure functions over a conversation: usage, prices, searchable text, labels, secrets, health. No input or output.

Modules:
    blank_text       Blank texts: messages of nothing but white space, which a resume sends and the API refuses.
    context_size     The context: how much of the model's window a session takes, and what takes it.
    file_changes     Changes: what the calls of a conversation made of each file, as far as their records tell.
    format_drift     Drift: names in the files that no version of the format was seen to use.
    health           Health: what is damaged in a session, what is odd, and how much of it each version of Claude
                     Code would bring back.
    prices           Prices: what tokens cost, from a dated table.
    required_fields  Required fields: what a line of each type must hold, and which lines lack something.
    searchable_text  Words: the one answer to what of an entry can be searched and shown, and as which field.
    secrets/         Find and mask secrets.
    token_usage      Usage: the tokens that replies took, counted once however often they are written down.
    tool_catalog     Tools: what each is asked, how to name a call in a line, and how to read its record.
    unified_diff     Unified diffs in bounded time: difflib's, or the changed part as one block where that would
                     take long.
"""
