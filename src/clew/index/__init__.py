"""Full-text search: a cache outside ~/.claude that can be deleted at any time.

Modules:
    assemble           Turn full-text matches into ranked sessions with their facts and snippets.
    base64_filter      Remove long base64 runs, which would fill the index with single-use words.
    byte_scan          Search transcripts for substrings and regular expressions by scanning their bytes.
    changed_files      Compare a shard with the transcripts on disk: which files are new or changed, which are
                       deleted.
    cross_passage      Find sessions that contain every word of a query, but not in one passage.
    fts_match          Find the passages that match a query, grouped by file, with the data needed to rank them.
    gone_sessions      Find sessions whose transcript is gone but which the archive or Claude Code's own lists still
                       know.
    index_schema       The SQLite schema of the index: two shards, each a separate index over some of the
                       transcripts.
    index_writer       Write the rows of a shard.
    known_sessions     Sessions in Claude Code's own lists: `sessions-index.json` of each project and the prompt
                       history.
    long_outputs       Index long tool outputs, which are stored in files next to the transcript.
    parallel_build     Read changed transcripts into the shards; large builds use one process per shard.
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
