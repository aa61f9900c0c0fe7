"""Collect what a resume takes from the lines before those that it sends, without decoding what was said in them."""

from __future__ import annotations

import os
from collections.abc import Container, Iterator
from datetime import datetime
from itertools import takewhile

from clew.conversation.reply_ids import reply_id
from clew.wire.bulk_scan import scan
from clew.wire.content_block import Tokens
from clew.wire.entry import Entry, entries, parse_line
from clew.wire.json_codec import decode
from clew.wire.line import Line, open_regular
from clew.wire.resume_fields import EarlierEntry, RequestSize
from clew.wire.timestamps import parse_timestamp

SYNTHETIC = "<synthetic>"
_SNAPSHOTS = ("file-history-snapshot", "file-history-delta")
_STANDARD_TIME = 24  # the length of a timestamp as Claude Code writes it: such times are ordered as text


class EarlierLines:
    """The state that the lines of a file up to an offset leave, and the ids by which later lines may refer to them."""

    def __init__(self, path: str | os.PathLike[str], stop: int) -> None:
        self._path = path
        self.parents: dict[str, str | None] = {}  # in the order of the file; of a compaction the last compacted line
        self.replies: set[str | None] = set()
        self.answered: set[str] = set()  # ids of calls
        self.types: set[str] = set()
        self.empty_snapshots: set[str] = set()  # messages whose snapshot has no files
        self.pull_requests: set[str] = set()
        self.largest_requests: dict[str, int] = {}
        self.has_started_tasks = False
        self.ended: datetime | None = None
        self._stateful: list[tuple[str, str | None, int]] = []  # uuid, parent and offset of lines with a mode or todos
        self._snapshots: dict[str, list[int]] = {}  # by message, the offsets of the lines about its files
        self._queue: list[int] = []
        for batch in scan(path, stop=stop, shape=EarlierEntry) if stop else ():
            self._add_times(batch.spoken)
            for entry, offset in zip(batch.spoken, batch.offsets, strict=True):
                self._add(entry, offset)

    def _add(self, entry: EarlierEntry, offset: int) -> None:
        kind = entry.type
        if entry.uuid is not None:
            parent = entry.parent
            if parent is None and entry.subtype == "compact_boundary":
                parent = entry.logical_parent or next(reversed(self.parents), None)
            self.parents[entry.uuid] = parent
        if kind == "assistant":
            self._add_reply(entry)
        elif kind == "user":
            self._add_user_line(entry, offset)
        else:
            self._add_other(entry, offset)

    def _add_reply(self, entry: EarlierEntry) -> None:
        self.replies.add(reply_id(entry))
        message = entry.message
        if message and message.usage and message.model and message.model != SYNTHETIC:
            size = request_size(message.usage)
            if size > self.largest_requests.get(message.model, -1):
                self.largest_requests[message.model] = size

    def _add_user_line(self, entry: EarlierEntry, offset: int) -> None:
        content = entry.message.content if entry.message else None
        if isinstance(content, list):
            self.answered.update(block.tool_use_id for block in content if block.tool_use_id is not None)
        if entry.uuid is not None and (entry.permission_mode or entry.changes_todos):
            self._stateful.append((entry.uuid, entry.parent, offset))
        self.has_started_tasks |= entry.starts_task

    def _add_other(self, entry: EarlierEntry, offset: int) -> None:
        kind = entry.type
        self.types.add(kind)
        if kind in _SNAPSHOTS:
            owner = entry.snapshot.message_id if entry.snapshot else entry.snapshot_message_id
            if message := owner or entry.message_id:
                self._snapshots.setdefault(message, []).append(offset)
            if entry.message_id and entry.snapshot is None and kind == _SNAPSHOTS[0]:
                self.empty_snapshots.add(entry.message_id)
        elif kind == "pr-link":
            self.pull_requests.add(str(decode(entry.pr_url)))
        elif kind == "queue-operation":
            self._queue.append(offset)

    def _add_times(self, entries: list[EarlierEntry]) -> None:
        stamps = [e.timestamp for e in entries if e.uuid]
        standard = [s for s in stamps if isinstance(s, str) and len(s) == _STANDARD_TIME]
        odd = [s for s in stamps if s is not None and not (isinstance(s, str) and len(s) == _STANDARD_TIME)]
        for stamp in (*odd, max(standard)) if standard else odd:
            time = parse_timestamp(stamp)
            if time is not None and (self.ended is None or time > self.ended):
                self.ended = time

    def history(self, uuid: str | None) -> Iterator[Entry]:
        """Yield the lines with a mode or a todo list on the path to an entry, the newest first.

        A result of a parallel call hangs beside the path, below one of its entries.
        """
        if not self._stateful or uuid is None:
            return
        path = self._path_to(uuid)
        for own, parent, offset in reversed(self._stateful):
            if own in path or parent in path:
                yield from self._read([offset])

    def _path_to(self, uuid: str) -> set[str]:
        """Return the entries on the path to an entry; before a missing parent every entry counts."""
        path: dict[str, None] = {}
        above: str | None = uuid
        while above is not None and above not in path and above in self.parents:
            path[above] = None
            above = self.parents[above]
        if above is not None and above not in path:
            last = next(reversed(path), None)
            return {*path, *takewhile(lambda key: key != last, self.parents)}
        return set(path)

    def file_history(self, messages: Container[str]) -> Iterator[Entry]:
        """Yield the lines about the files of these messages, and of the last message that has such lines."""
        last = next(reversed(self._snapshots), None)
        wanted = (places for message, places in self._snapshots.items() if message in messages or message == last)
        return self._read(sorted(offset for places in wanted for offset in places))

    def queue_operations(self) -> Iterator[Entry]:
        return self._read(self._queue)

    def _read(self, offsets: list[int]) -> Iterator[Entry]:
        if not offsets:
            return
        with open_regular(self._path) as file:
            for offset in offsets:
                file.seek(offset)
                raw = file.readline()
                item = parse_line(Line(1, offset, raw, 0, len(raw)))
                yield from (entry for entry in entries([item]) if entry.offset == offset)


def request_size(usage: RequestSize | Tokens) -> int:
    """Return the tokens of a request with its reply."""
    written, read = usage.cache_creation_input_tokens or 0, usage.cache_read_input_tokens or 0
    return (usage.input_tokens or 0) + written + read + (usage.output_tokens or 0)
