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
    follow             Follow a session while it is written: `clew.follow`.
    literal_functions  Implement functions from early descriptions of the format literally, for tools written
                       against them.
    load               Open sessions: from a path, by id, or all that match a project and a time range.
    locate             Find an entry by the name a user gives: turn `3` or `-1`, branch `b2`, or a uuid.
    message_drafts     Convert the entries of a path to drafts: blocks with a role, without what must not be sent.
    parent_links       Link the entries that can be on a path, as one version of Claude Code links them.
    preserved_lines    Relink the lines that a compaction preserved from before it, as a resume does.
    prompt_queue       Match prompts that were queued while the model was busy with the operations that removed
                       them.
    replies            Merge the lines of one API response into a reply, and pair each tool use with its result.
    resume_request     Build the messages that a resume would send to the Messages API.
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
