"""Slash commands that show information about the session."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from clew.chat.hooks.runner import Hooks
from clew.chat.input.memory_files import Memories
from clew.chat.session_factory import ChatSession
from clew.chat.session_spec import SessionSpec
from clew.chat.turn.context_usage import GRID_COLUMNS, measure_usage
from clew.chat.turn.cost_report import describe_cost
from clew.console.call_result import todo_rows
from clew.console.menu import Menu, Option
from clew.console.ui import ConsoleUi
from clew.system.environment import user_home
from clew.system.plural import plural
from clew.view.row_types import AboutRow, TableRow
from clew.view.sanitize import format_tokens, one_line, short_path


class Leave(Struct, frozen=True):
    """The user leaves the console."""


class SessionRequest(Struct, frozen=True):
    """Another session is opened."""

    spec: SessionSpec


class PromptRequest(Struct, frozen=True):
    """A prompt is sent to the model."""

    text: str


CommandResult = Leave | SessionRequest | PromptRequest | None


class CommandContext(Struct, frozen=True):
    """The session and the arguments of a slash command."""

    session: ChatSession
    ui: ConsoleUi
    spec: SessionSpec
    arguments: str

    def show_table(self, title: str, pairs: Sequence[tuple[object, object]]) -> None:
        self.ui.print_row(TableRow(title, pairs=tuple((str(name), str(value)) for name, value in pairs)))

    def show(self, text: str) -> None:
        self.ui.print_row(AboutRow(text))

    def reopen(self, **changed: object) -> SessionRequest:
        """Return the request to open another session with these options."""
        cleared = {"session_id": "", "resume": "", "is_latest": False, "is_fork": False, "at": "", "title": ""}
        mode = self.session.engine.conversation.mode
        return SessionRequest(replace(self.spec, **{**cleared, "mode": mode, **changed}))


class ConsoleCommand(Struct, frozen=True):
    about: str
    run: Callable[[CommandContext], Awaitable[CommandResult]]
    hint: str = ""


# -- status, cost and context


async def status(at: CommandContext) -> CommandResult:
    engine, spec = at.session.engine, at.spec
    conversation = engine.conversation
    pairs = [
        ("session", conversation.session_id),
        ("file", short_path(str(conversation.journal.path)) if spec.is_kept else "not kept"),
        ("folder", short_path(str(conversation.state.cwd))),
        ("model", conversation.model),
        ("server", at.spec.endpoint.base),
        ("mode", conversation.mode),
        ("trusted", "yes" if at.spec.is_trusted else "no (clew trust)"),
        ("tools", len(engine.deps.tools)),
        ("MCP servers", len(at.session.servers)),
        ("skills and commands", len(at.session.skills)),
    ]
    at.show_table("Status", pairs)
    return None


async def cost(at: CommandContext) -> CommandResult:
    pairs = describe_cost(at.session.engine.deps.cost)
    at.show_table("Cost since the console started", [*pairs[1:], pairs[0]])
    return None


SQUARES = {
    "system_prompt": "▣",
    "system_tools": "▤",
    "mcp_tools": "▥",
    "memory_files": "▦",
    "messages": "■",
    "free_space": "·",
    "autocompact_buffer": "▒",
}


async def context(at: CommandContext) -> CommandResult:
    """Show the context window as a picture: each square is half a percent of it."""
    engine = at.session.engine
    usage = measure_usage(engine.conversation, engine.deps)
    squares = "".join(SQUARES[share.id] for share in usage.grid())
    rows = [squares[start : start + GRID_COLUMNS] for start in range(0, len(squares), GRID_COLUMNS)]
    size = f"{format_tokens(usage.total)} of {format_tokens(usage.window)} tokens ({usage.percentage}%)"
    shares = [(f"{SQUARES[share.id]} {share.name}", share.tokens) for share in usage.shares]
    facts = [f"{name}: {format_tokens(tokens)} ({tokens / usage.window:.1%})" for name, tokens in shares]
    legend = [f"{engine.conversation.model}: {size}", "", *facts]
    legend += [""] * (len(rows) - len(legend))
    at.show_table("Context", list(zip(rows, legend, strict=False)))
    return None


async def todos(at: CommandContext) -> CommandResult:
    todos = at.session.engine.conversation.state.todos
    if not todos:
        at.show("There are no todos.")
    for row in todo_rows(todos):
        at.ui.print_row(row)
    return None


TASK_KINDS = {"local_bash": "command", "local_agent": "agent"}


async def tasks(at: CommandContext) -> CommandResult:
    engine = at.session.engine
    running = [task for task in engine.tasks.values() if task.status == "running"]
    if not running:
        at.show("There are no background tasks.")
        return None
    options = [
        Option(f"Stop {one_line(task.description, 80)}", task.id, TASK_KINDS.get(task.kind, "")) for task in running
    ]
    chosen = await at.ui.choose(Menu("Background tasks", options))
    if chosen is not None:
        await engine.stop_task(str(chosen.value))
    return None


async def permissions(at: CommandContext) -> CommandResult:
    word, _, rule = at.arguments.partition(" ")
    if word == "allow" and rule.strip():
        at.session.permissions.remember(rule.strip(), "local" if at.spec.is_trusted else "session")
        where = "project" if at.spec.is_trusted else "session; trust the folder to keep it"
        at.show(f"Allowed in this {where}: {rule.strip()}")
        return None
    pairs = [(f"{rule.kind} ({rule.scope})", rule.text) for rule in at.session.permissions.rules]
    at.show_table("Permissions", pairs or [("no rules", "add one: /permissions allow 'Bash(git log:*)'")])
    return None


async def memory(at: CommandContext) -> CommandResult:
    spec = at.spec
    memories = Memories(spec.cwd, spec.claude, Path(user_home()), spec.is_trusted, spec.sources).first()
    pairs = [(f"{m.scope}", f"{short_path(str(m.path))} ({format_tokens(len(m.text) // 4)} tokens)") for m in memories]
    at.show_table("Memory", pairs or [("none", "write CLAUDE.md, or let the model do it: /init")])
    return None


async def agents(at: CommandContext) -> CommandResult:
    at.show_table("Agents", [(kind.name, kind.description) for kind in at.session.kinds.values()])
    return None


async def hooks(at: CommandContext) -> CommandResult:
    hooks = at.session.engine.deps.hooks
    configured = hooks.hooks if isinstance(hooks, Hooks) else ()
    pairs = [(f"{hook.event} {hook.matcher}".strip(), hook.name) for hook in configured]
    at.show_table("Hooks", pairs or [("none", "configure them in settings.json")])
    return None


async def mcp(at: CommandContext) -> CommandResult:
    pairs = [
        (s.name, f"failed: {s.error}" if s.state == "failed" else f"{s.state}, {plural(len(s.tools), 'tool')}")
        for s in at.session.servers
    ]
    at.show_table("MCP servers", pairs or [("none", "add them to .mcp.json, or use --mcp-config")])
    return None
