"""List the side files of the session that a plan would write: agents, long outputs, file history."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from clew.conversation.agent_sessions import Agent
from clew.conversation.session import Session
from clew.errors import Refused
from clew.wire.layout import SessionFile, session_at

if TYPE_CHECKING:
    from clew.edit.plan import Plan

_DIVIDER = re.compile("[-_]")


class FileJob(Struct, frozen=True):
    """A file to write, and its source."""

    path: Path
    source: Path | Session


def session_file(session: Session) -> SessionFile:
    if isinstance(session.file, SessionFile):
        return session.file
    if session.path is None:
        raise Refused(["the session is not in a file, so there is no folder for a copy"])
    return session_at(session.path)


def side_files(plan: Plan, file: SessionFile, home: Path, new_id: str) -> Iterator[FileJob]:
    """Yield the agents and long outputs of the remaining calls, and the file history."""
    left = {call.id for call in plan.session.calls}
    dropped = {call.id for call in plan.source.calls} - left
    for agent in plan.source.agents:
        if agent.file is not None and not _is_dropped(agent, dropped, plan.source.agents):
            target = home / new_id / "subagents" / _relative_path(agent.file.path, file)
            yield FileJob(target, plan.agents.get(agent.id, agent.session))
            meta = agent.file.path.with_suffix(".meta.json")
            if meta.is_file():
                yield FileJob(target.with_suffix(".meta.json"), meta)
    for path in file.tool_results():
        if dropped.isdisjoint(_possible_call_ids(path)):
            yield FileJob(home / new_id / "tool-results" / path.name, path)
    root = home.parent.parent  # of the new session
    history = file.project_folder.parent.parent / "file-history" / plan.source.id
    if history.is_dir():
        for path in sorted(p for p in history.iterdir() if p.is_file()):
            yield FileJob(root / "file-history" / new_id / path.name, path)
    for name, source in plan.extra.items():
        folder, _, path_inside = name.partition("/")
        yield FileJob(
            root / folder / new_id / path_inside if folder == "file-history" else home / new_id / name, source
        )


def side_sources(plan: Plan) -> Iterator[Path]:
    """Yield the side files that are copied; none for a session that is not in a file."""
    if plan.source.path is None:
        return
    file = session_file(plan.source)
    for job in side_files(plan, file, file.project_folder, plan.source.id):
        if isinstance(job.source, Path):
            yield job.source


def _possible_call_ids(path: Path) -> Iterator[str]:
    """Yield the call ids that the name of a long output may contain: the whole name, or the part after a divider."""
    name = path.stem
    yield name
    yield from (name[divider.end() :] for divider in _DIVIDER.finditer(name))


def _is_dropped(agent: Agent, dropped: set[str], agents: tuple[Agent, ...]) -> bool:
    """Return whether the call that started an agent, or one of its parents, was removed."""
    by_id = {other.id: other for other in agents}
    step: Agent | None = agent
    for _ in agents:
        if step is None or step.call is None:
            return False
        if step.call.id in dropped:
            return True
        step = by_id.get(step.parent) if step.parent else None
    return False


def _relative_path(path: Path, file: SessionFile) -> Path:
    """Return the path of an agent's file inside its session's folder; a file from elsewhere is moved there."""
    inside = file.folder / "subagents"
    return path.relative_to(inside) if path.is_relative_to(inside) else Path(path.name)
