"""Full-text search: a cache outside ~/.claude that can be deleted at any time.

Modules:
    assemble           Turn full-text matches into ranked sessions with their facts and snippets.
    base64_filter      Remove long base64 runs, which would fill the index with single-use words.
    byte_scan          Search transcripts for substrings and regular expressions by scanning their bytes.
    changed_files      Compare shards with the transcripts on disk: which files are new or changed, which are
                       deleted.
    changed_outputs    Find transcripts whose long outputs changed after they were indexed, so that they are read
                       again.
    collect_forms      Collect other forms of the words in some texts: without accents, and parts of identifiers in
                       camel case.
    cross_passage      Find sessions that contain every word of a query, but not in one passage.
    entry_text         Read the text of an indexed piece again from its transcript, fast enough for a search.
    facets             Count the sessions that match a query by project, model, tool, month and kind of passage.
    file_rows          Load and save the rows of `file`: how far a transcript was read, and what it says about its
                       session.
    fts_match          Find the passages that match a query, grouped by file, with the data needed to rank them.
    gone_sessions      Find sessions whose transcript is gone but which the archive or Claude Code's own lists still
                       know.
    graded_search      Search in grades: exact words first, then looser readings of the same query, ranked by one
                       formula.
    index_files        The open files of an index: what building, scanning and semantic search need of it.
    index_schema       The SQLite schema of the index: two shards, each a separate index over some of the
                       transcripts.
    index_writer       Read transcripts into a shard.
    indexed_sessions   Read what the index knows about sessions from the rows of `file`.
    long_outputs       Index long tool outputs, which are stored in files next to the transcript.
    loose_queries      Build looser readings of a query: its clauses get more alternatives, or fewer of them have to
                       match.
    metadata_search    Search the titles and prompts in Claude Code's own lists; sessions whose transcript is gone
                       are found there too.
    parallel_build     Read changed transcripts into the shards; large builds use one process per shard.
    piece_rows         Make rows of pieces from the entries of a transcript.
    piece_writer       Insert the rows of pieces into a shard, with ids in order of time: of two files, the newer
                       one has the higher ids.
    query_pieces       Split a search query into its parts: words, phrases, filters, operators and brackets.
    query_syntax       Parse a search query into terms, clauses and filters.
    ranking            Score passages and sessions with one formula.
    refresh            Update a shard with new, changed, moved and deleted transcripts.
    results            Result types of refreshing, embedding and searching.
    saved_searches     Save search results as recalls: JSON files that people and programs can read.
    semantic/          Search by meaning: sentence vectors beside the index.
    session_facts      Collect the facts of a session (titles, times, models, rounds) from its entries,
                       incrementally.
    session_index      The search index: open, refresh and query it.
    session_words      Find sessions by what describes them: project, branch, titles, tags, pull requests and id.
    snippet            Cut a snippet of one line around the matches in a text, and mark them.
    spelling           Correct typing errors: replace words that are not in the index by the most similar ones.
    sql_filters        Translate query filters into SQL conditions, so that a LIMIT counts only passages that pass
                       them.
    surrounding_turns  Find the turns around a position in a transcript.
    tokenizer          Split text into words, in the same way for indexing and for queries.
    word_forms         Generate other forms of a query word: other endings, and forms of the same identifier,
                       version or hash.
    work_items         Index todo lists, tasks and plans: one row of `file` and one piece for each.
"""
