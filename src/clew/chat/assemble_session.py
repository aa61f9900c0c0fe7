"""Starting: from what was asked for to a session that can be spoken to."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from clew.api.client import Client
from clew.chat.agents.agent_kind import AgentKind
from clew.chat.config.model_alias import resolve_alias, resolve_choice
from clew.chat.config.permission_mode import Mode
from clew.chat.config.repository import current_branch
from clew.chat.config.session_name import session_name
from clew.chat.config.system_prompt import session_facts as facts
from clew.chat.config.system_prompt import system_blocks
from clew.chat.cost import ConversationCost
from clew.chat.deps import ConversationLimits, Deps, HookRunner, PermissionPolicy
from clew.chat.engine import Engine
from clew.chat.events import Emit
from clew.chat.rewind.watch_files import FileWatch
from clew.chat.store.file_snapshots import Backups
from clew.chat.store.journal import Clock, Durability, Ids, Journal, Write, discard_lines, new_id, now, write_lines
from clew.chat.store.journal_lines import Envelope
from clew.chat.store.live_conversation import LiveConversation, UserPrompt
from clew.chat.store.session_lock import lock_session
from clew.chat.tools.builtin.use_skill import Skills
from clew.chat.tools.shell_profile import ShellProfile
from clew.chat.tools.tool import Tool, ToolState
from clew.errors import Refused
from clew.wire.json_codec import Json
from clew.wire.layout import Tree, slug

if TYPE_CHECKING:
    from clew.chat.store.resume_session import Resumed

MIN_THINKING_BUDGET = 1024  # tokens of thinking


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
    default_model: str = ""  # from the settings: for a session that has no model yet
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
    can_prompt_user: bool = False
    durability: Durability = "line"
    saves_files: bool = True  # before they are changed, so that a change can be taken back
    watches_commands: bool = False  # whether what commands change is saved too


@dataclass(frozen=True)
class Parts:
    """What a session is made of that has a life of its own."""

    client: Client
    tools: Sequence[Tool]
    permissions: PermissionPolicy
    hooks: HookRunner
    kinds: Mapping[str, AgentKind] = field(default_factory=dict)
    skills: Skills | None = None
    profile: ShellProfile | None = None
    clock: Clock = now
    ids: Ids = new_id
    write: Write = write_lines
    is_trusted: bool = False  # whether the person trusts the project
    nested_memory: Callable[[Path], str] = lambda path: ""  # what the model is told besides, when it reads a file


@asynccontextmanager
async def opened(options: SessionOptions, parts: Parts, tell: Emit) -> AsyncIterator[Engine]:
    """A session, new or gone on with. It is ours alone until this ends. Raises NotFound, Ambiguous, Busy, Refused."""
    tree = Tree(options.claude)
    async with AsyncExitStack() as stack:
        path, resumed = _lock_session(options, tree, parts.ids, stack)
        engine = _build_engine(options, parts, tell, path, resumed)
        if options.title:
            engine.rename(options.title)
        try:
            yield engine
        finally:
            await engine.close()


def _lock_session(options: SessionOptions, tree: Tree, ids: Ids, stack: AsyncExitStack) -> tuple[Path, Resumed | None]:
    """The file, locked, and what it gives if it is there already."""
    is_old = bool(options.resume) or options.is_latest
    path = _resumed_path(options, tree, ids) if is_old else _new_path(options, tree, ids)
    if options.is_kept:
        stack.enter_context(lock_session(path))
    if not is_old:
        return path, None
    from clew.chat.store.resume_session import resume

    return path, resume(path)


def _new_path(options: SessionOptions, tree: Tree, ids: Ids) -> Path:
    path = tree.root / "projects" / slug(str(options.cwd)) / f"{options.session_id or ids()}.jsonl"
    if path.exists():
        raise Refused([f"the session {path.stem} is already there; go on with it by --resume {path.stem}"])
    return path


def _resumed_path(options: SessionOptions, tree: Tree, ids: Ids) -> Path:
    """The file of a session that is gone on with, or of its copy. A new session has no use for what reads old ones."""
    from clew.chat.store.fork_session import fork
    from clew.chat.store.resume_session import find, latest

    file = find(tree, options.resume) if options.resume else latest(tree, options.cwd)
    if options.is_fork or options.at:
        return fork(file, options.session_id or ids(), tree, options.at)
    return file.path


def _build_engine(options: SessionOptions, parts: Parts, tell: Emit, path: Path, resumed: Resumed | None) -> Engine:
    cwd = (resumed.cwd if resumed and resumed.cwd else None) or options.cwd
    model = (
        resolve_choice(options.model)
        or (resumed.model if resumed else "")
        or resolve_choice(options.default_model or "default")
    )
    name = (resumed.name if resumed else "") or session_name(path.stem)
    envelope = Envelope(path.stem, str(cwd), current_branch(cwd), name, options.entrypoint)
    journal = Journal(
        path,
        envelope,
        leaf=resumed.leaf if resumed else None,
        last=resumed.last if resumed else None,
        clock=parts.clock,
        ids=parts.ids,
        write=parts.write if options.is_kept else discard_lines,
        durability=options.durability,
    )
    conversation = LiveConversation(
        journal,
        ToolState(
            cwd,
            options.cwd,
            (options.cwd, *options.roots),
            profile=parts.profile,
            is_trusted=parts.is_trusted,
        ),
        model,
        options.mode or (resumed.mode if resumed else None) or "default",
        backups=_backups(options, path, resumed),
        todo_folder=options.claude / "todos" if options.is_kept else None,
    )
    if options.watches_commands and conversation.backups is not None:
        conversation.watch = FileWatch(journal, conversation.backups, conversation.state)
    if resumed is not None:
        _restore(conversation, resumed)
    return Engine(
        conversation,
        _build_deps(options, parts, tell, cwd),
        parts.kinds,
        closing=resumed.closing if resumed else (),
        source="resume" if resumed else "startup",
        missed=[UserPrompt(text, task=task) for task, text in resumed.missed] if resumed else (),
    )


def _backups(options: SessionOptions, path: Path, resumed: Resumed | None) -> Backups | None:
    if not (options.is_kept and options.saves_files):
        return None
    return Backups(options.claude / "file-history" / path.stem, options.cwd, resumed.backups if resumed else None)


def _restore(conversation: LiveConversation, resumed: Resumed) -> None:
    """Put the state of a resumed session into a conversation."""
    conversation.load(resumed.messages, resumed.model)
    conversation.state.todos = list(resumed.todos)
    conversation.state.seen = dict(resumed.seen)
    conversation.pull_requests = set(resumed.pull_requests)
    conversation.known_tokens, conversation.known_messages = resumed.known_tokens, resumed.known_messages
    conversation.largest_requests = dict(resumed.largest_requests)


def _build_deps(options: SessionOptions, parts: Parts, tell: Emit, cwd: Path) -> Deps:
    started: datetime = parts.clock()
    session_facts = facts(cwd, started, options.memory)
    return Deps(
        parts.client,
        {tool.name: tool for tool in parts.tools},
        tell,
        ConversationCost(),
        system_blocks(options.system, options.added_system),
        parts.permissions,
        parts.hooks,
        options.can_prompt_user,
        options.limits,
        lambda: session_facts,
        _thinking_config(options.thinking),
        resolve_alias(options.fallback),
        resolve_alias(options.small_model),
        nested_memory=parts.nested_memory,
        skills=parts.skills,
    )


def _thinking_config(budget: int) -> Json | None:
    return {"type": "enabled", "budget_tokens": max(budget, MIN_THINKING_BUDGET)} if budget else None
