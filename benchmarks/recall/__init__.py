"""A benchmark of known items: how often a search has the session on top that a person means.

    python -m benchmarks.recall [--peers none] [--misses] [--kind KIND] [--seed 1] [--keep DIR]

Modules:
    __main__   The command: write the tree, make the queries, ask every program, print the scores.
    english    Endings of English words, by rules of its own.
    lexicon    Topics, synonyms, sentences and forms of words, from the files of words.
    tree       Write the tree: generated sessions, the demo tree, real samples.
    reader     Read a tree with plain json; which sessions have which words in one passage.
    queries    Make queries of twelve kinds from target sessions.
    programs   Ask clew and its peers.
    score      Ranks, their means, and the table.
    word_lists The files of words beside this module.
"""
