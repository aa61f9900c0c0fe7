"""Commands that inform: what the session is, takes, and works with."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from clew.chat.hooks.runner import Hooks
from clew.chat.input.memory_files import Memories
from clew.chat.session_factory import ChatSession
from clew.chat.session_spec import SessionSpec
from clew.console.call_result import todo_rows
from clew.console.menu import Menu, Option
from clew.console.ui import Face
from clew.conversation.load import read
from clew.system.environment import user_home
from clew.system.plural import plural
from clew.view.row_types import AboutRow, TableRow
from clew.view.sanitize import format_tokens, one_line


@dataclass(frozen=True, slots=True)
class Leave:
    """The person has had enough."""


@dataclass(frozen=True, slots=True)
class Open:
    """Another session is wanted."""

    spec: SessionSpec


Done = Leave | Open | None


@dataclass(frozen=True, slots=True)
class At:
    """Where a command is run, and with what."""

    session: ChatSession
    face: Face
    spec: SessionSpec
    arguments: str

    def tell(self, title: str, pairs: Sequence[tuple[object, object]]) -> None:
        self.face.put(TableRow(title, pairs=tuple((str(name), str(value)) for name, value in pairs)))

    def say(self, text: str) -> None:
        self.face.put(AboutRow(text))

    def reopen(self, **changed: object) -> Open:
        plain = {"session_id": "", "resume": "", "is_latest": False, "is_fork": False, "at": "", "title": ""}
        mode = self.session.engine.conversation.mode
        return Open(replace(self.spec, **{**plain, "mode": mode, **changed}))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class ConsoleCommand:
    about: str
    run: Callable[[At], Awaitable[Done]]
    hint: str = ""


# -- what it is and takes


async def status(at: At) -> Done:
    engine, spec = at.session.engine, at.spec
    dialogue = engine.conversation
    pairs = [
        ("session", dialogue.session_id),
        ("file", dialogue.journal.path if spec.is_kept else "not kept"),
        ("folder", dialogue.state.cwd),
        ("model", dialogue.model),
        ("server", at.spec.endpoint.base),
        ("mode", dialogue.mode),
        ("trusted", "yes" if at.spec.is_trusted else "no (clew trust)"),
        ("tools", len(engine.deps.tools)),
        ("MCP servers", len(at.session.servers)),
        ("skills and commands", len(at.session.skills)),
    ]
    at.tell("Status", pairs)
    return None


async def cost(at: At) -> Done:
    tally = at.session.engine.deps.cost
    pairs: list[tuple[object, object]] = []
    for model, spent in tally.by_model.items():
        counts = [("in", "inputTokens"), ("out", "outputTokens"), ("cached", "cacheReadInputTokens")]
        counts.append(("to the cache", "cacheCreationInputTokens"))
        told = ", ".join(f"{format_tokens(spent[name])} {word}" for word, name in counts if spent[name])
        pairs.append((model, f"${spent['costUSD']:.4f}  {told}"))
    pairs.append(("in all", f"${tally.dollars:.4f}" + ("" if tally.is_priced else ", without what has no price")))
    at.tell("Cost since this console began", pairs)
    return None


async def context(at: At) -> Done:
    from clew.facts.context_size import UNSENT
    from clew.facts.context_size import measure_context as weighed

    dialogue, window = at.session.engine.conversation, at.session.engine.window
    pairs: list[tuple[object, object]] = [
        ("in all", f"{format_tokens(dialogue.size)} of {format_tokens(window)} tokens ({dialogue.size / window:.0%})")
    ]
    if dialogue.journal.path.exists():
        found = await asyncio.to_thread(lambda: weighed(read(dialogue.journal.path)))
        pairs.append(("instructions and tools", format_tokens(found.scale.base)))
        pairs += [(name, format_tokens(s.tokens)) for name, s in found.shares.items() if s.tokens and name != UNSENT]
    at.tell("Context", pairs)
    return None


async def todos(at: At) -> Done:
    todos = at.session.engine.conversation.state.todos
    if not todos:
        at.say("There are no todos.")
    for row in todo_rows(todos):
        at.face.put(row)
    return None


async def tasks(at: At) -> Done:
    engine = at.session.engine
    running = [task for task in engine.tasks.values() if task.status == "running"]
    if not running:
        at.say("Nothing runs in the background.")
        return None
    options = [Option(f"Stop {one_line(task.description, 80)}", task.id, task.kind) for task in running]
    chosen = await at.face.choose(Menu("This runs in the background.", options))
    if chosen is not None:
        await engine.stop_task(str(chosen.value))
    return None


async def permissions(at: At) -> Done:
    word, _, rule = at.arguments.partition(" ")
    if word == "allow" and rule.strip():
        at.session.permissions.remember(rule.strip(), "local")
        at.say(f"From now on allowed in this project: {rule.strip()}")
        return None
    pairs = [(f"{rule.kind} ({rule.scope})", rule.text) for rule in at.session.permissions.rules]
    at.tell("Permissions", pairs or [("no rules", "add one: /permissions allow 'Bash(git log:*)'")])
    return None


async def memory(at: At) -> Done:
    spec = at.spec
    found = Memories(spec.cwd, spec.claude, Path(user_home()), spec.is_trusted, spec.sources).first()
    pairs = [(f"{m.scope}", f"{m.path} ({format_tokens(len(m.text) // 4)} tokens)") for m in found]
    at.tell("Memory", pairs or [("none", f"write {spec.cwd / 'CLAUDE.md'}")])
    return None


async def agents(at: At) -> Done:
    at.tell("Agents", [(kind.name, kind.description) for kind in at.session.kinds.values()])
    return None


async def hooks(at: At) -> Done:
    hooks = at.session.engine.deps.hooks
    found = hooks.hooks if isinstance(hooks, Hooks) else ()
    pairs = [(f"{hook.event} {hook.matcher}".strip(), hook.name) for hook in found]
    at.tell("Hooks", pairs or [("none", "they are set in settings.json")])
    return None


async def mcp(at: At) -> Done:
    pairs = [
        (s.name, s.error if s.state == "failed" else f"{s.state}, {plural(len(s.tools), 'tool')}")
        for s in at.session.servers
    ]
    at.tell("MCP servers", pairs or [("none", "name them in .mcp.json, or by --mcp-config")])
    return None
