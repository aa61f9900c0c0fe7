"""Match prompts that were queued while the model was busy with the operations that removed them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from clew.wire.entry import Entry
from clew.wire.entry_types import QueueOperation


class Queued(Struct, frozen=True):
    """A queued message, and the operation that removed it."""

    text: str
    entry: Entry
    ending: Entry | None = None

    @property
    def outcome(self) -> str:
        """`dequeue`, `remove`, `popAll`, or `waiting` for a message that was not removed."""
        return QueueOperation.of(self.ending).operation if self.ending else "waiting"

    @property
    def reason(self) -> str:
        return QueueOperation.of(self.ending).reason if self.ending else ""

    @property
    def seconds(self) -> float | None:
        """The time that the message waited."""
        start, stop = self.entry.time, self.ending.time if self.ending else None
        return (stop - start).total_seconds() if start and stop else None


class Timeline(Struct, frozen=True):
    """The messages of a queue in the order of their arrival, and the operations that match none of them."""

    messages: tuple[Queued, ...]
    strays: tuple[Entry, ...]

    @property
    def waiting(self) -> tuple[Queued, ...]:
        """The messages that were not removed."""
        return tuple(m for m in self.messages if m.ending is None)


def queue_timeline(entries: Iterable[Entry]) -> Timeline:
    """Match each enqueue with its dequeue or removal: by text if the operation has one, else the oldest."""
    messages: list[Queued] = []
    arrived: deque[int] = deque()  # indexes of messages in the order of their arrival, some of which were removed
    same: dict[str, deque[int]] = {}  # the same by text
    strays: list[Entry] = []
    for entry in entries:
        if entry.type != "queue-operation":
            continue
        operation = QueueOperation.of(entry)
        text = operation.text
        if operation.operation == "enqueue":
            arrived.append(len(messages))
            same.setdefault(text, deque()).append(len(messages))
            messages.append(Queued(text, entry))
            continue
        queue = same.get(text, deque()) if text and operation.operation != "popAll" else arrived
        removed = list(_take_waiting(queue, messages, operation.operation))
        if not removed:
            strays.append(entry)
        for index in removed:
            messages[index] = replace(messages[index], ending=entry)
    return Timeline(tuple(messages), tuple(strays))


def _take_waiting(queue: deque[int], messages: Sequence[Queued], operation: str) -> Iterator[int]:
    """Take the messages that an operation removes from a queue: the oldest that still waits, or all of them."""
    if operation not in ("dequeue", "remove", "popAll"):
        return
    while queue:
        index = queue.popleft()
        if messages[index].ending is None:
            yield index
            if operation != "popAll":
                return
