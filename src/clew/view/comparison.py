"""Compare two paths of a conversation, and what each did to the files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import takewhile

from msgspec import Struct

from clew.conversation.locate import locate_entry
from clew.conversation.replies import Call
from clew.conversation.session import Session
from clew.conversation.turns import Turn
from clew.facts.file_changes import UNKNOWN, FileChange, FileContent, collect_changes
from clew.facts.unified_diff import unified


class ConversationPath(Struct, frozen=True):
    """The turns from the start of a session to a position in it. File names are relative to `root`."""

    name: str
    session: Session
    turns: tuple[Turn, ...]
    root: str = ""

    def states(self, turns: int) -> dict[str, FileContent]:
        """Return the content of each file that the first `turns` turns changed."""
        return {path: change.after for path, change in self._relative_changes(self._work(self.turns[:turns])).items()}

    def changes(self, skip: int = 0) -> dict[str, FileChange]:
        """Return the file changes after the first `skip` turns, including those of agents."""
        return self._relative_changes(self._work(self.turns[skip:]), self.states(skip))

    def _relative_changes(
        self, work: Iterator[Call], known: Mapping[str, FileContent] | None = None
    ) -> dict[str, FileChange]:
        """Return changes with names relative to the root, so that two folders can be compared."""
        root = f"{self.root.rstrip('/')}/"
        absolute = collect_changes(
            work, {name if name.startswith("/") else root + name: s for name, s in (known or {}).items()}
        )
        return {path.removeprefix(root): change for path, change in absolute.items()}

    def _work(self, turns: Sequence[Turn]) -> Iterator[Call]:
        for turn in turns:
            yield from self._calls(turn.calls)

    def _calls(self, calls: Sequence[Call]) -> Iterator[Call]:
        for call in calls:
            for agent in self.session.agents_for(call):
                yield from self._calls(agent.session.calls)
            yield call


class FileDifference(Struct, frozen=True):
    """A file that the two paths left in different states."""

    path: str
    left: FileContent
    right: FileContent

    def lines(self, left: str, right: str) -> list[str]:
        """Return a unified diff; [] if one of the contents is unknown."""
        if UNKNOWN in (self.left, self.right):
            return []
        a, b = ((state.text or "").splitlines() for state in (self.left, self.right))
        return unified(a, b, (left, right))


class Comparison(Struct, frozen=True, dict=True):
    left: ConversationPath
    right: ConversationPath

    @cached_property
    def shared(self) -> int:
        """The number of turns that both paths start with."""
        pairs = zip(self.left.turns, self.right.turns, strict=False)
        return sum(1 for _ in takewhile(lambda pair: _is_same_turn(*pair), pairs))

    @cached_property
    def differences(self) -> tuple[FileDifference, ...]:
        """The files that differ. A file that one path did not change has its content at the fork."""
        left, right = self.left.changes(self.shared), self.right.changes(self.shared)
        at_fork = self.left.states(self.shared)
        differences = []
        for path, change in {**left, **right}.items():
            start = at_fork.get(path, change.before)
            ends = [side[path].after if path in side else start for side in (left, right)]
            if ends[0] != ends[1] or ends[0] == UNKNOWN:
                differences.append(FileDifference(path, *ends))
        return tuple(differences)


def _is_same_turn(a: Turn, b: Turn) -> bool:
    """Return whether two turns are equal or copies: a copy may have other uuids, but has the same replies."""
    return a.text == b.text and [r.id for r in a.replies] == [r.id for r in b.replies]


def conversation_path(session: Session, position: str = "") -> ConversationPath:
    """Return the path to a position in a session, or to its end. Raises NotFound."""
    name = f"{session.id[:8]}@{position}" if position else session.id[:8]
    return ConversationPath(name, session, session.turns_to(locate_entry(session, position)), session.cwd or "")


def diff(left: Session, right: Session) -> Comparison:
    """Compare two sessions: the turns that they share, and the files that they left in different states."""
    return Comparison(conversation_path(left), conversation_path(right))
