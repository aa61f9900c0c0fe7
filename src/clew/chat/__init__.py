"""The chat client: `open_session` opens the session that a `SessionSpec` describes; its `Engine` runs prompts.

Modules:
    agents/            Subagents: their types, and running them for the Task tool.
    config/            Configuration of a chat: settings, permission modes, skills, models, names and the
                       repository.
    cost               Token usage and cost of a conversation, summed by model from what the API reports.
    deps               Dependencies of a conversation: client, tools, permissions, hooks and limits.
    engine             One chat session: it takes prompts, runs turns and reports events.
    events             Events that an engine reports while it runs, and requests that its front end must answer.
    hooks/             Hooks: the user's commands and callbacks that run on events of a chat.
    input/             Turn what the user types into prompts: slash commands, @file mentions and memory files.
    loop               Run one turn: a prompt and all replies and tool calls that follow, until the model is done.
    mcp/               Tools of MCP servers, external or inside an SDK program.
    open_conversation  Open the session file of a chat: create it, resume it or resume a copy of it.
    permission/        Permissions: decide whether a tool call is allowed, asked for, or denied.
    replay/            Record conversations, play them back, and compare a second run with the first.
    rewind/            Rewind: restore files, the conversation, or both to the state before a prompt.
    sdk/               The control protocol of the Claude Agent SDK over stdin and stdout.
    session_config     Load what settings and files of the user, the project and plugins say about a session.
    session_factory    Open a session from its description: read the configuration, start the servers, build the
                       engine.
    session_hooks      Give the hooks of a session what they need of it: a model and an agent to ask, and the tools
                       of its MCP servers.
    session_spec       The description of a session to open: everything that the user, an editor or an SDK asked
                       for.
    store/             The session file of a running chat: append, resume, fork, lock.
    tools/             The tools that a model can call, and what they share.
    turn/              One turn: stream the reply, run its tool calls, compact when the context window is full.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clew.chat.engine import Engine
    from clew.chat.session_factory import ChatSession, open_session
    from clew.chat.session_spec import SessionSpec

__all__ = ["ChatSession", "Engine", "SessionSpec", "open_session"]

_HOMES = {
    "ChatSession": "clew.chat.session_factory",
    "Engine": "clew.chat.engine",
    "SessionSpec": "clew.chat.session_spec",
    "open_session": "clew.chat.session_factory",
}


def __getattr__(name: str) -> object:
    """Import a name when it is first used: most users of this package need a part of it only."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
