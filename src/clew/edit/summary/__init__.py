"""Shorten a session by summaries: compact and compress.

Modules:
    age_levels        Bands: how closely each turn is kept, by its distance from the end.
    compact_boundary  Boundaries: the lines that a compaction adds, and what of a session a resume would send.
    compact_session   Compaction: some turns summed up, as `/compact` does, but with a choice of turns.
    compress_session  Compression: the replies of older turns in fewer words; prompts stay word for word, recent
                      turns as they are.
    compress_turn     Slim turns: the replies of a turn as one text, without thinking, and its calls left out or
                      kept without their results.
    model_summariser  Asking a model: one small request for each piece, many at once.
    sentence_extract  Extracts: the telling sentences of a text, chosen without a model.
    summariser        Pieces: what is to be said in fewer words, and by whom.
"""
