"""Starting: from what was asked for to a session that can be spoken to."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from clew.api.client import Client
from clew.chat.config.agent_kind import Kind
from clew.chat.config.model_alias import choose, named
from clew.chat.config.repository import branch_of
from clew.chat.config.session_name import name_of
from clew.chat.config.system_prompt import facts, system
from clew.chat.cost import ConversationCost
from clew.chat.deps import ConversationLimits, Deps, HookRunner, Permits
from clew.chat.engine import Engine
from clew.chat.events import Tell
from clew.chat.permission.decision import Mode
from clew.chat.rewind.watch_files import FileWatch
from clew.chat.store.file_snapshots import Backups
from clew.chat.store.journal import Clock, Durability, Ids, Journal, Write, forget, new_id, now, put
from clew.chat.store.journal_lines import Envelope
from clew.chat.store.live_conversation import LiveConversation, UserPrompt
from clew.chat.store.session_lock import held
from clew.chat.tools.builtin.use_skill import Skills
from clew.chat.tools.shell_profile import ShellProfile
from clew.chat.tools.tool import Tool, ToolState
from clew.errors import Refused
from clew.wire.json_codec import Json
from clew.wire.layout import Tree, slug

if TYPE_CHECKING:
    from clew.chat.store.resume_session import Resumed

SMALLEST_BUDGET = 1024  # tokens of thinking


@dataclass(frozen=True, kw_only=True)
class SessionOptions:
    """What a session is to be."""

    cwd: Path
    claude: Path  # the folder of Claude Code
    session_id: str = ""
    resume: str = ""  # an id, the beginning of one, a path, or a title
    is_latest: bool = False  # go on with the newest session of the folder
    is_fork: bool = False  # in a copy
    at: str = ""  # of the session only up to this entry or turn
    model: str = ""
    usual_model: str = ""  # from the settings: for a session that has no model yet
    fallback: str = ""
    small_model: str = ""
    mode: Mode | None = None
    roots: tuple[Path, ...] = ()  # further folders that count as the project's own
    system: str | None = None
    added_system: str = ""
    memory: str = ""  # notes of the person and of the project
    title: str = ""
    limits: ConversationLimits = field(default_factory=ConversationLimits)
    thinking: int = 0  # tokens
    entrypoint: str = "cli"
    is_kept: bool = True
    can_ask: bool = False
    durability: Durability = "line"
    saves_files: bool = True  # before they are changed, so that a change can be taken back
    is_watched: bool = False  # whether what commands change is saved too


@dataclass(frozen=True)
class Parts:
    """What a session is made of that has a life of its own."""

    client: Client
    tools: Sequence[Tool]
    permits: Permits
    hooks: HookRunner
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    skills: Skills | None = None
    profile: ShellProfile | None = None
    clock: Clock = now
    ids: Ids = new_id
    write: Write = put
    is_trusted: bool = False  # whether the person trusts the project
    nearby: Callable[[Path], str] = lambda path: ""  # what the model is told besides, when it reads a file


@asynccontextmanager
async def opened(options: SessionOptions, parts: Parts, tell: Tell) -> AsyncIterator[Engine]:
    """A session, new or gone on with. It is ours alone until this ends. Raises NotFound, Ambiguous, Busy, Refused."""
    tree = Tree(options.claude)
    async with AsyncExitStack() as stack:
        path, found = _session(options, tree, parts.ids, stack)
        engine = _engine(options, parts, tell, path, found)
        if options.title:
            engine.rename(options.title)
        try:
            yield engine
        finally:
            await engine.close()


def _session(options: SessionOptions, tree: Tree, ids: Ids, stack: AsyncExitStack) -> tuple[Path, Resumed | None]:
    """The file, locked, and what it gives if it is there already."""
    is_old = bool(options.resume) or options.is_latest
    path = _old(options, tree, ids) if is_old else _new(options, tree, ids)
    if options.is_kept:
        stack.enter_context(held(path))
    if not is_old:
        return path, None
    from clew.chat.store.resume_session import resume

    return path, resume(path)


def _new(options: SessionOptions, tree: Tree, ids: Ids) -> Path:
    path = tree.root / "projects" / slug(str(options.cwd)) / f"{options.session_id or ids()}.jsonl"
    if path.exists():
        raise Refused([f"the session {path.stem} is already there; go on with it by --resume {path.stem}"])
    return path


def _old(options: SessionOptions, tree: Tree, ids: Ids) -> Path:
    """The file of a session that is gone on with, or of its copy. A new session has no use for what reads old ones."""
    from clew.chat.store.fork_session import fork
    from clew.chat.store.resume_session import find, latest

    file = find(tree, options.resume) if options.resume else latest(tree, options.cwd)
    if options.is_fork or options.at:
        return fork(file, options.session_id or ids(), tree, options.at)
    return file.path


def _engine(options: SessionOptions, parts: Parts, tell: Tell, path: Path, found: Resumed | None) -> Engine:
    cwd = (found.cwd if found and found.cwd else None) or options.cwd
    model = choose(options.model) or (found.model if found else "") or choose(options.usual_model or "default")
    name = (found.name if found else "") or name_of(path.stem)
    envelope = Envelope(path.stem, str(cwd), branch_of(cwd), name, options.entrypoint)
    journal = Journal(
        path,
        envelope,
        leaf=found.leaf if found else None,
        last=found.last if found else None,
        clock=parts.clock,
        ids=parts.ids,
        write=parts.write if options.is_kept else forget,
        durability=options.durability,
    )
    dialogue = LiveConversation(
        journal,
        ToolState(
            cwd,
            options.cwd,
            (options.cwd, *options.roots),
            profile=parts.profile,
            is_trusted=parts.is_trusted,
        ),
        model,
        options.mode or (found.mode if found else None) or "default",
        backups=_backups(options, path, found),
        lists=options.claude / "todos" if options.is_kept else None,
    )
    if options.is_watched and dialogue.backups is not None:
        dialogue.watch = FileWatch(journal, dialogue.backups, dialogue.state)
    if found is not None:
        _recall(dialogue, found)
    return Engine(
        dialogue,
        _means(options, parts, tell, cwd),
        parts.kinds,
        closing=found.closing if found else (),
        source="resume" if found else "startup",
        missed=[UserPrompt(text, task=task) for task, text in found.missed] if found else (),
    )


def _backups(options: SessionOptions, path: Path, found: Resumed | None) -> Backups | None:
    if not (options.is_kept and options.saves_files):
        return None
    return Backups(options.claude / "file-history" / path.stem, options.cwd, found.backups if found else None)


def _recall(dialogue: LiveConversation, found: Resumed) -> None:
    dialogue.load(found.messages, found.model)
    dialogue.state.todos = list(found.todos)
    dialogue.state.seen = dict(found.seen)
    dialogue.linked = set(found.linked)
    dialogue.reported, dialogue.weighed = found.reported, found.weighed
    dialogue.largest = dict(found.largest)


def _means(options: SessionOptions, parts: Parts, tell: Tell, cwd: Path) -> Deps:
    began: datetime = parts.clock()
    told = facts(cwd, began, options.memory)
    return Deps(
        parts.client,
        {tool.name: tool for tool in parts.tools},
        tell,
        ConversationCost(),
        system(options.system, options.added_system),
        parts.permits,
        parts.hooks,
        options.can_ask,
        options.limits,
        lambda: told,
        _thinking(options.thinking),
        named(options.fallback),
        named(options.small_model),
        nearby=parts.nearby,
        skills=parts.skills,
    )


def _thinking(budget: int) -> Json | None:
    return {"type": "enabled", "budget_tokens": max(budget, SMALLEST_BUDGET)} if budget else None
