"""Collect the usage buckets of a report: from the summary if it is sufficient, otherwise from the reply store.

`kept` are transcripts outside of the tree, such as those of an archive: replies that Claude Code has deleted still count,
and a reply in both places counts once.
"""

from __future__ import annotations

from clew.report.usage_bucket import BucketView, DamagedReplies
from clew.report.usage_summary import cache_folder, file_states, load_summary
from clew.wire.tree_walk import list_transcripts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import NamedTuple, TypeVar

    from clew.report.usage_bucket import UsageBucket
    from clew.wire.tree_walk import TranscriptFile

    Result = TypeVar("Result")

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

    Single replies, and the sums of places, are read from the store at each iteration, so that not all of them are in
    memory; use `read` for them.
    """

    __slots__ = ("_rebuild", "buckets", "files", "is_busy", "missed")

    def __init__(
        self,
        buckets: Iterable[UsageBucket],
        files: list[TranscriptFile],
        missed: list[str],
        is_busy: bool = False,
        rebuild: Callable[[BaseException | None], object] | None = None,
    ) -> None:
        self.is_busy = is_busy
        self.buckets = buckets
        self.files = files
        self.missed = missed
        self._rebuild = rebuild

    def read(self, consume: Callable[[Iterable[UsageBucket]], Result]) -> Result:
        """Return what a function makes of the buckets. If the store is damaged, it is made again from the files first."""
        try:
            return consume(self.buckets)
        except DamagedReplies as error:
            if self._rebuild is None:
                raise
            self._rebuild(error.__cause__)
            return consume(self.buckets)

    def name_agents(self) -> None:
        """Put the types of agents, which the files beside theirs tell, in the place of their ids."""
        from pathlib import Path

        from clew.wire.side_files import read_meta

        types = {"": "(main)"}
        for file in self.files:
            if file.agent:
                meta = read_meta(Path(file.path).with_suffix(".meta.json"))
                types[file.agent] = (meta.agent_type if meta else None) or "(no type)"
        buckets = self.buckets
        self.buckets = BucketView(lambda: (_name_agent(bucket, types) for bucket in buckets))


def _name_agent(bucket: UsageBucket, types: dict[str, str]) -> UsageBucket:
    context = bucket.context
    return bucket._replace(context=context._replace(agent=types.get(context.agent, "(no type)"))) if context else bucket


def collect_buckets(
    root: str,
    cache: str | None,
    *,
    per_reply: bool,
    per_place: bool = False,
    kept: Sequence[ArchivedTranscript] = (),
    progress: Callable[[int, int], None] | None = None,
    jobs: int | None = None,
) -> CollectedBuckets:
    """Collect every reply below a folder of Claude Code once: one bucket each if `per_reply`, else by time and model, and
    with project, session and agent if `per_place`.

    `jobs` is the number of processes that read, by default one for each core.
    """
    missed: list[str] = []
    files = [*list_transcripts(root, missed), *(each.found for each in kept)]
    if not (per_reply or per_place) and cache is not None:
        summary = load_summary(cache_folder(root, cache))
        if summary is not None and summary.is_whole and summary.states == file_states(files):
            return CollectedBuckets(summary.buckets, files, missed)
    from clew.report.reply_store import ReplyStore

    store = ReplyStore(root, cache, {each.found.path: each.read for each in kept}, jobs)
    is_whole = not missed
    sums = store.refresh(files, is_whole, progress).buckets
    missed += store.failed
    if not (per_reply or per_place):
        store.close()
        return CollectedBuckets(sums, files, missed, store.is_busy)

    def rebuild(error: BaseException | None) -> None:
        store.reset(error or DamagedReplies())
        store.refresh(files, is_whole)

    view = BucketView(store.buckets if per_reply else store.place_buckets)
    return CollectedBuckets(view, files, missed, store.is_busy, rebuild)
