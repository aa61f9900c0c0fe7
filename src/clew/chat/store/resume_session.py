"""Read everything that a chat needs to resume a session, whichever program wrote it.

The messages are those of `clew.request`. Lines that an unfinished turn still needs are returned in `closing`; they
are written before the next prompt, so that the file and the messages agree.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

from clew.api.token_estimate import estimate_tokens
from clew.chat.config.permission_mode import MODES, Mode
from clew.chat.store import journal_lines
from clew.chat.store.earlier_lines import EarlierLines, request_size
from clew.chat.store.file_snapshots import SavedFile
from clew.chat.store.resumed_part import ResumedPart, read_resumed_part
from clew.chat.store.session_state import SessionState
from clew.chat.store.task_notifications import reported_task, unreported_tasks
from clew.chat.tools.atomic_files import read_content
from clew.chat.tools.tool import CallResult, ReadFile, ToolFailed
from clew.conversation.file_history import file_states
from clew.conversation.message_drafts import INTERRUPTED_CALL
from clew.conversation.prompt_queue import queue_timeline
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

_UNSAVED_MODES: tuple[Mode, ...] = ("plan", "bypassPermissions")
_FILE_TOOLS = ("Read", "Write", "Edit", "MultiEdit", "NotebookEdit")


# -- find a session


def find(tree: Tree, reference: str) -> SessionFile:
    """Find a session by its id, a prefix of the id, its path or its title. Raises NotFound, Ambiguous."""
    try:
        return find_session(tree, reference)
    except NotFound:
        wanted_title = reference.strip().casefold()
        files = [f for p in tree.projects() for f in p.sessions() if not f.is_empty]
        matching = [f for f in files if _title(f) == wanted_title]
        if not matching:
            raise
        if len(matching) > 1:
            raise Ambiguous(reference, [f.id for f in matching]) from None
        return matching[0]


def _title(file: SessionFile) -> str | None:
    """Return the title of a session, normalized for comparison; None if the file cannot be read."""
    with ErrorCollector().catch(file.path):
        return Outline(file).title.strip().casefold()
    return None


def latest(tree: Tree, cwd: Path) -> SessionFile:
    """Return the readable session of a folder that was written last. Raises NotFound."""
    files = (f for name in slugs(str(cwd)) for f in Project(tree.root / "projects" / name).sessions())
    for outline in newest_conversations(files):
        if isinstance(outline.file, SessionFile):
            return outline.file
    raise NotFound(str(cwd), kind="session of this folder", hint="Start one: leave out --continue.")


# -- read its state


def resume(path: Path) -> SessionState:
    """Read the state of a session. Raises Refused if it cannot be resumed."""
    return session_state(path, read_resumed_part(path))


def session_state(path: Path, part: ResumedPart) -> SessionState:
    """Return the state that the read part of a session file gives. Raises Refused if it cannot be resumed."""
    session, prepared, earlier = part.session, part.request, part.earlier
    if prepared.refusal or prepared.leaf is None:
        raise Refused([prepared.refusal or "there is no conversation in this file"])
    path_entries = part.history
    calls = pair_calls(prepared.path).calls  # the model does not know what was read before a compaction
    messages = prepared.messages
    reported, weighed = _known_size(prepared.path, messages)
    cwd = next((Path(e.cwd) for e in part.newest_first() if e.cwd), None)
    return SessionState(
        path,
        messages=messages,
        closing=list(_closing(session, messages, calls, prepared.path)),
        leaf=prepared.leaf.uuid,
        last=max((t for t in (session.ended, earlier.ended) if t), default=None),
        model=_last_model(session, prepared.path),
        mode=_last_mode(part.newest_first()),
        cwd=cwd if cwd and cwd.is_dir() else None,
        name=next((e.slug for e in part.newest_first() if e.slug), ""),
        todos=_todos(part.newest_first()),
        seen=dict(_read_files(calls)),
        backups=_backups(session, earlier),
        pull_requests=earlier.pull_requests
        | {str(e.data.get("prUrl")) for e in session.entries if e.type == "pr-link"},
        known_tokens=reported,
        known_messages=weighed,
        largest_requests=_largest(session, earlier),
        missed=list(_missed_tasks(path_entries, session, earlier)),
    )


def _closing(
    session: Session, messages: Sequence[Json], calls: Sequence[Call], path: Sequence[Entry]
) -> Iterator[Json]:
    """Results for calls that never got one, and a synthetic reply after a prompt that was never answered."""
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
    """Return the model of the last reply; models of imported conversations do not count."""
    lines = (e.line.number for e in session.entries if e.type == ORIGIN_TYPE and e.data.get("foreign"))
    imported = max(lines, default=0)
    return next((m for e in reversed(path) if e.line.number > imported and (m := _reply_model(e))), "")


def _reply_model(entry: Entry) -> str:
    is_real = entry.type == "assistant" and entry.message is not None and not entry.is_synthetic
    return (entry.message.model or "") if is_real and entry.message else ""


def _last_mode(newest_first: Iterable[Entry]) -> Mode | None:
    name = next((e.permission_mode for e in newest_first if e.permission_mode), None)
    return next((mode for mode in MODES if mode == name and mode not in _UNSAVED_MODES), None)


def _known_size(path: Sequence[Entry], messages: Sequence[Json]) -> tuple[int, int]:
    """Return the tokens of the last reply's request and reply, and the number of messages they cover."""
    entry = next((e for e in reversed(path) if _reply_model(e) and e.message and e.message.usage), None)
    if entry is None or entry.message is None or entry.message.usage is None:
        return estimate_tokens(messages), len(messages)
    size = request_size(entry.message.usage)
    if not size:
        return estimate_tokens(messages), len(messages)
    replies = [i for i, m in enumerate(messages) if m["role"] == "assistant" and _text(m) != NO_RESPONSE]
    return size, replies[-1] + 1 if replies else 0


def _largest(session: Session, earlier: EarlierLines) -> dict[str, int]:
    """Return the largest request including its reply by model: evidence of the size of its context window."""
    sizes = dict(earlier.largest_requests)
    for entry in session.entries:
        usage = entry.message.usage if entry.message else None
        if usage is not None and (model := _reply_model(entry)):
            sizes[model] = max(sizes.get(model, 0), request_size(usage))
    return sizes


def _todos(newest_first: Iterable[Entry]) -> list[Json]:
    for entry in newest_first:
        if entry.type == "user" and entry.line.contains(b'"newTodos"'):
            record = entry.data.get("toolUseResult")
            todos = record.get("newTodos") if isinstance(record, dict) else None
        elif entry.type == "user" and entry.todos:
            todos = decode(entry.todos)
        else:
            continue
        if isinstance(todos, list):
            return [todo for todo in todos if isinstance(todo, dict)]
    return []


def _read_files(calls: Sequence[Call]) -> Iterator[tuple[Path, ReadFile]]:
    """Yield the files that the model has read and that did not change since."""
    times: dict[str, datetime] = {}
    for call in calls:
        name = call.input.get("file_path") or call.input.get("notebook_path")
        is_good = call.name in _FILE_TOOLS and call.result is not None and not call.failed
        if is_good and isinstance(name, str) and call.result_entry and (read_at := call.result_entry.time):
            times[name] = read_at
    for name, read_at in times.items():
        try:
            text = read_content(Path(name))
        except (OSError, ToolFailed, ValueError):
            continue
        if text.seen.mtime_ns <= (read_at.timestamp() + 1) * 1e9:
            yield Path(os.path.realpath(name)), text.seen


def _backups(session: Session, earlier: EarlierLines) -> dict[str, SavedFile]:
    states = file_states(session.entries)
    if before := list(earlier.file_history(states)):
        states = file_states([*before, *session.entries])
    last = next(reversed(states.values()), None)
    return {path: SavedFile(b.name, b.version or 1, b.time or "") for path, b in last.backups.items()} if last else {}


def _missed_tasks(path: Sequence[Entry], session: Session, earlier: EarlierLines) -> Iterator[tuple[str, str]]:
    """Yield the tasks whose end was not reported to the model, with their reports."""
    missed = list(unreported_tasks(path))
    if missed:
        waiting = queue_timeline([*earlier.queue_operations(), *session.entries]).waiting
        queued = {reported_task(message.text): message.text for message in waiting}
        yield from ((task, queued.get(task, report)) for task, report in missed)
