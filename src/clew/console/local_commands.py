"""Slash commands of the console, besides skills and `/compact`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from clew.api.reasoning import AUTO_EFFORT
from clew.chat.config.model_alias import resolve_alias, resolve_choice
from clew.chat.config.reasoning_settings import save_effort
from clew.chat.session_factory import ChatSession
from clew.chat.turn.model_switch import ModelSwitchBlocked
from clew.console import info_commands, setup_commands
from clew.console.info_commands import (
    CommandContext,
    CommandResult,
    ConsoleCommand,
    Leave,
    PromptRequest,
    SessionRequest,
)
from clew.console.menu import NO_SELECTION, Menu, Option
from clew.console.prompt_completion import NamedCommand
from clew.conversation.load import read
from clew.conversation.session_listing import Outline
from clew.facts.prices import MICRO
from clew.models import model_of, plan_model
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
    "PromptRequest",
    "SessionRequest",
    "list_commands",
]

MODELS = (
    ("sonnet", "for most work"),
    ("opus", "for hard work"),
    ("fable", "for the hardest work"),
    ("haiku", "quick and cheap"),
    ("opusplan", "plans with opus"),
)
NOW = " (now)"  # after the option that is in use
EFFORT_LEVELS = (
    ("low", "short and fast"),
    ("medium", "balanced"),
    ("high", "thorough"),
    ("xhigh", "more thorough; some models take high instead"),
    ("max", "the most that the model can do; for this session only"),
    (AUTO_EFFORT, "the default of the model"),
)
MAX_SESSIONS = 200


# -- sessions


async def _clear(at: CommandContext) -> CommandResult:
    at.ui.clear_screen()
    return at.reopen()


async def _resume(at: CommandContext) -> CommandResult:
    if at.arguments:
        return at.reopen(resume=at.arguments)
    outlines = await asyncio.to_thread(_list_sessions, at)
    if not outlines:
        at.show("There is no other session of this folder.")
        return None
    options = [Option(one_line(o.title) or o.id[:8], o.id, _describe_session(o)) for o in outlines]
    chosen = await at.ui.choose(Menu("Resume which session?", options, is_sought=True))
    if chosen is None:
        return None
    at.ui.clear_screen()
    return at.reopen(resume=str(chosen.value))


def _describe_session(outline: Outline) -> str:
    """Return the age, the branch and the id of a session."""
    facts = (format_age(outline.when), one_line(outline.branch_name or "", 30), outline.id[:8])
    return " · ".join(fact for fact in facts if fact)


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
        at.show("There is nothing to branch from yet: the session has no prompts.")
        return None
    original = shell_quoting.clew_command("chat", "--resume", conversation.session_id)
    at.show(f"You continue in a copy. Resume the original with: {original}")
    return at.reopen(resume=conversation.session_id, is_fork=True, title=at.arguments)


async def _rename(at: CommandContext) -> CommandResult:
    if at.arguments:
        at.session.engine.rename(at.arguments)
        at.show(f"The session is now called {at.arguments}.")
    else:
        at.show("Give a title: /rename TITLE")
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
        at.show("There is nothing to export yet.")
        return None
    session, masked = read(path), MaskCount()
    head = describe_session(session, masked)
    target = at.spec.cwd / (at.arguments or file_name(head, ".md"))
    masked_rows = mask_rows(rows(session, session.turns, ViewOptions(lines=None, diff_lines=None)), masked)
    create_exactly(target, (f"{piece}\n".encode() for piece in markdown_document(head, masked_rows)))
    at.show(f"Exported to {target}" + (f", {plural(masked.secrets, 'secret')} masked." if masked.secrets else "."))
    return None


async def _model(at: CommandContext) -> CommandResult:
    engine = at.session.engine
    model_name = at.arguments
    if not model_name:
        choice = engine.conversation.choice
        current = next(
            (index for index, (name, _) in enumerate(MODELS) if resolve_choice(name) == choice), NO_SELECTION
        )
        now = f"Now: {engine.conversation.model}. " if current == NO_SELECTION else ""
        options = [
            Option(f"{name}{NOW if index == current else ''}", name, _describe_model(at, name, about))
            for index, (name, about) in enumerate(MODELS)
        ]
        options.append(Option("Another", "", takes="name it", opens=True, needs_text=True))
        chosen = await at.ui.choose(Menu("Which model?", options, f"{now}Prices are for a million tokens.", at=current))
        if chosen is None:
            return None
        model_name = chosen.text or str(chosen.value)
    choice = resolve_choice(model_name)
    is_named = bool(at.arguments)

    async def confirm(reason: str) -> bool:
        options = [Option("Keep the model", False), Option(f"Use {model_name}", True)]
        chosen = await at.ui.choose(Menu("A hook asks whether to change the model.", options, reason))
        return chosen is not None and chosen.value is True

    try:
        await engine.use_model(choice, model_name, "command" if is_named else "picker", confirm)
    except ModelSwitchBlocked as blocked:
        at.show(str(blocked))
        return None
    planned = plan_model(engine.conversation.choice)
    where = f" (in plan mode {planned}, else {resolve_alias(model_name)})" if planned else ""
    at.show(f"The model is now {engine.conversation.model}{where}.")
    return None


def _describe_model(at: CommandContext, name: str, about: str) -> str:
    """Return the full name of a model, what it is for, and its price if that is known."""
    model = resolve_alias(name)
    rate = at.session.engine.deps.cost.prices.rate(model)
    price = f" · ${rate.input / MICRO:g} in, ${rate.output / MICRO:g} out" if rate else ""
    return f"{model.removeprefix('claude-')} · {about}{price}"


async def _effort(at: CommandContext) -> CommandResult:
    """Choose the effort of the model. As in Claude Code it is saved for the model, except `max`."""
    engine = at.session.engine
    model = engine.conversation.model
    if not model_of(model).effort:
        at.show(f"{model} has no levels of effort.")
        return None
    level = at.arguments.lower()
    if not level:
        now = engine.conversation.reasoning.effort_for(model) or "decided by the server"
        current = next((index for index, (name, _) in enumerate(EFFORT_LEVELS) if name == now), NO_SELECTION)
        options = [
            Option(f"{name}{NOW if index == current else ''}", name, about)
            for index, (name, about) in enumerate(EFFORT_LEVELS)
        ]
        chosen = await at.ui.choose(Menu(f"Which effort for {model}?", options, f"Now: {now}", at=current))
        level = str(chosen.value) if chosen else ""
    if level not in dict(EFFORT_LEVELS):
        if level:
            at.show(f"{level!r} is no effort. Write one of: {', '.join(dict(EFFORT_LEVELS))}")
        return None
    saved = "" if level == AUTO_EFFORT else level
    where = "in this session"
    if level == "max":
        engine.use_effort(level)
    else:
        engine.use_saved_effort(model, saved)
        where = f"saved in {save_effort(at.spec.claude, model_of(model).name or model, saved)}"
    at.show(f"The effort of {model} is now {engine.conversation.reasoning.effort_for(model)} ({where}).")
    return None


async def _help(at: CommandContext) -> CommandResult:
    at.show_table("Keys", KEYS)
    commands = [(f"/{n.name} {n.hint}".strip(), n.about) for n in list_commands(at.session)]
    at.show_table("Commands", commands)
    return None


KEYS = (
    ("enter", "send; while the model works, it waits in the queue"),
    ("alt+enter, shift+enter, \\ enter, ctrl+j", "a new line"),
    ("esc", "interrupt; twice on an empty prompt: go back to an earlier one"),
    ("shift+tab", "the next mode: ask, accept edits, plan"),
    ("ctrl+b", "send the running command to the background"),
    ("ctrl+o", "switch between full and shortened output"),
    ("up, down, ctrl+r", "earlier prompts"),
    ("ctrl+g", "edit the prompt in your editor"),
    ("ctrl+c", "interrupt, or empty the prompt; twice: leave"),
    ("ctrl+d", "leave"),
    ("!command", "run a shell command; the model sees its output"),
    ("@file", "include a file in the prompt"),
)
COMMANDS: Mapping[str, ConsoleCommand] = {
    "help": ConsoleCommand("keys and commands", _help),
    "clear": ConsoleCommand("start a new session", _clear),
    "resume": ConsoleCommand("resume an earlier session", _resume, "[id]"),
    "branch": ConsoleCommand("continue in a copy of this session", _branch, "[title]"),
    "rename": ConsoleCommand("give the session a title", _rename, "title"),
    "model": ConsoleCommand("choose the model", _model, "[name]"),
    "effort": ConsoleCommand("choose how hard the model tries", _effort, "[level]"),
    "permissions": ConsoleCommand("permission rules", info_commands.permissions, "[allow rule]"),
    "cost": ConsoleCommand("cost so far", info_commands.cost),
    "context": ConsoleCommand("usage of the context window", info_commands.context),
    "todos": ConsoleCommand("the todo list", info_commands.todos),
    "tasks": ConsoleCommand("list and stop background tasks", info_commands.tasks),
    "export": ConsoleCommand("export the conversation as Markdown", _export, "[file]"),
    "memory": ConsoleCommand("memory files sent to the model", info_commands.memory),
    "agents": ConsoleCommand("available agents", info_commands.agents),
    "hooks": ConsoleCommand("configured hooks", info_commands.hooks),
    "mcp": ConsoleCommand("the MCP servers", info_commands.mcp),
    "status": ConsoleCommand("session, model, server, folder", info_commands.status),
    "init": ConsoleCommand("let the model describe the project in CLAUDE.md", setup_commands.init, "[what matters]"),
    "add-dir": ConsoleCommand("let the model use another folder", setup_commands.add_folder, "folder"),
    "config": ConsoleCommand("the settings that count, and where they are set", setup_commands.config),
    "copy": ConsoleCommand("copy the last reply", setup_commands.copy),
    "doctor": ConsoleCommand("check what the session needs", setup_commands.doctor),
    "exit": ConsoleCommand("leave", _leave),
}
_OTHER_COMMANDS = (
    NamedCommand("compact", "replace the conversation by a summary", "[what matters]"),
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
        "model",
        "effort",
        "tasks",
        "add-dir",
        "config",
        "copy",
        "doctor",
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
