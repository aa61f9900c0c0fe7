"""Pure functions over a conversation: usage, prices, searchable text, labels, secrets, health. No input or output.

Modules:
    blank_text        Find messages of white space only, which a resume sends and the API rejects.
    bounded_matcher   Compare texts line by line like difflib, but give up where that would take long.
    context_size      Estimate how much of the context window a session uses, and by what.
    file_changes      Derive what the calls of a conversation changed in each file, from their records.
    format_drift      Find names in session files that no known version of the format uses.
    health            Report damage and oddities of a session, and how much of it each Claude Code version would
                      restore.
    inventory         Count the content of a session file: lines, types, versions, blocks, calls and prompts.
    line_origins      Trace each line of a file back to the recorded change that wrote it.
    prices            Price tokens from a dated table.
    removed_thinking  Find replies whose usage counts thinking that is no longer in the file.
    required_fields   Check which lines lack fields that their type requires.
    searchable_text   Extract the searchable text of an entry: the only definition of what can be searched and
                      shown.
    secrets/          Find and mask secrets.
    token_usage       Count the tokens of replies, each reply once even if several lines or files repeat it.
    tool_catalog      Describe the tools: their inputs, how to label a call on one line, and how to read its record.
    unified_diff      Compute unified diffs in bounded time: with difflib, or as one changed block if that would
                      take long.
"""
