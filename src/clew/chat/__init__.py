"""The chat client: `session_factory.open_session` assembles an `Engine`, which runs prompts and reports events.

Modules:
    agents/           Sub-agents and background tasks.
    assemble_session  Starting: from what was asked for to a session that can be spoken to.
    config/           What configures a chat: settings, memory files, skills, agents, models, the system prompt.
    cost              The tally: what the replies took, as the API reports it, with its price.
    deps              Means: what a conversation works with.
    engine            The engine: one session with all that belongs to it.
    events            Events: what the engine tells its doors, as it happens.
    hooks/            Hooks: commands of the user that run on events of a chat.
    input/            What the user types: slash commands, @file mentions, shell expansions.
    loop              The loop: a prompt, and all replies and calls that come of it, until the model has nothing
                      more to do.
    mcp/              Tools of MCP servers, external or inside an SDK program.
    permission/       Permissions: decide whether a tool call is allowed, asked for, or denied.
    replay/           Record conversations, play them back, and compare a second run with the first.
    rewind/           Rewind: restore files, the conversation, or both to the state before a prompt.
    sdk/              The protocol of the Claude Agent SDK, over stdin and stdout.
    session_factory   Composing: a session from what the person wishes, their settings, and what lies in the
                      project's folder.
    store/            The session file of a running chat: append, resume, fork, lock.
    tools/            The tools that a model can call, and what they share.
    turn/             One turn: stream the reply, run its tool calls, compact when the context window is full.
"""
