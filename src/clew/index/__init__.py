"""Full-text search: a cache outside ~/.claude that can be deleted at any time.

Modules:
    assemble           Finding: from matches to sessions; for those that won, all that is told of them.
    base64_filter      Encoded text: long runs of base64, which nobody looks for and which would fill the index with
                       single-use words.
    byte_scan          Substrings and regular expressions: what words cannot find, by a scan over the bytes of the
                       transcripts.
    changed_files      The state of a shard against the transcripts: what is new, what is gone.
    cross_passage      Scattered words: sessions that hold every word of a query, though no single passage does.
    fts_match          Matching: the passages that hold a query, by file, with no more than it takes to rank them.
    gone_sessions      Sessions whose transcript is gone: those that Claude Code's own lists or the archive still
                       know and that match a query.
    index_schema       The schema: two shards, each a SQLite file that is an index of its own over a part of the
                       transcripts.
    index_writer       Writing: the rows of a shard.
    known_sessions     Sessions as Claude Code's own lists know them: `sessions-index.json` of each project, and the
                       history of prompts.
    long_outputs       Long outputs in the index: pieces of the result whose placeholder stands in the transcript.
    parallel_build     Building: the part of a refresh that reads transcripts.
    query_syntax       The query: what a person typed, as a value.
    ranking            Ranking: which session is meant, as one formula.
    refresh            Refreshing: bring a shard up to date with the transcripts.
    results            Results: what a refresh and a search answer.
    saved_searches     Recalls: what a search found, kept for later in a file that anybody can read.
    semantic/          Search by meaning: sentence vectors beside the index.
    session_facts      Learning: what the entries of a file say of its session, carried on as the file grows.
    session_index      Searching: the index as it is used.
    snippet            Passages: the place in a transcript where a match is, cut out of its line.
    spelling           Typing errors: when nothing is found, the words of the index that are nearest to those that
                       were asked for.
    sql_filters        Filters: the conditions of a query in SQL.
    surrounding_turns  Context: the turns around a place in a transcript.
    tokenizer          Text for the index: how words are cut, the same for what is stored and for what is asked.
    work_items         Todo lists, tasks and plans in the index: one row of `file` and one piece for each, beside
                       those of their session.
"""
