"""Open the session file of a chat: create it, resume it or resume a copy of it."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Literal

from msgspec import Struct

from clew.api.request_body import signatures
from clew.chat.config.model_alias import resolve_choice
from clew.chat.config.repository import current_branch
from clew.chat.config.session_name import session_name
from clew.chat.rewind.watch_files import FileWatch
from clew.chat.session_spec import SessionSpec
from clew.chat.store.file_snapshots import Backups
from clew.chat.store.journal import Clock, Ids, Journal, discard_lines, new_id, now
from clew.chat.store.journal_lines import Envelope
from clew.chat.store.live_conversation import LiveConversation
from clew.chat.store.pending_prompts import UserPrompt
from clew.chat.store.result_records import ResultRecords
from clew.chat.store.session_lock import lock_session
from clew.chat.store.session_state import SessionState
from clew.chat.tools.shell_profile import ShellProfile
from clew.chat.tools.tool import ToolState
from clew.errors import Refused
from clew.wire.json_codec import Json
from clew.wire.layout import Tree, slug


class OpenConversation(Struct, frozen=True):
    """A conversation whose session file is locked, and what an engine needs to continue it."""

    conversation: LiveConversation
    source: Literal["startup", "resume"] = "startup"
    closing: Sequence[Json] = ()  # lines that an unfinished turn still needs
    missed: Sequence[UserPrompt] = ()  # reports of background tasks that ended before the model was told


@contextmanager
def open_conversation(
    spec: SessionSpec,
    *,
    default_model: str = "",
    profile: ShellProfile | None = None,
    variables: Mapping[str, str] | None = None,
    clock: Clock = now,
    ids: Ids = new_id,
) -> Iterator[OpenConversation]:
    """Open a new session or one to resume, and lock it. Raises NotFound, Ambiguous, Busy, Refused.

    `default_model` is used for a session that has no model yet, `variables` are added to the environment of commands.
    """
    tree = Tree(spec.claude)
    is_old = bool(spec.resume) or spec.is_latest
    path = _resumed_path(spec, tree, ids) if is_old else _new_path(spec, tree, ids)
    with lock_session(path) if spec.is_kept else nullcontext():
        saved = _read_state(path) if is_old else SessionState(path)
        conversation = _build(spec, saved, default_model, _state(spec, saved, profile, variables or {}), clock, ids)
        missed = [UserPrompt(text, task=task) for task, text in saved.missed]
        yield OpenConversation(conversation, "resume" if is_old else "startup", saved.closing, missed)


def _read_state(path: Path) -> SessionState:
    from clew.chat.store.resume_session import resume  # a new session does not need what reads old ones

    is_enabled = gc.isenabled()
    gc.disable()  # entries and messages have no cycles: looking for them takes a tenth of the time
    try:
        return resume(path)
    finally:
        if is_enabled:
            gc.enable()


def _new_path(spec: SessionSpec, tree: Tree, ids: Ids) -> Path:
    path = tree.root / "projects" / slug(str(spec.cwd)) / f"{spec.session_id or ids()}.jsonl"
    if path.exists():
        raise Refused([f"the session {path.stem} already exists; resume it with --resume {path.stem}"])
    return path


def _resumed_path(spec: SessionSpec, tree: Tree, ids: Ids) -> Path:
    """Return the file of the session to resume, or of its copy."""
    from clew.chat.store.fork_session import fork, require_only_turn
    from clew.chat.store.resume_session import find, latest

    file = find(tree, spec.resume) if spec.resume else latest(tree, spec.cwd)
    if spec.at and spec.dropped_turn:
        require_only_turn(file, spec.at, spec.dropped_turn)
    if spec.is_fork or spec.at:
        return fork(file, spec.session_id or ids(), tree, spec.at)
    return file.path


def _state(
    spec: SessionSpec, saved: SessionState, profile: ShellProfile | None, variables: Mapping[str, str]
) -> ToolState:
    return ToolState(
        saved.cwd or spec.cwd,
        spec.cwd,
        (spec.cwd, *spec.roots),
        seen=dict(saved.seen),
        todos=list(saved.todos),
        profile=profile,
        is_trusted=spec.is_trusted,
        variables=variables,
    )


def _build(
    spec: SessionSpec, saved: SessionState, default_model: str, state: ToolState, clock: Clock, ids: Ids
) -> LiveConversation:
    path = saved.path
    cwd = state.cwd
    name = saved.name or session_name(path.stem)
    journal = Journal(
        path,
        Envelope(path.stem, str(cwd), current_branch(cwd), name, spec.entrypoint),
        leaf=saved.leaf,
        last=saved.last,
        clock=clock,
        ids=ids,
        write=spec.write if spec.is_kept else discard_lines,
        durability=spec.durability,
    )
    backups = None
    if spec.is_kept and spec.saves_files:
        backups = Backups(spec.claude / "file-history" / path.stem, spec.cwd, saved.backups)
    return LiveConversation(
        journal,
        state,
        resolve_choice(spec.model) or saved.model or resolve_choice(default_model or "default"),
        spec.mode or saved.mode or "default",
        spec.reasoning,
        backups=backups,
        watch=FileWatch(journal, backups, state) if spec.watches_commands and backups is not None else None,
        messages=list(saved.messages),
        known_tokens=saved.known_tokens,
        known_messages=saved.known_messages,
        largest_requests=dict(saved.largest_requests),
        thinking_models=dict.fromkeys(signatures(saved.messages), saved.model),
        records=ResultRecords(set(saved.pull_requests), spec.claude / "todos" if spec.is_kept else None),
    )
