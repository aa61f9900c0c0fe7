"""Search by meaning: sentence vectors beside the index.

Modules:
    embed            Embedding: bring the vectors up to date with the index, newest sessions first.
    minilm           The embedding model: all-MiniLM-L6-v2, whose weights ship in a package of its own, read and run
                     with numpy alone.
    semantic_search  Searching by meaning: what was said in other words is found too.
    vectors          Vectors: what stretches of text mean, in numbers, in a file of its own beside the shards.
    wordpiece        Word pieces: text as the numbers that the embedding model reads, cut into stretches that it can
                     read at once.
"""
