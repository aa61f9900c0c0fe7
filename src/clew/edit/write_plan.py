"""Writing a plan: a new session beside the original, with its agents, long outputs and file history.

The transcript comes last and appears whole, so that there is a session only when all of it is there. It is read back and
compared with the plan; should it differ, all that was made is removed again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from clew.conversation.agent_sessions import Agent
from clew.conversation.load import read
from clew.conversation.session import Session
from clew.edit.redact_session import content as veiled
from clew.edit.redact_session import leaks
from clew.edit.undo_journal import UndoJournal
from clew.edit.verify import differences
from clew.errors import Refused
from clew.facts.token_usage import REMOVED, thinking_replies
from clew.wire.entry import Entry, Item
from clew.wire.entry_types import ORIGIN_TYPE
from clew.wire.json_codec import encode
from clew.wire.layout import SessionFile, session_at
from clew.wire.project_slug import slug
from clew.wire.rename_ids import IdMapping, rename_references
from clew.wire.session_writer import create, place
from clew.wire.timestamps import stamp

if TYPE_CHECKING:
    from clew.edit.plan import Plan

_CHUNK = 1 << 20
_DIVIDER = re.compile("[-_]")


@dataclass(frozen=True, slots=True)
class Written:
    """A session that was made: its id, its transcript, and every file of it."""

    id: str
    path: Path
    files: tuple[Path, ...]
    number: str  # under which the journal knows it


@dataclass(frozen=True, slots=True)
class _Job:
    """A file to be made, and what of."""

    path: Path
    source: Path | Session


def write(plan: Plan, *, id: str | None = None, folder: str | os.PathLike[str] | None = None) -> Written:
    """Make the new session of a plan. Raises Refused, with every reason, if it would be unsound."""
    if problems := plan.violations:
        raise Refused(problems)
    made = id or str(uuid4())
    file = _file(plan.source)
    home = Path(folder) if folder else _project(plan, file)
    names = _names(plan, made, file, home)
    side = (job for job in _side_files(plan, file, home, made) if not _is_hidden(plan, job))
    jobs = [*side, _Job(home / f"{made}.jsonl", plan.session)]
    paths = tuple(job.path for job in jobs)
    journal = UndoJournal()
    number = journal.begin("; ".join(plan.steps) or "clone", plan.source.id, made, paths)
    for job in jobs:
        if isinstance(job.source, Session):
            ending = [_origin(plan, made)] if job is jobs[-1] else []
            create(job.path, [*_lines(job.source.items, names), *ending])
        else:
            place(job.path, _content(plan, job.source))
    if problems := (*differences(plan.session, plan.request, read(paths[-1])), *_leaks(plan, paths)):
        for path in reversed(paths):
            path.unlink()
        journal.undone(number)
        raise Refused(problems)
    journal.end(number, paths)
    return Written(made, paths[-1], paths, number)


# -- the lines


def _lines(items: Iterable[Item], names: IdMapping) -> Iterator[bytes]:
    for item in items:
        yield rename_references(item, names) if isinstance(item, Entry) else item.raw.rstrip(b"\r\n")


def _origin(plan: Plan, made: str) -> bytes:
    return encode(
        {
            "type": ORIGIN_TYPE,
            "sessionId": made,
            "source": plan.source.id,
            "steps": list(plan.steps),
            "timestamp": stamp(datetime.now(UTC)),
            **_removed_thinking(plan),
        }
    )


def _removed_thinking(plan: Plan) -> dict[str, list[str]]:
    """The replies that lose their thinking, so that `usage` can name those whose tokens still count it."""
    agents = [(agent.session, plan.agents.get(agent.id, agent.session)) for agent in plan.source.agents]
    pairs = [(plan.source, plan.session), *agents]
    removed = {id for before, now in pairs for id in thinking_replies(before.entries) - thinking_replies(now.entries)}
    return {REMOVED: sorted(removed)} if removed else {}


def _names(plan: Plan, made: str, file: SessionFile, home: Path) -> IdMapping:
    sessions = [plan.session, *(plan.agents.get(a.id, a.session) for a in plan.source.agents if a.file)]
    sessions += [source for source in plan.extra.values() if isinstance(source, Session)]
    known = {e.uuid for s in sessions for e in s.entries if e.uuid}
    moved = (plan.source.cwd, plan.cwd) if plan.cwd and plan.source.cwd else None
    return IdMapping(made, known, plan.source.id, moved, (str(file.folder), str(home / made)))


# -- the files


def _file(session: Session) -> SessionFile:
    if isinstance(session.file, SessionFile):
        return session.file
    if session.path is None:
        raise Refused(["a session that lies in no file has no place for a copy beside it"])
    return session_at(session.path)


def _project(plan: Plan, file: SessionFile) -> Path:
    """The folder for the new session: the original's, or that of the working directory that it moves to."""
    return file.project_folder.parent / slug(plan.cwd) if plan.cwd else file.project_folder


def _side_files(plan: Plan, file: SessionFile, home: Path, made: str) -> Iterator[_Job]:
    """Agents and long outputs of the calls that are left, and all of the file history."""
    left = {call.id for call in plan.session.calls}
    dropped = {call.id for call in plan.source.calls} - left
    for agent in plan.source.agents:
        if agent.file is not None and not _is_dropped(agent, dropped, plan.source.agents):
            target = home / made / "subagents" / _below(agent, file)
            yield _Job(target, plan.agents.get(agent.id, agent.session))
            meta = agent.file.path.with_suffix(".meta.json")
            if meta.is_file():
                yield _Job(target.with_suffix(".meta.json"), meta)
    for path in file.tool_results():
        if dropped.isdisjoint(_calls_named(path)):
            yield _Job(home / made / "tool-results" / path.name, path)
    root = file.project_folder.parent.parent
    history = root / "file-history" / plan.source.id
    if history.is_dir():
        for path in sorted(p for p in history.iterdir() if p.is_file()):
            yield _Job(root / "file-history" / made / path.name, path)
    for name, source in plan.extra.items():
        folder, _, rest = name.partition("/")
        yield _Job(root / folder / made / rest if folder == "file-history" else home / made / name, source)


def side_sources(plan: Plan) -> Iterator[Path]:
    """The files that come along as they are, unless there is a veil."""
    file = _file(plan.source)
    for job in _side_files(plan, file, file.project_folder, plan.source.id):
        if isinstance(job.source, Path):
            yield job.source


def _is_hidden(plan: Plan, job: _Job) -> bool:
    """Whether a file has to be left out, since it is no text and shows what nobody should see."""
    if plan.veil is None or not isinstance(job.source, Path):
        return False
    return veiled(job.source, job.source.read_bytes(), plan.veil) is None


def _leaks(plan: Plan, paths: tuple[Path, ...]) -> Iterator[str]:
    for path in paths if plan.veil else ():
        if plan.veil and leaks(path, plan.veil):
            yield f"{path.name} would still show what should be hidden"


def _calls_named(path: Path) -> Iterator[str]:
    """The calls that the name of a long output may mean: an id, alone or behind a word."""
    name = path.stem
    yield name
    yield from (name[found.end() :] for found in _DIVIDER.finditer(name))


def _is_dropped(agent: Agent, dropped: set[str], agents: tuple[Agent, ...]) -> bool:
    """Whether the call that began it is gone, or that of the agent which did."""
    by_id = {each.id: each for each in agents}
    here: Agent | None = agent
    for _ in agents:
        if here is None or here.call is None:
            return False
        if here.call.id in dropped:
            return True
        here = by_id.get(here.parent) if here.parent else None
    return False


def _below(agent: Agent, file: SessionFile) -> Path:
    """Where an agent lies in its session's folder; one that lay elsewhere comes to it."""
    assert agent.file is not None
    inside = file.folder / "subagents"
    path = agent.file.path
    return path.relative_to(inside) if path.is_relative_to(inside) else Path(path.name)


def _content(plan: Plan, path: Path) -> Iterator[bytes]:
    if plan.veil:
        yield veiled(path, path.read_bytes(), plan.veil) or b""
        return
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk
