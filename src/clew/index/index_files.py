"""The open files of an index: what building, scanning and semantic search need of it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clew.index.index_schema import Shard


class IndexFiles:
    """The shards of an open index, its folder ("" if it is in memory), and the folder of Claude Code that it covers."""

    def __init__(self, root: str, folder: str) -> None:
        self.root = root
        self.folder = folder
        self.shards: list[Shard] = []
