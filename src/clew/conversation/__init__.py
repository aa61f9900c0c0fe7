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
    follow_session     Follow a session while it is written: `clew.follow`.
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
    reply_blocks       Change the blocks of a reply as Claude Code does before it sends them back.
    reply_ids          Decide which lines belong to one reply: for clew, and as Claude Code groups them when it
                       resumes.
    resume_request     Build the messages that a resume would send to the Messages API.
    rounds             Divide a session into rounds at the inputs of the user, in file order.
    session            A session: one file, its agents and side files, as a lazy snapshot.
    session_growth     Extend a session whose file has grown, without building again what new lines cannot change.
    session_listing    Read what a list shows of a session from the two ends of its file.
    speaker            Tell who wrote a user entry: the user, a tool, or Claude Code itself.
    surroundings       Find the messages around a position in a session: a line number or a uuid.
    titles             Choose the title of a session, with the precedence of the official SDK.
    tool_references    Remove references to tools that are no longer available from the results of a tool search.
    turn_numbers       Turn ranges as users write them: `3`, `3-7`, `3-`, `-1`.
    turns              Divide a path into turns: a prompt of the user and everything that follows from it.
"""
