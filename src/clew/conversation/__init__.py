"""The conversation model: entries linked to a graph, replies, calls, turns, branches, agents, resume requests.

Modules:
    active_path        Find the entries that a resume continues from, by the rules of each Claude Code version.
    agent_sessions     Find the sub-agents of a session and the call that started each of them.
    api_messages       Order, merge and repair message drafts so that the API accepts them.
    attachment_text    Render attachments that were stored without the text that the model received.
    branches           List the branches of a conversation: the alternatives that end with different prompts.
    cli_version        Describe how the versions of Claude Code differ in resuming a session.
    entry_graph        Link entries by their parents into a forest, and report what is wrong with the links.
    file_history       Track which files were saved at each message, and which saved state a rewind restores.
    literal_functions  Implement functions from early descriptions of the format literally, for tools written
                       against them.
    load               Doors: a session from a path, from an id, or every session that fits.
    locate             Places in a session, as people name them: `3` or `-1`, the end of a turn; `b2`, that of a
                       branch; a uuid, an entry.
    message_drafts     Drafts: the entries of a path as pieces with a role, without what must not be sent.
    parent_links       The chain: the entries that can be on a path, linked as one era links them.
    preserved_lines    Preserved lines: what a compaction keeps from before it, and how a resume links it.
    prompt_queue       The queue: messages that were typed, or came in, while the model was busy, and what became of
                       each.
    replies            Replies and calls: one API response merged from its lines, and each tool use with its result.
    resume_request     The request: the messages, in order, that a resume would send to the Messages API.
    rounds             Rounds: a session divided at the inputs of the user, in the order of the file.
    session            Sessions: one file, its agents and side files, as a lazy snapshot.
    session_listing    Outlines: what a list says of a session, from the two ends of its file.
    speaker            Who speaks in a user entry: a person, a tool, or the program itself.
    surroundings       Messages around a place in a session: a line of its file, or an entry by its uuid.
    titles             Titles: what to call a session, with the precedence that the official SDK uses.
    tool_references    References to tools in the results of a tool search: a resume sends those to tools that are
                       still on offer.
    turns              Turns: a person's prompt and all that came of it, along one path.
"""
