"""The parts of `make bench`, in the order in which they run, and the generated trees that they share."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks import bulk, chat, collect, console, cores, edit, export, peer, search, startup, usage, web
from benchmarks.corpus import generate, parse_size
from benchmarks.measure import Line, Note


@dataclass(frozen=True, slots=True)
class Trees:
    """Sizes of the generated sessions, and the folder where they are kept during the run."""

    scratch: Path
    size: int
    big: int
    peers: int
    resumed: int
    is_quick: bool = False

    @property
    def sessions(self) -> Path:
        """A tree of `size` bytes with one session of `big` bytes."""
        root = self.scratch / "sessions"
        if not (root / "projects").exists():
            print(f"Writing {self.size / 1e6:.0f} MB of sessions …", file=sys.stderr)
            generate(root, self.size, 1, self.big)
        return root

    @property
    def shared_with_peers(self) -> Path:
        """The smaller tree that other programs index too."""
        return peer.tree(self.scratch, self.peers)

    @property
    def resumed_session(self) -> Path:
        return chat.large(self.scratch / "chat-tree", self.resumed)

    def own(self, part: str) -> Path:
        """An empty folder for one part."""
        folder = self.scratch / f"part-{part}"
        folder.mkdir(parents=True)
        return folder


FULL = {"size": parse_size("1G"), "big": parse_size("50M"), "peers": parse_size("200M"), "resumed": parse_size("100M")}
QUICK = {"size": parse_size("60M"), "big": parse_size("10M"), "peers": parse_size("30M"), "resumed": parse_size("10M")}


@dataclass(frozen=True, slots=True)
class Part:
    """One group of measurements. It runs in a process of its own, so that its memory is its own."""

    measure: Callable[[Trees, Path], Iterable[Line | Note]]
    is_quick: bool = True


PARTS = {
    "bulk": Part(lambda trees, own: bulk.measure(trees.sessions, trees.shared_with_peers)),
    "usage": Part(lambda trees, own: usage.measure(trees.sessions, own)),
    "cores": Part(lambda trees, own: cores.measure(trees.sessions, trees.shared_with_peers, own), is_quick=False),
    "start-up": Part(lambda trees, own: startup.measure(own)),
    "edit": Part(lambda trees, own: edit.measure(trees.sessions, own)),
    "export": Part(
        lambda trees, own: export.measure(trees.sessions, own, None if trees.is_quick else trees.shared_with_peers)
    ),
    "search": Part(lambda trees, own: search.measure(trees.sessions, own)),
    "collect": Part(lambda trees, own: collect.measure(trees.shared_with_peers, own)),
    "chat": Part(lambda trees, own: chat.measure(own, trees.resumed_session), is_quick=False),
    "console": Part(lambda trees, own: console.measure(own)),
    "web": Part(lambda trees, own: web.measure(own, compares=True), is_quick=False),
    "peers": Part(lambda trees, own: peer.compare(trees.scratch, trees.peers), is_quick=False),
}
