"""Slash commands of the console, besides skills and `/compact`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from clew.chat.config.model_alias import resolve_alias, resolve_choice
from clew.chat.session_factory import ChatSession
from clew.console import info_commands
from clew.console.completion import NamedCommand
from clew.console.info_commands import CommandContext, CommandResult, ConsoleCommand, Leave, SessionRequest
from clew.console.menu import Menu, Option
from clew.conversation.load import read
from clew.conversation.session_listing import Outline
from clew.models import plan_model
from clew.system import shell_quoting
from clew.system.plural import plural
from clew.view.sanitize import format_age, one_line
from clew.wire.layout import Project, slugs

__all__ = [
    "COMMANDS",
    "IMMEDIATE",
    "CommandContext",
    "CommandResult",
    "ConsoleCommand",
    "Leave",
    "SessionRequest",
    "list_commands",
]

MODELS = (
    ("sonnet", "for most work"),
    ("opus", "for the hardest"),
    ("haiku", "quick and cheap"),
    ("opusplan", "opus in plan mode, else sonnet"),
)
MAX_SESSIONS = 200


# -- sessions


async def _clear(at: CommandContext) -> CommandResult:
    at.face.wipe()
    return at.reopen()


async def _resume(at: CommandContext) -> CommandResult:
    if at.arguments:
        return at.reopen(resume=at.arguments)
    outlines = await asyncio.to_thread(_list_sessions, at)
    if not outlines:
        at.say("There is no other session of this folder.")
        return None
    options = [Option(one_line(o.title) or o.id[:8], o.id, f"{format_age(o.when)} · {o.id[:8]}") for o in outlines]
    chosen = await at.face.choose(Menu("Go on with which session?", options, is_sought=True))
    if chosen is None:
        return None
    at.face.wipe()
    return at.reopen(resume=str(chosen.value))


def _list_sessions(at: CommandContext) -> list[Outline]:
    spec = at.spec
    current_id = at.session.engine.conversation.session_id
    folders = (Project(spec.claude / "projects" / name) for name in slugs(str(spec.cwd)))
    files = [f for folder in folders for f in folder.sessions() if not f.is_empty and f.id != current_id]
    newest = sorted(files, key=lambda f: -f.mtime_ns)[:MAX_SESSIONS]
    return [o for o in map(Outline, newest) if o.is_conversation and not o.is_sidechain]


async def _branch(at: CommandContext) -> CommandResult:
    conversation = at.session.engine.conversation
    if conversation.journal.leaf is None:
        at.say("Nothing was said yet that could branch off.")
        return None
    original = shell_quoting.clew_command("chat", "--resume", conversation.session_id)
    at.say(f"This goes on in a copy. The original stays: {original}")
    return at.reopen(resume=conversation.session_id, is_fork=True, title=at.arguments)


async def _rename(at: CommandContext) -> CommandResult:
    if at.arguments:
        at.session.engine.rename(at.arguments)
        at.say(f"The session is now called {at.arguments}.")
    else:
        at.say("Give a title: /rename TITLE")
    return None


async def _leave(at: CommandContext) -> CommandResult:
    return Leave()


async def _export(at: CommandContext) -> CommandResult:
    from clew.view.header import describe_session
    from clew.view.mask_rows import MaskCount, mask_rows
    from clew.view.row_markdown import markdown_document
    from clew.view.rows import ViewOptions, rows
    from clew.view.static_site import file_name
    from clew.wire.session_writer import create_exactly

    path = at.session.engine.conversation.journal.path
    if not path.exists():
        at.say("There is nothing to export yet.")
        return None
    session, masked = read(path), MaskCount()
    head = describe_session(session, masked)
    target = at.spec.cwd / (at.arguments or file_name(head, ".md"))
    masked_rows = mask_rows(rows(session, session.turns, ViewOptions(lines=None, diff_lines=None)), masked)
    create_exactly(target, (f"{piece}\n".encode() for piece in markdown_document(head, masked_rows)))
    at.say(f"Exported to {target}" + (f", {plural(masked.secrets, 'secret')} masked." if masked.secrets else "."))
    return None


async def _model(at: CommandContext) -> CommandResult:
    engine = at.session.engine
    model_name = at.arguments
    if not model_name:
        options = [Option(f"{name}  ({resolve_alias(name)})", name, about) for name, about in MODELS]
        options.append(Option("Another", "", takes="name it", opens=True, needs_text=True))
        chosen = await at.face.choose(Menu("Which model?", options, f"Now: {engine.conversation.model}"))
        if chosen is None:
            return None
        model_name = chosen.text or str(chosen.value)
    engine.use_model(resolve_choice(model_name))
    planned = plan_model(engine.conversation.choice)
    where = f" (in plan mode {planned}, else {resolve_alias(model_name)})" if planned else ""
    at.say(f"From now on {engine.conversation.model} is asked{where}.")
    return None


async def _help(at: CommandContext) -> CommandResult:
    at.tell("Keys", KEYS)
    commands = [(f"/{n.name} {n.hint}".strip(), n.about) for n in list_commands(at.session)]
    at.tell("Commands", commands)
    return None


KEYS = (
    ("enter", "send; while the model works, it waits in the queue"),
    ("alt+enter, shift+enter, \\ enter, ctrl+j", "a new line"),
    ("esc", "interrupt; twice on an empty prompt: go back to an earlier one"),
    ("shift+tab", "the next mode: ask, accept edits, plan"),
    ("ctrl+b", "put the running command aside"),
    ("ctrl+o", "show everything, or the beginnings of it"),
    ("up, down, ctrl+r", "what was typed before"),
    ("ctrl+g", "write it in your editor"),
    ("ctrl+c", "interrupt, or empty the prompt; twice: leave"),
    ("ctrl+d", "leave"),
    ("!command", "run it yourself; the model sees what it says"),
    ("@file", "name a file, which the model then reads"),
)
COMMANDS: Mapping[str, ConsoleCommand] = {
    "help": ConsoleCommand("keys and commands", _help),
    "clear": ConsoleCommand("begin a new session", _clear),
    "resume": ConsoleCommand("go on with an earlier session", _resume, "[id]"),
    "branch": ConsoleCommand("go on in a copy of this session", _branch, "[title]"),
    "rename": ConsoleCommand("give the session a title", _rename, "title"),
    "model": ConsoleCommand("ask another model", _model, "[name]"),
    "permissions": ConsoleCommand("what is allowed and refused", info_commands.permissions, "[allow rule]"),
    "cost": ConsoleCommand("what it took so far", info_commands.cost),
    "context": ConsoleCommand("what fills the model's window", info_commands.context),
    "todos": ConsoleCommand("what is to be done", info_commands.todos),
    "tasks": ConsoleCommand("what runs in the background, and how to stop it", info_commands.tasks),
    "export": ConsoleCommand("write the conversation as Markdown", _export, "[file]"),
    "memory": ConsoleCommand("the notes that the model is given", info_commands.memory),
    "agents": ConsoleCommand("the agents that can be sent", info_commands.agents),
    "hooks": ConsoleCommand("what runs at which event", info_commands.hooks),
    "mcp": ConsoleCommand("the MCP servers", info_commands.mcp),
    "status": ConsoleCommand("session, model, server, folder", info_commands.status),
    "exit": ConsoleCommand("leave", _leave),
}
_OTHER_COMMANDS = (
    NamedCommand("compact", "go on from a summary", "[what matters]"),
    NamedCommand("rewind", "go back to an earlier prompt: files, conversation or both"),
)
IMMEDIATE = frozenset(
    {
        "help",
        "cost",
        "context",
        "todos",
        "memory",
        "agents",
        "hooks",
        "mcp",
        "status",
        "permissions",
        "rename",
        "export",
    }
)


def list_commands(session: ChatSession | None) -> list[NamedCommand]:
    """Return all commands that can follow a slash."""
    local = [NamedCommand(name, command.about, command.hint) for name, command in COMMANDS.items()]
    skills = session.skills.values() if session else ()
    from_skills = [
        NamedCommand(s.name, one_line(s.description), s.hint) for s in skills if s.for_user and s.name not in COMMANDS
    ]
    return [*local, *_OTHER_COMMANDS, *from_skills]
