"""Resuming: what a session gives to go on with, whoever wrote it.

The messages are those that `clew.request` says. What an unfinished turn still needs is told as lines, to be written before
the next prompt, so that the file says the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from clew.api.token_estimate import estimate_tokens
from clew.chat.permission.decision import MODES, Mode
from clew.chat.store import journal_lines
from clew.chat.store.file_snapshots import SavedFile
from clew.chat.store.task_notifications import task_of, unheard
from clew.chat.tools.atomic_files import content
from clew.chat.tools.tool import CallResult, Seen, ToolFailed
from clew.conversation.file_history import file_states
from clew.conversation.load import read, request
from clew.conversation.message_drafts import INTERRUPTED_CALL
from clew.conversation.replies import Call, pair_calls
from clew.conversation.resume_request import NO_RESPONSE
from clew.conversation.session import Session
from clew.conversation.session_listing import Outline, newest_conversations
from clew.errors import Ambiguous, NotFound, Refused
from clew.system.file_errors import ErrorCollector
from clew.wire.entry import Entry
from clew.wire.entry_types import ORIGIN_TYPE
from clew.wire.json_codec import Json, decode
from clew.wire.layout import Project, SessionFile, Tree, slugs
from clew.wire.lookup import find_session
from clew.wire.rename_ids import new_uuid

_FORGOTTEN: tuple[Mode, ...] = ("plan", "bypassPermissions")
_READS = ("Read", "Write", "Edit", "MultiEdit", "NotebookEdit")
_COUNTED = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")


@dataclass(frozen=True)
class Resumed:
    """A session as it can be gone on with."""

    path: Path
    messages: list[Json]
    closing: list[Json]  # lines that its last turn still needs
    leaf: str | None
    last: datetime | None
    model: str = ""
    mode: Mode | None = None
    cwd: Path | None = None
    branch: str = ""
    name: str = ""
    todos: list[Json] = field(default_factory=list)
    seen: dict[Path, Seen] = field(default_factory=dict)
    backups: dict[str, SavedFile] = field(default_factory=dict)
    linked: set[str] = field(default_factory=set)
    reported: int = 0
    weighed: int = 0
    largest: dict[str, int] = field(default_factory=dict)  # by model: the most tokens of a request and its reply
    missed: list[tuple[str, str]] = field(
        default_factory=list
    )  # tasks whose end the model was not told, and what to say

    @property
    def session_id(self) -> str:
        return self.path.stem


# -- which session


def find(tree: Tree, asked: str) -> SessionFile:
    """A session by its id, the beginning of it, its path, or its title."""
    try:
        return find_session(tree, asked)
    except NotFound:
        wanted = asked.strip().casefold()
        files = [f for p in tree.projects() for f in p.sessions() if not f.is_empty]
        found = [f for f in files if _title(f) == wanted]
        if not found:
            raise
        if len(found) > 1:
            raise Ambiguous(asked, [f.id for f in found]) from None
        return found[0]


def _title(file: SessionFile) -> str | None:
    """The title of a session as titles are compared; None for a file that cannot be read."""
    with ErrorCollector().catch(file.path):
        return Outline(file).title.strip().casefold()
    return None


def latest(tree: Tree, cwd: Path) -> SessionFile:
    """The session of a folder that was written last, among the files that can be read."""
    files = (f for name in slugs(str(cwd)) for f in Project(tree.root / "projects" / name).sessions())
    for outline in newest_conversations(files):
        if isinstance(outline.file, SessionFile):
            return outline.file
    raise NotFound(str(cwd), kind="session of this folder", hint="Begin one: leave --continue out.")


# -- what it gives


def resume(path: Path) -> Resumed:
    """Everything that a file gives to go on with. Raises Refused if nobody could go on from it."""
    session = read(path)
    made = request(session)
    if made.refusal or made.leaf is None:
        raise Refused([made.refusal or "there is no conversation in this file"])
    along = session.path_to(made.leaf)
    calls = pair_calls(made.path).calls  # what was said before a compaction is not known any more
    messages = made.messages
    reported, weighed = _reported(made.path, messages)
    cwd = next((Path(e.cwd) for e in reversed(along) if e.cwd), None)
    return Resumed(
        path,
        messages,
        list(_closing(session, messages, calls, made.path)),
        made.leaf.uuid,
        session.ended,
        model=_last_model(session, made.path),
        mode=_mode(along),
        cwd=cwd if cwd and cwd.is_dir() else None,
        branch=session.branch_name or "",
        name=next((e.slug for e in reversed(along) if e.slug), ""),
        todos=_todos(along),
        seen=dict(_seen(calls)),
        backups=_backups(session),
        linked={str(e.data.get("prUrl")) for e in session.entries if e.type == "pr-link"},
        reported=reported,
        weighed=weighed,
        largest=_largest(session),
        missed=list(unheard(along, {task_of(said.text): said.text for said in session.queue.waiting})),
    )


def _closing(
    session: Session, messages: Sequence[Json], calls: Sequence[Call], path: Sequence[Entry]
) -> Iterator[Json]:
    """The results that no call got, and a word in the model's place behind a prompt that it never answered."""
    lines = {call.use.id: call.entry.uuid for call in calls}
    for block in (b for m in messages[-3:] if isinstance(m["content"], list) for b in m["content"]):
        call = block.get("tool_use_id")
        is_ours = block.get("type") == "tool_result" and str(block.get("content", "")).startswith(INTERRUPTED_CALL)
        if is_ours and call in lines and not any(c.use.id == call and c.result is not None for c in session.calls):
            yield journal_lines.result(str(call), CallResult(str(block["content"]), is_error=True), str(lines[call]))
    last = next((e for e in reversed(path) if e.type in ("user", "assistant")), None)
    is_closed = last is not None and last.type == "assistant" and last.is_synthetic and last.text == NO_RESPONSE
    if messages and _text(messages[-1]) == NO_RESPONSE and messages[-1]["role"] == "assistant" and not is_closed:
        yield journal_lines.synthetic(NO_RESPONSE, new_uuid(session.id, NO_RESPONSE + str(last.uuid if last else "")))


def _text(message: Json) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(str(b.get("text", "")) for b in content)


def _last_model(session: Session, path: Sequence[Entry]) -> str:
    """The model of the last reply; one of another program's, imported with its conversation, is no model to go on with."""
    lines = (e.line.number for e in session.entries if e.type == ORIGIN_TYPE and e.data.get("foreign"))
    imported = max(lines, default=0)
    return next((m for e in reversed(path) if e.line.number > imported and (m := _model(e))), "")


def _model(said: Entry) -> str:
    is_real = said.type == "assistant" and said.message is not None and not said.is_synthetic
    return (said.message.model or "") if is_real and said.message else ""


def _mode(along: Sequence[Entry]) -> Mode | None:
    told = next((e.permission_mode for e in reversed(along) if e.permission_mode), None)
    return next((mode for mode in MODES if mode == told and mode not in _FORGOTTEN), None)


def _reported(path: Sequence[Entry], messages: Sequence[Json]) -> tuple[int, int]:
    """The tokens that the last reply told of, and how many messages these stand for."""
    told = next((e for e in reversed(path) if _model(e) and e.message and e.message.usage), None)
    if told is None or told.message is None or told.message.usage is None:
        return estimate_tokens(messages), len(messages)
    counted = sum(getattr(told.message.usage, name) or 0 for name in _COUNTED)
    if not counted:
        return estimate_tokens(messages), len(messages)
    spoken = [i for i, m in enumerate(messages) if m["role"] == "assistant" and _text(m) != NO_RESPONSE]
    return counted, spoken[-1] + 1 if spoken else 0


def _largest(session: Session) -> dict[str, int]:
    """For each model the most tokens that a request and its reply had: evidence of how large its window is."""
    found: dict[str, int] = {}
    for said in session.entries:
        usage = said.message.usage if said.message else None
        if usage is not None and (model := _model(said)):
            found[model] = max(found.get(model, 0), sum(getattr(usage, name) or 0 for name in _COUNTED))
    return found


def _todos(along: Sequence[Entry]) -> list[Json]:
    for said in reversed(along):
        if said.type == "user" and b'"newTodos"' in said.raw:
            record = said.data.get("toolUseResult")
            found = record.get("newTodos") if isinstance(record, dict) else None
        elif said.type == "user" and said.todos:
            found = decode(said.todos)
        else:
            continue
        if isinstance(found, list):
            return [todo for todo in found if isinstance(todo, dict)]
    return []


def _seen(calls: Sequence[Call]) -> Iterator[tuple[Path, Seen]]:
    """The files that the model knows, unless they changed since."""
    known: dict[str, datetime] = {}
    for call in calls:
        named = call.input.get("file_path") or call.input.get("notebook_path")
        is_good = call.name in _READS and call.result is not None and not call.failed
        if is_good and isinstance(named, str) and call.result_entry and (when := call.result_entry.time):
            known[named] = when
    for named, when in known.items():
        try:
            found = content(Path(named))
        except (OSError, ToolFailed, ValueError):
            continue
        if found.seen.mtime_ns <= (when.timestamp() + 1) * 1e9:
            yield Path(os.path.realpath(named)), found.seen


def _backups(session: Session) -> dict[str, SavedFile]:
    states = list(file_states(session.entries).values())
    if not states:
        return {}
    return {path: SavedFile(b.name, b.version or 1, b.time or "") for path, b in states[-1].backups.items()}
