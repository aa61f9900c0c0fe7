"""The shelf: the sessions that are open, found by their ids and kept as long as there is room.

A client names a session by its id, and the id is looked up among the files there are: no path of a client's making is ever
opened. A file that a link leads out of the tree is none of them.
"""

from __future__ import annotations

import asyncio
import os
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import cached_property

from clew.conversation.agent_sessions import AGENT_TOOLS, Agent
from clew.conversation.branches import Branch
from clew.conversation.session import Session
from clew.conversation.turns import Turn
from clew.errors import NotFound
from clew.web.paging import Page, paged
from clew.wire.entry import Item
from clew.wire.layout import AgentFile, SessionFile, Tree, claude_dir
from clew.wire.tail_reader import Tail

MOST = 4  # sessions that are kept open
ROOM = 256 << 20  # bytes of their files; an open session takes some 2.3 times its file (measured at 48 MB)


@dataclass(frozen=True)
class Reading:
    """What is read: a session or an agent of it, along one branch."""

    root: Session
    session: Session
    turns: tuple[Turn, ...]
    branch: Branch | None
    agent: Agent | None

    @cached_property
    def pages(self) -> tuple[Page, ...]:
        return paged(self.turns)

    @cached_property
    def _open(self) -> frozenset[int]:
        """Where calls stand that wait for their results."""
        return frozenset(call.entry.offset for call in self.session.pairing.open)

    def is_settled(self, page: Page) -> bool:
        """Whether what a page shows can no longer change by what is appended.

        It can while its turn goes on, a call on it waits, or an agent on it may still speak.
        """
        if not page or page is self.pages[-1]:
            return False
        last = self.turns[-1]
        entries = [entry for turn, start, stop in page for entry in turn.entries[start:stop]]
        return not (
            any(piece.turn is last and piece.start == 0 for piece in page)
            or any(entry.offset in self._open for entry in entries)
            or any(use.name in AGENT_TOOLS for entry in entries for use in entry.uses)
        )

    def turn(self, number: int) -> Turn:
        found = next((turn for turn in self.turns if turn.number == number), None)
        if found is None:
            raise NotFound(str(number), "turn")
        return found


class SessionSnapshot:
    """A session as it was at one moment. `state` tells moments apart, `edition` files that were written anew."""

    def __init__(self, session: Session, state: str, edition: int) -> None:
        self.session, self.state, self.edition = session, state, edition
        self._readings: dict[tuple[str, int], Reading] = {}

    def reading(self, agent: str = "", branch: int = 0) -> Reading:
        """The session or one of its agents, along its active branch or another. Raises NotFound."""
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
    """Whether a path lies below a folder, wherever links lead."""
    return os.path.realpath(path).startswith(root.rstrip(os.sep) + os.sep)


class CachedFile(SessionFile, frozen=True):
    """A file of the tree, whose agents are those in the tree."""

    root: str = ""

    def agents(self) -> list[AgentFile]:
        return [agent for agent in SessionFile.agents(self) if is_inside(str(agent.path), self.root)]


def state_of(file: SessionFile) -> str:
    """What changes when the file of a session does, or those of its agents."""
    stat = file.path.stat()
    parts = [f"{stat.st_dev}.{stat.st_ino}.{stat.st_size}.{stat.st_mtime_ns}"]
    parts += [f"{agent.id}.{agent.size}.{agent.mtime_ns}" for agent in file.agents()]
    return "/".join(parts)


@dataclass
class Book:
    """One session that may grow: what is new is read, and the rest is kept as it was read."""

    file: SessionFile
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _now: SessionSnapshot | None = None
    _tail: Tail | None = None
    _whole: tuple[Item, ...] = ()
    _edition: int = 0

    @property
    def size(self) -> int:
        return self._tail.offset if self._tail else self.file.size

    def refresh(self) -> SessionSnapshot:
        state = state_of(self.file)
        if self._now is None or self._now.state != state:
            session = self._session()
            self._now = SessionSnapshot(session, state, self._edition)
        return self._now

    def _session(self) -> Session:
        if self._tail is None:
            session = Session(self.file.path, file=self.file)
            self._whole = tuple(item for item in session.items if item.line.is_terminated)
            last = self._whole[-1].line if self._whole else None
            self._tail = Tail(self.file.path, last.end, last.number + 1) if last else Tail(self.file.path)
            if not (fresh := self._tail.read()):  # which also takes note of what stands before
                return session
        else:
            fresh = self._tail.read()
        self._edition += self._tail.restarted
        self._whole = tuple(fresh) if self._tail.restarted else (*self._whole, *fresh)
        return Session(self._whole, file=self.file)


class SessionCache:
    """The open sessions of a folder of Claude Code, those that were asked for last."""

    def __init__(self, claude: str | None) -> None:
        self.tree = Tree(claude_dir(claude))
        self.root = os.path.realpath(self.tree.root)
        self._books: OrderedDict[str, Book] = OrderedDict()

    def holds(self, path: str) -> bool:
        """Whether a path lies in the folder, wherever links lead."""
        return is_inside(path, self.root)

    def find(self, session: str) -> SessionFile:
        """The newest file of a session, by its whole id. Raises NotFound."""
        book = self._books.get(session)
        if book is not None and self.holds(str(book.file.path)) and book.file.path.exists():
            return book.file
        found = [
            file
            for project in self.tree.projects()
            for file in project.sessions()
            if file.id == session and not file.is_empty and self.holds(str(file.path))
        ]
        if not found:
            raise NotFound(session)
        newest = max(found, key=lambda file: file.mtime_ns)
        return CachedFile(newest.path, newest.project_folder, newest.size, newest.mtime_ns, self.root)

    async def open(self, session: str) -> SessionSnapshot:
        """A session as it is now. Raises NotFound."""
        book = self._books.get(session)
        if book is None or not self.holds(str(book.file.path)):
            file = await asyncio.to_thread(self.find, session)
            book = self._books.setdefault(session, Book(file))
        self._books.move_to_end(session)
        async with book.lock:
            try:
                found = await asyncio.to_thread(book.refresh)
            except FileNotFoundError:
                self._books.pop(session, None)
                raise NotFound(session) from None
        self._make_room()
        return found

    def _make_room(self) -> None:
        while len(self._books) > MOST or (len(self._books) > 1 and self._size > ROOM):
            self._books.popitem(last=False)

    @property
    def _size(self) -> int:
        return sum(book.size for book in self._books.values())
