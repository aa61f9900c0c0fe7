"""Collect the usage buckets of a report: from the summary if it is sufficient, otherwise from the reply store.

`kept` are transcripts outside of the tree, such as those of an archive: replies that Claude Code has deleted still count,
and a reply in both places counts once.
"""

from __future__ import annotations

from clew.report.usage_summary import cache_folder, file_states, load_summary
from clew.wire.tree_walk import list_transcripts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NamedTuple

    from clew.report.usage_bucket import UsageBucket
    from clew.wire.tree_walk import TranscriptFile

    class ArchivedTranscript(NamedTuple):
        """A transcript outside of the tree. `found.path` is a unique name, not a path; `read` returns the content."""

        found: TranscriptFile
        read: Callable[[], bytes]
else:
    from collections import namedtuple

    ArchivedTranscript = namedtuple("ArchivedTranscript", "found read")


class CollectedBuckets:
    """Buckets, the files they come from, and the paths that could not be read. `is_busy` is True if some may be missing,
    because another process was reading them.
    """

    __slots__ = ("buckets", "files", "is_busy", "missed")

    def __init__(
        self, buckets: list[UsageBucket], files: list[TranscriptFile], missed: list[str], is_busy: bool = False
    ) -> None:
        self.is_busy = is_busy
        self.buckets = buckets
        self.files = files
        self.missed = missed

    def name_agents(self) -> None:
        """Put the types of agents, which the files beside theirs tell, in the place of their ids."""
        from pathlib import Path

        from clew.wire.side_files import read_meta

        types = {"": "(main)"}
        for file in self.files:
            if file.agent:
                meta = read_meta(Path(file.path).with_suffix(".meta.json"))
                types[file.agent] = (meta.agent_type if meta else None) or "(no type)"
        self.buckets = [
            bucket._replace(context=bucket.context._replace(agent=types.get(bucket.context.agent, "(no type)")))
            if bucket.context
            else bucket
            for bucket in self.buckets
        ]


def collect_buckets(
    root: str,
    cache: str | None,
    *,
    per_reply: bool,
    kept: Sequence[ArchivedTranscript] = (),
    progress: Callable[[int, int], None] | None = None,
    jobs: int | None = None,
) -> CollectedBuckets:
    """Collect every reply below a folder of Claude Code once: one bucket each if `per_reply`, else by time and model.

    `jobs` is the number of processes that read, by default one for each core.
    """
    missed: list[str] = []
    files = [*list_transcripts(root, missed), *(each.found for each in kept)]
    if not per_reply and cache is not None:
        summary = load_summary(cache_folder(root, cache))
        if summary is not None and summary.is_whole and summary.states == file_states(files):
            return CollectedBuckets(summary.buckets, files, missed)
    from clew.report.reply_store import ReplyStore

    store = ReplyStore(root, cache, {each.found.path: each.read for each in kept}, jobs)
    try:
        buckets = store.refresh(files, not missed, progress).buckets
        if per_reply:
            buckets = store.load_buckets(files, not missed)
        missed += store.failed
        return CollectedBuckets(buckets, files, missed, store.is_busy)
    finally:
        store.close()
