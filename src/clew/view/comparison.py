"""Comparisons: two ways that a conversation went, and what each made of the files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile

from clew.conversation.locate import locate_entry
from clew.conversation.replies import Call
from clew.conversation.session import Session
from clew.conversation.turns import Turn
from clew.facts.file_changes import UNKNOWN, FileChange, FileContent, changes
from clew.facts.unified_diff import unified


@dataclass(frozen=True)
class ConversationPath:
    """The turns from the beginning of a session to a place in it. `root` is the folder that its files are named from."""

    name: str
    session: Session
    turns: tuple[Turn, ...]
    root: str = ""

    def states(self, turns: int) -> dict[str, FileContent]:
        """Each file that was changed in the first so many turns, as they left it."""
        return {path: change.after for path, change in self._named(self._work(self.turns[:turns])).items()}

    def changes(self, behind: int = 0) -> dict[str, FileChange]:
        """What the turns behind the first so many made of each file, their agents' work included."""
        return self._named(self._work(self.turns[behind:]), self.states(behind))

    def _named(self, work: Iterator[Call], known: Mapping[str, FileContent] | None = None) -> dict[str, FileChange]:
        """Files below the root under their names from there, so that two folders can be compared."""
        root = f"{self.root.rstrip('/')}/"
        found = changes(work, {name if name.startswith("/") else root + name: s for name, s in (known or {}).items()})
        return {path.removeprefix(root): change for path, change in found.items()}

    def _work(self, turns: Sequence[Turn]) -> Iterator[Call]:
        for turn in turns:
            yield from self._calls(turn.calls)

    def _calls(self, calls: Sequence[Call]) -> Iterator[Call]:
        for call in calls:
            for agent in self.session.agents_for(call):
                yield from self._calls(agent.session.calls)
            yield call


@dataclass(frozen=True)
class FileDifference:
    """A file that the two ways left in different states."""

    path: str
    left: FileContent
    right: FileContent

    def lines(self, left: str, right: str) -> list[str]:
        """As a unified diff; empty if nothing tells what one of them held."""
        if UNKNOWN in (self.left, self.right):
            return []
        a, b = ((state.text or "").splitlines() for state in (self.left, self.right))
        return unified(a, b, (left, right))


@dataclass(frozen=True)
class Comparison:
    left: ConversationPath
    right: ConversationPath

    @cached_property
    def shared(self) -> int:
        """How many turns both begin with."""
        pairs = zip(self.left.turns, self.right.turns, strict=False)
        return sum(1 for _ in takewhile(lambda pair: _is_same(*pair), pairs))

    @cached_property
    def differences(self) -> tuple[FileDifference, ...]:
        """The files in which they differ. A file that one way left alone is as it was where they part."""
        left, right = self.left.changes(self.shared), self.right.changes(self.shared)
        parted = self.left.states(self.shared)
        found = []
        for path, change in {**left, **right}.items():
            start = parted.get(path, change.before)
            ends = [side[path].after if path in side else start for side in (left, right)]
            if ends[0] != ends[1] or ends[0] == UNKNOWN:
                found.append(FileDifference(path, *ends))
        return tuple(found)


def _is_same(a: Turn, b: Turn) -> bool:
    """Whether a turn is in both, or in one as a copy: a copy may have other uuids, but never other replies."""
    return a.text == b.text and [r.id for r in a.replies] == [r.id for r in b.replies]


def way(session: Session, place: str = "") -> ConversationPath:
    """The way to a place in a session, or to where it goes on. Raises NotFound."""
    name = f"{session.id[:8]}@{place}" if place else session.id[:8]
    return ConversationPath(name, session, session.turns_to(locate_entry(session, place)), session.cwd or "")


def diff(left: Session, right: Session) -> Comparison:
    """Compare two sessions: the turns that they share, and the files that they left in different states."""
    return Comparison(way(left), way(right))
