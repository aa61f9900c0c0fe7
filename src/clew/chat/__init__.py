"""The chat client: `session_factory.open_session` assembles an `Engine`, which runs prompts and reports events.

Modules:
    agents/           Subagents and background tasks.
    assemble_session  Starting: from what was asked for to a session that can be spoken to.
    config/           Configuration of a chat: settings, skills, models, names and the repository.
    cost              Token usage and cost of a conversation, summed by model from what the API reports.
    deps              Dependencies of a conversation: client, tools, permissions, hooks and limits.
    engine            One chat session: it takes prompts, runs turns and reports events.
    events            Events that an engine reports while it runs, and requests that its front end must answer.
    hooks/            Hooks: the user's commands and callbacks that run on events of a chat.
    input/            Turn what the user types into prompts: slash commands, @file mentions, memory, the system
                      prompt.
    loop              Run one turn: a prompt and all replies and tool calls that follow, until the model is done.
    mcp/              Tools of MCP servers, external or inside an SDK program.
    permission/       Permissions: decide whether a tool call is allowed, asked for, or denied.
    replay/           Record conversations, play them back, and compare a second run with the first.
    rewind/           Rewind: restore files, the conversation, or both to the state before a prompt.
    sdk/              The control protocol of the Claude Agent SDK over stdin and stdout.
    session_factory   Composing: a session from what the person wishes, their settings, and what lies in the
                      project's folder.
    store/            The session file of a running chat: append, resume, fork, lock.
    tools/            The tools that a model can call, and what they share.
    turn/             One turn: stream the reply, run its tool calls, compact when the context window is full.
"""
