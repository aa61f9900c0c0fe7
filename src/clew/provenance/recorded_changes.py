"""List the file changes that sessions recorded, with the prompt that led to each.

Sessions on the disk and in the archive count, and so do their agents. A call that copies of a session repeat is listed
once, for the original.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path, PureWindowsPath

from msgspec import Struct
from stringzilla import find

from clew.collect.archive.archive_view import open_deleted_tree
from clew.conversation.agent_sessions import Agent
from clew.conversation.load import Root
from clew.conversation.replies import Call
from clew.conversation.session import Session
from clew.conversation.speaker import prompt_text
from clew.errors import READ_ERRORS, NotFound
from clew.facts.file_changes import WRITING_TOOLS, changed_path, count_lines
from clew.wire.content_time import is_within
from clew.wire.entry import Entry
from clew.wire.entry_types import ORIGIN_TYPE
from clew.wire.json_codec import as_text
from clew.wire.layout import AgentFile, Project, SessionFile, Tree, claude_dir
from clew.wire.line import pieces
from clew.wire.lookup import find_project
from clew.wire.timestamps import EARLIEST, parse_user_time

_PIECE = 1 << 20  # bytes read at a time
_TOOLS = tuple(f'"{name}"'.encode() for name in WRITING_TOOLS)


@dataclass(frozen=True, slots=True)
class RecordedChange:
    """One call that changed a file. `agent` is empty for the session itself; `turn` is 0 if it is not known."""

    path: str
    session: str
    agent: str
    turn: int
    prompt: str
    time: datetime | None
    tool: str
    added: int
    removed: int
    failed: bool
    user_modified: bool
    cwd: str
    kept: str  # "" on the disk, "archived" or "reconstructed"
    call: Call = field(repr=False, compare=False)
    rank: tuple[bool, datetime] = field(
        default=(False, EARLIEST), repr=False
    )  # whether it is a copy; the session's end


def file_changes(
    session: Session | None = None,
    *,
    path: str | os.PathLike[str] | None = None,
    project: str | None = None,
    since: str | datetime | None = None,
    until: str | datetime | None = None,
    failed: bool = False,
    claude: Root = None,
) -> list[RecordedChange]:
    """Return the recorded file changes in the order in which they were made.

    They are those of one session, or of all sessions of a project and a range of time. `path` selects the changes of
    one file. Calls that failed are left out unless `failed` is true.
    """
    after, before = (parse_user_time(time) if time else None for time in (since, until))
    names = [PureWindowsPath(path).name] if path is not None else []
    changes: Iterable[RecordedChange] = (
        collect_changes(names, project=project, since=after, claude=claude) if session is None else changes_of(session)
    )
    wanted = None if path is None else same_paths(path)
    return [
        change
        for change in sort_changes(changes)
        if (failed or not change.failed)
        and (wanted is None or normalize_path(change.path) in wanted)
        and is_in_range(change, after, before)
    ]


def is_in_range(change: RecordedChange, since: datetime | None, until: datetime | None) -> bool:
    """Return True if a change was made in a range of time; a change without a time is in no limited range."""
    if change.time is None:
        return since is None and until is None
    return (since is None or change.time >= since) and (until is None or change.time < until)


def sort_changes(changes: Iterable[RecordedChange]) -> list[RecordedChange]:
    """Return changes in the order of time, each call once: where the session is not a copy, or ended first."""
    calls: dict[str, RecordedChange] = {}
    for number, change in enumerate(changes):
        key = change.call.id or f"#{number}"
        if key not in calls or change.rank < calls[key].rank:
            calls[key] = change
    return sorted(calls.values(), key=lambda change: change.time or EARLIEST)


def normalize_path(path: str) -> str:
    """Return a path in the form in which two recordings of it are equal."""
    return os.path.normcase(os.path.normpath(path.replace("\\", "/") if path[1:3] == ":\\" else path))


def relative_path(path: str, folder: str) -> str:
    """Return a path relative to a folder of any system if it is inside, else unchanged."""
    inside = folder.rstrip("/\\") + ("\\" if "\\" in folder else "/") if folder else ""
    return path[len(inside) :] if inside and path.startswith(inside) else path


def _is_absolute(path: str) -> bool:
    """Return True for an absolute path of any system: sessions move between machines."""
    return path.startswith("/") or PureWindowsPath(path).is_absolute()


def same_paths(path: str | os.PathLike[str]) -> set[str]:
    """Return the names under which a file can have been recorded."""
    if PureWindowsPath(path).is_absolute() and os.name != "nt":  # a file of another system
        return {normalize_path(os.fspath(path))}
    return {normalize_path(str(Path(path).absolute())), normalize_path(os.path.realpath(path))}


# -- finding the sessions


def collect_changes(
    names: Sequence[str] = (),
    *,
    project: str | None = None,
    since: datetime | None = None,
    claude: Root = None,
    tools: Sequence[str] = WRITING_TOOLS,
) -> Iterator[RecordedChange]:
    """Yield the changes of all sessions, in no order; with `names` only of transcripts that name one of these files.

    Only transcripts that contain a name and a tool that writes are parsed. Unreadable ones are skipped. `tools` can
    also name Read, whose calls show a content.
    """
    needles = {form for name in names for form in _json_forms(name)}
    for kept, projects in _projects(claude, project):
        for each in projects:
            agents: dict[str, list[AgentFile]] = {}
            for agent in each.agents():
                agents.setdefault((agent.session_id or "").lower(), []).append(agent)
            files = [file for file in each.sessions() if not file.is_empty]
            for file in files:
                own = agents.pop(file.id.lower(), [])
                if _is_relevant([file, *own], needles, since):
                    yield from _read_changes(Session(file.path, file=file), kept.get(file.id, ""), tools, names)
            for agent in [a for group in agents.values() for a in group]:  # their sessions are gone
                if _is_relevant([agent], needles, since):
                    yield from _read_changes(Session(agent.path, file=agent), "", tools, names)


def _projects(claude: Root, project: str | None) -> Iterator[tuple[dict[str, str], list[Project]]]:
    """Yield the projects on the disk, and those in the archive with how each session is kept."""
    archive = open_deleted_tree(claude)
    roots: list[tuple[Path, dict[str, str]]] = [(claude_dir(claude), {})]
    if archive:
        kept = dict.fromkeys(archive.archived, "archived") | dict.fromkeys(archive.reconstructed, "reconstructed")
        roots.append((archive.folder, kept))
    missing: NotFound | None = None
    is_found = False
    for root, states in roots:
        tree = Tree(root)
        try:
            projects = [find_project(tree, project)] if project else tree.projects()
        except NotFound as error:  # the project can be in only one of the two
            missing = missing or error
            continue
        is_found = True
        yield states, projects
    if missing and not is_found:
        raise missing


def _json_forms(name: str) -> set[bytes]:
    from json import dumps

    return {dumps(name, ensure_ascii=ascii)[1:-1].encode("utf-8", "replace") for ascii in (True, False)}


def _is_relevant(files: Sequence[SessionFile | AgentFile], needles: set[bytes], since: datetime | None) -> bool:
    is_recent = since is None or any(is_within(file, since, None) for file in files)
    return is_recent and any(_writes(file.path, needles) for file in files)


def _writes(path: Path, needles: set[bytes]) -> bool:
    """Return True if a line of a transcript contains a tool that writes and one of the needles, if there are any."""
    try:
        for buffer, _ in pieces(path, size=_PIECE):
            if needles and any(_has_line(buffer, needle) for needle in needles):
                return True
            if not needles and any(find(buffer, tool) >= 0 for tool in _TOOLS):
                return True
    except READ_ERRORS:  # deleted in the meantime, or unreadable
        pass
    return False


def _has_line(buffer: bytes, needle: bytes) -> bool:
    position = find(buffer, needle)
    while position >= 0:
        start = buffer.rfind(b"\n", 0, position) + 1
        stop = buffer.find(b"\n", position) + 1 or len(buffer)
        line = buffer[start:stop]
        if any(tool in line for tool in _TOOLS):
            return True
        position = find(buffer, needle, stop)
    return False


# -- reading one session


def _read_changes(session: Session, kept: str, tools: Sequence[str], names: Sequence[str]) -> list[RecordedChange]:
    try:
        return changes_of(session, kept, tools, names)
    except READ_ERRORS:
        return []


def changes_of(
    session: Session, kept: str = "", tools: Sequence[str] = WRITING_TOOLS, names: Sequence[str] = ()
) -> list[RecordedChange]:
    """Return the changes of a session and its agents, also those that failed, in no order; with `names` only of files
    with such a name.
    """
    reader = _SessionReader(session, kept)
    calls: list[tuple[Call, Agent | None]] = [(call, agent) for agent in session.agents for call in agent.session.calls]
    by_agents = {call.id for call, _ in calls}  # agents can be inside the file of their session
    calls += [(call, None) for call in session.calls if call.id not in by_agents]
    chosen = [(call, agent) for call, agent in calls if call.name in tools and not call.is_open]
    paths = ((_named_path(call), call, agent) for call, agent in chosen)
    return [
        reader.read(path, call, agent)
        for path, call, agent in paths
        if path and (not names or PureWindowsPath(path).name in names or os.path.basename(path) in names)
    ]


def _named_path(call: Call) -> str:
    return changed_path(call) or as_text(call.input.get("file_path") or "")


class _SessionReader(Struct, frozen=True, dict=True):
    session: Session
    kept: str

    def read(self, path: str, call: Call, agent: Agent | None) -> RecordedChange:
        caller = call.entry if agent is None else self._session_call(agent)
        number, prompt = self._turn_of(caller) if caller else (0, None)
        cwd = call.entry.cwd or self.session.cwd or ""
        added, removed = count_lines(call)
        file = self.session.file
        return RecordedChange(
            path=path if _is_absolute(path) else os.path.join(cwd, path),
            session=(file.session_id or "") if isinstance(file, AgentFile) else self.session.id,
            agent=agent.id if agent else file.id if isinstance(file, AgentFile) else "",
            turn=0 if isinstance(file, AgentFile) else number,
            prompt=prompt_text(prompt) if prompt else self._first_prompt(agent),
            time=(call.result_entry.time if call.result_entry else None) or call.entry.time,
            tool=call.name,
            added=added,
            removed=removed,
            failed=call.failed,
            user_modified=isinstance(call.detail, dict) and bool(call.detail.get("userModified")),
            cwd=self.session.cwd or "",
            kept=self.kept,
            call=call,
            rank=(self._is_copy(call.entry, agent), self._ended),
        )

    def _session_call(self, agent: Agent) -> Entry | None:
        """Return the entry of the session that started an agent, also if another agent is in between."""
        for _ in self._agents:
            if agent.call is None or agent.parent is None:
                break
            agent = self._agents[agent.parent]
        return agent.call.entry if agent.call and agent.parent is None else None

    @cached_property
    def _agents(self) -> dict[str, Agent]:
        return {agent.id: agent for agent in self.session.agents}

    @cached_property
    def _prompts(self) -> set[int]:
        return {prompt.offset for prompt in self.session.prompts}

    @cached_property
    def _turns(self) -> dict[str | None, tuple[int, Entry | None]]:
        """The number and the prompt of the turn of each entry: those of the active path, and others that were asked for."""
        return {entry.uuid: (turn.number, turn.prompt) for turn in self.session.turns for entry in turn.entries}

    def _turn_of(self, entry: Entry) -> tuple[int, Entry | None]:
        """Return the number and the prompt of the turn of an entry, also on a branch that the conversation left."""
        links = self.session.links
        if entry.uuid is None or entry.uuid not in links.nodes:
            return 0, None
        walked: dict[str | None, Entry] = {}
        step: Entry | None = entry
        while step is not None and step.uuid not in self._turns:
            walked[step.uuid] = step
            step = links.parent(step, history=True, visited=walked)
        number, prompt = self._turns[step.uuid] if step is not None else (0, None)
        for uuid, step in reversed(walked.items()):
            if step.offset in self._prompts:
                number, prompt = number + 1, step
            self._turns[uuid] = number, prompt
        return number, prompt

    def _first_prompt(self, agent: Agent | None) -> str:
        entries = agent.session.entries if agent else self.session.entries
        return next((prompt_text(entry) for entry in entries if entry.type == "user"), "")

    @cached_property
    def _ended(self) -> datetime:
        return self.session.ended or EARLIEST

    @cached_property
    def _copied_before(self) -> int:
        """The offset before which every line was copied from another session by an edit of clew; 0 in an original."""
        origins = [entry for entry in self.session.entries if entry.type == ORIGIN_TYPE]
        return max((e.offset for e in origins if e.data.get("source") and not e.data.get("foreign")), default=0)

    def _is_copy(self, entry: Entry, agent: Agent | None) -> bool:
        if agent is not None:
            caller = self._session_call(agent)
            return caller is not None and self._is_copy(caller, None)
        recorded = entry.session_id or self.session.id
        is_foreign = recorded != self.session.id and not isinstance(self.session.file, AgentFile)
        return entry.offset < self._copied_before or is_foreign or "forkedFrom" in entry.data
