"""Summarize a session that grows at the cost of what was added.

The sums over the lines before some line X (see `conversation.session_growth`) are kept with the summary. When the file has
only grown since, which the checksum of the bytes before X proves, only the lines from X on are read and added:

    kept sums            │ read again         new
    … prompt ─ reply ────┼─ X ─ result ─ reply ─ prompt ─ …

If the lines from X on do not follow on those before (a rewind to before X, a compaction, an agent that started before X and
still works, …), or if anything before X has changed, the whole file is read. Then, and when enough lines have followed,
the session is divided at a later X. A session is summarized in this way from the beginning, with sums of nothing.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct
from stringzilla import hash as hash_bytes

from clew.conversation.agent_sessions import AGENT_TOOLS, SUBAGENT_TOOLS, Agent
from clew.conversation.session import Session
from clew.conversation.session_growth import MARGIN, find_division, names_in, newest_gap, session_from, settle
from clew.conversation.session_listing import Outline
from clew.conversation.titles import WINDOW
from clew.facts.prices import Prices
from clew.report.session_summary import SessionSummary, make_summary
from clew.report.summary_sums import SessionPart, SummarySums, add_part
from clew.wire.entry import read
from clew.wire.growth import ReadState, fingerprint, has_only_grown
from clew.wire.layout import AgentFile, SessionFile

MIN_SIZE = 2 * WINDOW  # bytes up to which a file is always read as a whole
VERSION = 1

AgentStates = dict[str, tuple[int, int]]  # size and time of the files of agents, by path


class KeptSums(Struct, frozen=True, array_like=True):
    """The sums over the lines before an offset of a file, and what is needed to add the lines from there on.

    `names` are hashes of all ids in these lines, `gap` is that of `Settled`. `agents` are the files of the agents that
    were started in these lines. `prices` says by which the costs were computed.
    """

    version: int
    prices: str
    inode: int
    offset: int
    mark: bytes
    is_agent: bool
    gap: int
    names: bytes
    agents: AgentStates
    sums: SummarySums


_DECODE = msgspec.msgpack.Decoder(KeptSums).decode


class SummaryRequest(NamedTuple):
    """A session file in its present state, and the sums that were kept of it; `prices` is the state of the prices."""

    path: str
    inode: int
    size: int
    mtime_ns: int
    prices: str
    kept: bytes = b""

    @property
    def file(self) -> SessionFile:
        path = Path(self.path)
        return SessionFile(path, path.parent, self.size, self.mtime_ns)


class GrownSummary(NamedTuple):
    """A summary, and the sums to be kept for the next one, which begins to read at `offset`; empty and 0 if the session
    cannot be divided.
    """

    summary: SessionSummary
    offset: int
    kept: bytes


class ListedFile(SessionFile):
    """A session file with the agents to be read: those that the kept sums do not contain."""

    __slots__ = ("listed",)

    def __init__(self, file: SessionFile, listed: tuple[AgentFile, ...]) -> None:
        super().__init__(file.path, file.project_folder, file.size, file.mtime_ns, file.inode)
        self.listed = listed

    def agents(self) -> list[AgentFile]:
        return list(self.listed)


class NameHashes:
    """A set of names, each as a hash. A name that is not in it may seem to be, which costs a whole reading."""

    def __init__(self, data: bytes = b"") -> None:
        self._hashes = set(array("Q", data))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and _hash(name) in self._hashes

    def update(self, names: Iterable[str]) -> None:
        self._hashes.update(map(_hash, names))

    def to_bytes(self) -> bytes:
        return array("Q", self._hashes).tobytes()


def _hash(name: str) -> int:
    return int(hash_bytes(name.encode("utf-8", "surrogatepass")))


def summarize_growing(
    request: SummaryRequest, prices: Prices, margin: int = MARGIN, min_size: int = MIN_SIZE
) -> GrownSummary:
    """Summarize a session, from the sums that were kept of it if they are still right. Raises OSError."""
    file = request.file
    files = file.agents()
    reading = _continue(request, file, files)
    later = _divide(reading, request, prices, margin) if request.size > min_size else None
    for attempt in (later, reading):
        if attempt and (sums := attempt.add(prices)):
            break
    else:
        attempt = _Reading(None, NameHashes(), Session(file.path, file=_listed(file, files)))
        sums = attempt.add(prices)
    if sums is None:
        raise AssertionError("the first part of a session follows on nothing")
    title = Outline(file).title if attempt.kept else attempt.session.title
    kept = msgspec.msgpack.encode(attempt.kept) if attempt.kept else b""
    return GrownSummary(make_summary(attempt.session, sums, title), attempt.kept.offset if attempt.kept else 0, kept)


class _Reading(NamedTuple):
    """The lines of a session after the kept sums; all lines if there are none."""

    kept: KeptSums | None
    names: NameHashes
    session: Session

    def add(self, prices: Prices) -> SummarySums | None:
        """Return the sums over all lines; None if the lines do not follow on those of the kept sums."""
        part = SessionPart.whole(self.session)
        if self.kept is None:
            return add_part(SummarySums(), part, prices)
        if any(agent.call is None for agent in part.agents) or any(name in self.names for name in _names_of(part)):
            return None
        return add_part(self.kept.sums, part, prices)


def _listed(file: SessionFile, agents: Iterable[AgentFile]) -> ListedFile:
    return ListedFile(file, tuple(agents))


def _read_after(
    kept: KeptSums, names: NameHashes, file: SessionFile, agents: Iterable[AgentFile], opened: Iterable[Agent] = ()
) -> _Reading | None:
    """Read the lines after the kept sums; None if they do not follow on those before."""
    listed = _listed(file, (agent for agent in agents if str(agent.path) not in kept.agents))
    session = Session(tuple(read(file.path, offset=kept.offset)), file=listed)
    session.opened_agents = {agent.file: agent.session for agent in opened if agent.file}
    return _Reading(kept, names, session) if session_from(session, names, kept.gap, kept.is_agent) else None


def _continue(request: SummaryRequest, file: SessionFile, files: Sequence[AgentFile]) -> _Reading:
    """Return the lines after the kept sums; all lines if there are none, or if anything before those has changed."""
    kept = _decode(request)
    present = _agent_states(files)
    if kept and all(present.get(path) == state for path, state in kept.agents.items()):
        with file.path.open("rb") as content:
            state = ReadState(kept.inode, kept.offset, kept.mark)
            has_grown = has_only_grown(content, state, request.inode, request.size)
        if has_grown and (reading := _read_after(kept, NameHashes(kept.names), file, files)):
            return reading
    return _Reading(None, NameHashes(), Session(file.path, file=_listed(file, files)))


def _decode(request: SummaryRequest) -> KeptSums | None:
    try:
        kept = _DECODE(request.kept) if request.kept else None
    except msgspec.MsgspecError:
        return None
    return kept if kept and (kept.version, kept.prices) == (VERSION, request.prices) else None


def _agent_states(files: Iterable[AgentFile]) -> AgentStates:
    return {str(file.path): (file.size, file.mtime_ns) for file in files}


def _divide(reading: _Reading, request: SummaryRequest, prices: Prices, margin: int) -> _Reading | None:
    """Add lines to the kept sums, and return the rest; None if the session is not divided (again)."""
    session, kept = reading.session, reading.kept
    at = find_division(session, margin) if len(session.entries) > 2 * margin else 0
    if not at or not session.entries[at].line.whole:
        return None
    offset, gap = session.entries[at].offset, kept.gap if kept else newest_gap(session)
    settled, agents = settle(session, at, set(), gap), _agents_before(session, at)
    if settled is None or agents is None:
        return None
    part = SessionPart.before(session, settled, agents)
    sums = add_part(kept.sums if kept else SummarySums(), part, prices)
    if sums is None:
        return None
    names = NameHashes(kept.names if kept else b"")
    names.update(name for entry in part.entries for name in names_in(entry))
    names.update(_names_for_later(part))
    with open(request.path, "rb") as content:
        mark = fingerprint(content, offset, kept.offset if kept else 0, kept.mark if kept else b"")
    states = (kept.agents if kept else {}) | _agent_states(agent.file for agent in agents if agent.file)
    state = (VERSION, request.prices, request.inode, offset, mark, session.is_agent, gap, names.to_bytes(), states)
    files = session.file.agents() if isinstance(session.file, ListedFile) else []
    return _read_after(KeptSums(*state, sums), names, request.file, files, session.agents)


def _agents_before(session: Session, at: int) -> list[Agent] | None:
    """Return the agents that were started before an entry; None if further ones of them may appear later.

    An agent without a known call may belong to a later one; agents of agents and of workflows appear when they like. The
    lines of an agent without a file can be on one side of the entry and its call on the other.
    """
    offset = session.entries[at].offset
    if any(call.name in AGENT_TOOLS - SUBAGENT_TOOLS and call.entry.offset < offset for call in session.calls):
        return None
    lines = {entry.uuid for entry in session.entries[:at] if entry.is_sidechain}
    before: list[Agent] = []
    for agent in session.agents:
        is_before = agent.call is not None and agent.parent is None and agent.call.entry.offset < offset
        if agent.call is None or (agent.file is None and is_before != (agent.session.entries[0].uuid in lines)):
            return None
        before += [agent] if is_before else []
    names = {agent.id for agent in before}
    return None if any(agent.parent in names for agent in session.agents) else before


def _names_of(part: SessionPart) -> Iterator[str]:
    """Yield the names of replies, agents and prompts of agents, which must not be those of a part before."""
    yield from (f"reply {key}" for key in part.usage.replies)
    for agent in part.agents:
        first = next((entry for entry in agent.session.entries if entry.type == "user"), None)
        yield f"agent {agent.id}"
        yield f"prompt {first.text.strip() if first else ''}"


def _names_for_later(part: SessionPart) -> Iterator[str]:
    """Yield the names of the replies of a part, of its agents, and of those that its calls may have started."""
    yield from (f"reply {key}" for key in part.usage.replies)
    yield from (f"agent {agent.id}" for agent in part.agents)
    for calls in (part.calls, *(agent.session.calls for agent in part.agents)):
        for call in calls:
            if call.name in AGENT_TOOLS:
                prompt = call.input.get("prompt")
                if call.agent_id:
                    yield f"agent {call.agent_id}"
                elif isinstance(prompt, str) and prompt.strip():
                    yield f"prompt {prompt.strip()}"
