"""Open sessions, looked up by id and cached while there is room.

A client names a session by its id, which is looked up among the existing files: no path from a client is ever
opened. Files outside the folder, reached by a link, are ignored.
"""

from __future__ import annotations

import asyncio
import os
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import Any, TypeVar

from clew.conversation.agent_sessions import AGENT_TOOLS, Agent
from clew.conversation.branches import Branch
from clew.conversation.session import Session
from clew.conversation.session_growth import extend_session
from clew.conversation.turns import Turn
from clew.errors import NotFound
from clew.web.paging import Page, split_pages
from clew.wire.content_time import sort_key
from clew.wire.entry import Item, read
from clew.wire.layout import AgentFile, SessionFile, Tree, claude_dir
from clew.wire.tail_reader import Tail

T = TypeVar("T")
MAX_OPEN = 4  # open sessions
MAX_BYTES = 256 << 20  # bytes of their files; an open session needs about 2.3 times its file (measured at 48 MB)


@dataclass(frozen=True)
class Reading:
    """What a reader page shows: a session or one of its agents, along one branch."""

    root: Session
    session: Session
    turns: tuple[Turn, ...]
    branch: Branch | None
    agent: Agent | None

    @cached_property
    def pages(self) -> tuple[Page, ...]:
        return split_pages(self.turns)

    @cached_property
    def _open_calls(self) -> frozenset[int]:
        """The offsets of calls that have no result yet."""
        return frozenset(call.entry.offset for call in self.session.pairing.open)

    def is_settled(self, page: Page) -> bool:
        """Return whether appended lines can no longer change what a page shows.

        They can while its turn continues, a call on it has no result, or an agent on it may still run.
        """
        if not page or page is self.pages[-1]:
            return False
        last = self.turns[-1]
        entries = [entry for turn, start, stop in page for entry in turn.entries[start:stop]]
        return not (
            any(piece.turn is last and piece.start == 0 for piece in page)
            or any(entry.offset in self._open_calls for entry in entries)
            or any(use.name in AGENT_TOOLS for entry in entries for use in entry.uses)
        )

    def turn(self, number: int) -> Turn:
        """Return a turn by its number. Raises NotFound."""
        match = next((turn for turn in self.turns if turn.number == number), None)
        if match is None:
            raise NotFound(str(number), "turn")
        return match


class SessionSnapshot:
    """A session at one moment. `state` identifies the moment, `edition` counts how often the file was rewritten.

    `earlier` has values of the moment before, from which those of this moment can be computed, each with the number of
    turns that are still the same.
    """

    def __init__(self, session: Session, state: str, edition: int, before: SessionSnapshot | None = None) -> None:
        self.session, self.state, self.edition = session, state, edition
        self._readings: dict[tuple[str, int], Reading] = {}
        self._memo: dict[Hashable, Any] = {}
        self._lock = Lock()
        self.earlier = before.values_for(session.unchanged_turns) if before and before.edition == edition else {}

    def values_for(self, turns: int) -> dict[Hashable, tuple[Any, int]]:
        """Return what was computed for this moment or an earlier one, for a later one in which some turns are the same."""
        with self._lock:
            older = {key: (value, min(turns, same)) for key, (value, same) in self.earlier.items()}
            return {**older, **{key: (value, turns) for key, value in self._memo.items()}}

    def memo(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return a value that is computed once for this moment."""
        with self._lock:
            if key not in self._memo:
                self._memo[key] = make()
            value: T = self._memo[key]
            return value

    def reading(self, agent: str = "", branch: int = 0) -> Reading:
        """Return the session or one of its agents, along its active branch or another. Raises NotFound."""
        key = (agent, branch)
        if key not in self._readings:
            self._readings[key] = self._reading(agent, branch)
        return self._readings[key]

    def _reading(self, name: str, number: int) -> Reading:
        agent = next((a for a in self.session.agents if a.id == name), None)
        if name and agent is None:
            raise NotFound(name, "agent")
        session = agent.session if agent else self.session
        branch = next((b for b in session.branches if b.number == number), None) if number else None
        if number and branch is None:
            raise NotFound(str(number), "branch", [str(b.number) for b in session.branches])
        turns = session.turns_of(branch) if branch else session.turns
        if session.preamble and (branch is None or branch.is_active):
            turns = (Turn(0, session.preamble), *turns)
        return Reading(self.session, session, turns, branch, agent)


def is_inside(path: str, root: str) -> bool:
    """Return whether a path lies below a folder after links are resolved."""
    return os.path.realpath(path).startswith(root.rstrip(os.sep) + os.sep)


class CachedFile(SessionFile):
    """A session file without the agent files that lie outside the folder."""

    __slots__ = ("root",)

    def __init__(self, file: SessionFile, root: str) -> None:
        super().__init__(file.path, file.project_folder, file.size, file.mtime_ns, file.inode)
        self.root = root

    def agents(self) -> list[AgentFile]:
        return [agent for agent in SessionFile.agents(self) if is_inside(str(agent.path), self.root)]


def file_state(file: SessionFile) -> str:
    """Return a string that changes whenever the file of a session, or of one of its agents, does."""
    stat = file.path.stat()
    parts = [f"{stat.st_dev}.{stat.st_ino}.{stat.st_size}.{stat.st_mtime_ns}"]
    parts += [f"{agent.id}.{agent.size}.{agent.mtime_ns}" for agent in file.agents()]
    return "/".join(parts)


@dataclass
class OpenSession:
    """One session that may grow: only its new lines are read."""

    file: SessionFile
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _snapshot: SessionSnapshot | None = None
    _tail: Tail | None = None
    _items: tuple[Item, ...] = ()
    _edition: int = 0
    done: int = 0  # bytes that have been read so far

    @property
    def size(self) -> int:
        return self._tail.offset if self._tail else self.file.size

    @property
    def is_read(self) -> bool:
        return self._snapshot is not None

    def refresh(self) -> SessionSnapshot:
        state = file_state(self.file)
        if self._snapshot is None or self._snapshot.state != state:
            session = self._session()
            self._snapshot = SessionSnapshot(session, state, self._edition, self._snapshot)
        return self._snapshot

    def _session(self) -> Session:
        if self._tail is None:
            session = Session(tuple(self._read_counting()), file=self.file)
            self._items = tuple(item for item in session.items if item.line.is_terminated)
            last = self._items[-1].line if self._items else None
            self._tail = Tail(self.file.path, last.end, last.number + 1) if last else Tail(self.file.path)
            if not (fresh := self._tail.read()):  # reading also records the end of the known part
                return session
        else:
            fresh = self._tail.read()
        self._edition += self._tail.restarted
        known, self._items = self._items, tuple(fresh) if self._tail.restarted else (*self._items, *fresh)
        before = self._snapshot.session if self._snapshot else None
        if before is None or self._tail.restarted or len(before.items) != len(known):
            return Session(self._items, file=self.file)
        return extend_session(before, fresh)

    def _read_counting(self) -> Iterator[Item]:
        for item in read(self.file.path):
            self.done = item.line.end
            yield item


class SessionCache:
    """The most recently used sessions of a Claude folder."""

    def __init__(self, claude: str | None) -> None:
        self.tree = Tree(claude_dir(claude))
        self.root = os.path.realpath(self.tree.root)
        self._open_sessions: OrderedDict[str, OpenSession] = OrderedDict()

    def holds(self, path: str) -> bool:
        """Return whether a path lies in the folder after links are resolved."""
        return is_inside(path, self.root)

    def find(self, session: str) -> SessionFile:
        """Return the newest file of a session by its full id. Raises NotFound."""
        if opened := self._opened(session):
            return opened.file
        files = [
            file
            for project in self.tree.projects()
            for file in project.sessions()
            if file.id == session and not file.is_empty and self.holds(str(file.path))
        ]
        if not files:
            raise NotFound(session)
        newest = min(files, key=sort_key)
        return CachedFile(newest, self.root)

    def _opened(self, session: str) -> OpenSession | None:
        """Return an open session. One whose file was moved or deleted is closed: it may be elsewhere now."""
        opened = self._open_sessions.get(session)
        if opened is not None and not (self.holds(str(opened.file.path)) and opened.file.path.exists()):
            self._open_sessions.pop(session, None)
            return None
        return opened

    def is_open(self, session: str) -> bool:
        """Return whether a session has been read."""
        opened = self._open_sessions.get(session)
        return opened is not None and opened.is_read

    def progress(self, session: str) -> tuple[int, int]:
        """Return how many bytes of a session that is being opened have been read, and how many there are."""
        opened = self._open_sessions.get(session)
        return (opened.done, opened.file.size) if opened else (0, 0)

    async def open(self, session: str) -> SessionSnapshot:
        """Return the current snapshot of a session. Raises NotFound."""
        opened = self._opened(session)
        if opened is None:
            file = await asyncio.to_thread(self.find, session)
            opened = self._open_sessions.setdefault(session, OpenSession(file))
        self._open_sessions.move_to_end(session)
        async with opened.lock:
            try:
                snapshot = await asyncio.to_thread(opened.refresh)
            except FileNotFoundError:
                self._open_sessions.pop(session, None)
                raise NotFound(session) from None
        self._evict()
        return snapshot

    def _evict(self) -> None:
        while len(self._open_sessions) > MAX_OPEN or (len(self._open_sessions) > 1 and self._size > MAX_BYTES):
            self._open_sessions.popitem(last=False)

    @property
    def _size(self) -> int:
        return sum(book.size for book in self._open_sessions.values())
