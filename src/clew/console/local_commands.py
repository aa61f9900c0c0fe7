"""Commands: what a slash at the prompt can do beyond prompts, skills and `/compact`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from clew.chat.config.model_alias import resolve_alias, resolve_choice
from clew.chat.session_factory import ChatSession
from clew.console import info_commands
from clew.console.completion import NamedCommand
from clew.console.info_commands import At, ConsoleCommand, Done, Leave, Open
from clew.console.menu import Menu, Option
from clew.conversation.load import read
from clew.conversation.session_listing import Outline
from clew.models import plan_model
from clew.system import shell_quoting
from clew.system.plural import plural
from clew.view.sanitize import format_age, one_line
from clew.wire.layout import Project, slugs

__all__ = ["AT_ONCE", "COMMANDS", "At", "ConsoleCommand", "Done", "Leave", "Open", "known"]

MODELS = (
    ("sonnet", "for most work"),
    ("opus", "for the hardest"),
    ("haiku", "quick and cheap"),
    ("opusplan", "opus in plan mode, else sonnet"),
)
MOST_SESSIONS = 200


# -- sessions


async def _clear(at: At) -> Done:
    at.face.wipe()
    return at.reopen()


async def _resume(at: At) -> Done:
    if at.arguments:
        return at.reopen(resume=at.arguments)
    outlines = await asyncio.to_thread(_sessions, at)
    if not outlines:
        at.say("There is no other session of this folder.")
        return None
    options = [Option(one_line(o.title) or o.id[:8], o.id, f"{format_age(o.when)} · {o.id[:8]}") for o in outlines]
    chosen = await at.face.choose(Menu("Go on with which session?", options, is_sought=True))
    if chosen is None:
        return None
    at.face.wipe()
    return at.reopen(resume=str(chosen.value))


def _sessions(at: At) -> list[Outline]:
    spec = at.spec
    own = at.session.engine.conversation.session_id
    folders = (Project(spec.claude / "projects" / name) for name in slugs(str(spec.cwd)))
    files = [f for folder in folders for f in folder.sessions() if not f.is_empty and f.id != own]
    newest = sorted(files, key=lambda f: -f.mtime_ns)[:MOST_SESSIONS]
    return [o for o in map(Outline, newest) if o.is_conversation and not o.is_sidechain]


async def _branch(at: At) -> Done:
    dialogue = at.session.engine.conversation
    if dialogue.journal.leaf is None:
        at.say("Nothing was said yet that could branch off.")
        return None
    at.say(
        f"This goes on in a copy. The original stays: {shell_quoting.clew_command('chat', '--resume', dialogue.session_id)}"
    )
    return at.reopen(resume=dialogue.session_id, is_fork=True, title=at.arguments)


async def _rename(at: At) -> Done:
    if at.arguments:
        at.session.engine.rename(at.arguments)
        at.say(f"The session is now called {at.arguments}.")
    else:
        at.say("Give a title: /rename TITLE")
    return None


async def _leave(at: At) -> Done:
    return Leave()


async def _export(at: At) -> Done:
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
    session, tally = read(path), MaskCount()
    head = describe_session(session, tally)
    target = at.spec.cwd / (at.arguments or file_name(head, ".md"))
    shown = mask_rows(rows(session, session.turns, ViewOptions(lines=None, diff_lines=None)), tally)
    create_exactly(target, (f"{piece}\n".encode() for piece in markdown_document(head, shown)))
    at.say(f"Exported to {target}" + (f", {plural(tally.secrets, 'secret')} masked." if tally.secrets else "."))
    return None


async def _model(at: At) -> Done:
    engine = at.session.engine
    wanted = at.arguments
    if not wanted:
        options = [Option(f"{name}  ({resolve_alias(name)})", name, about) for name, about in MODELS]
        options.append(Option("Another", "", takes="name it", opens=True, needs_text=True))
        chosen = await at.face.choose(Menu("Which model?", options, f"Now: {engine.conversation.model}"))
        if chosen is None:
            return None
        wanted = chosen.text or str(chosen.value)
    engine.use_model(resolve_choice(wanted))
    planned = plan_model(engine.conversation.choice)
    where = f" (in plan mode {planned}, else {resolve_alias(wanted)})" if planned else ""
    at.say(f"From now on {engine.conversation.model} is asked{where}.")
    return None


async def _help(at: At) -> Done:
    at.tell("Keys", KEYS)
    named_ones = [(f"/{n.name} {n.hint}".strip(), n.about) for n in known(at.session)]
    at.tell("Commands", named_ones)
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
_ELSEWHERE = (
    NamedCommand("compact", "go on from a summary", "[what matters]"),
    NamedCommand("rewind", "go back to an earlier prompt: files, conversation or both"),
)
AT_ONCE = frozenset(
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


def known(session: ChatSession | None) -> list[NamedCommand]:
    """All that can stand behind a slash."""
    made = [NamedCommand(name, each.about, each.hint) for name, each in COMMANDS.items()]
    skills = session.skills.values() if session else ()
    own = [
        NamedCommand(s.name, one_line(s.description), s.hint) for s in skills if s.for_user and s.name not in COMMANDS
    ]
    return [*made, *_ELSEWHERE, *own]
