"""Search by meaning: sentence vectors beside the index.

Modules:
    embed            Update the vectors with new and changed texts of the index, newest sessions first.
    minilm           Run the embedding model all-MiniLM-L6-v2 with numpy alone.
    semantic_search  Search by meaning: rank sessions by words and by vectors, and fuse the two rankings.
    vectors          Store the vectors of text stretches in a separate SQLite file next to the shards.
    word_table       Embed text with the word embeddings of the model alone, a thousand times faster than with the
                     model.
    wordpiece        Split text into BERT word pieces, grouped into stretches that fit the embedding model.
"""
