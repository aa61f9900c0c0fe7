"""Shorten a session by summaries: compact and compress.

Modules:
    age_levels        Parse bands: how much of each turn to keep, by its distance from the end.
    compact_boundary  Create the lines that a compaction adds, and find what a resume would send.
    compact_session   Replace turns by a summary, as `/compact` does, with a choice of turns.
    compress_session  Shorten the replies of older turns; prompts and recent turns stay unchanged.
    compress_turn     Merge the replies of a turn into one text, without thinking, and drop or shorten its calls.
    model_summariser  Summarise with a model: one small request for each task, many in parallel.
    sentence_extract  Extract the most informative sentences of a text without a model; the result is deterministic.
    summariser        Define summary tasks and the summariser interface, and summarise by extracts.
"""
