"""Gathering: the cells that a report needs, from the summary if it will do, else from the store.

`kept` are transcripts beyond the tree, such as those of an archive: what Claude Code has cleaned up still counts, and what
is in both counts once.
"""

from __future__ import annotations

from clew.report.usage_summary import folder_of, load, states_of
from clew.wire.tree_walk import list_transcripts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NamedTuple

    from clew.report.usage_bucket import Cell
    from clew.wire.tree_walk import TranscriptFile

    class ArchivedTranscript(NamedTuple):
        """A transcript that is not in the tree: a name that no other has in place of a path, and how to read it."""

        found: TranscriptFile
        read: Callable[[], bytes]
else:
    from collections import namedtuple

    ArchivedTranscript = namedtuple("Kept", "found read")


class Gathered:
    """Cells, the files that they are from, and what could not be looked at."""

    __slots__ = ("cells", "files", "missed")

    def __init__(self, cells: list[Cell], files: list[TranscriptFile], missed: list[str]) -> None:
        self.cells = cells
        self.files = files
        self.missed = missed


def gather(
    root: str,
    cache: str | None,
    *,
    places: bool,
    kept: Sequence[ArchivedTranscript] = (),
    progress: Callable[[int, int], None] | None = None,
) -> Gathered:
    """Every reply below a folder of Claude Code, each once; with `places` one by one, else summed up by time and model."""
    missed: list[str] = []
    files = [*list_transcripts(root, missed), *(each.found for each in kept)]
    if not places and cache is not None:
        summary = load(folder_of(root, cache))
        if summary is not None and summary.is_whole and summary.states == states_of(files):
            return Gathered(summary.cells, files, missed)
    from clew.report.reply_store import Store

    store = Store(root, cache, {each.found.path: each.read for each in kept})
    try:
        cells = store.refresh(files, not missed, progress).cells
        if places:
            cells = store.every_cell(files, not missed)
        missed += store.failed
        return Gathered(cells, files, missed)
    finally:
        store.close()
