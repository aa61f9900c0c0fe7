"""The queue: messages that were typed, or came in, while the model was busy, and what became of each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from clew.wire.entry import Entry
from clew.wire.entry_types import QueueOperation


@dataclass(frozen=True, slots=True)
class Queued:
    """A message that was put into the queue, and the operation that took it out again."""

    text: str
    entry: Entry
    ending: Entry | None = None

    @property
    def outcome(self) -> str:
        """`dequeue`, `remove`, `popAll`, or `waiting` for a message that nothing took out."""
        return QueueOperation.of(self.ending).operation if self.ending else "waiting"

    @property
    def reason(self) -> str:
        return QueueOperation.of(self.ending).reason if self.ending else ""

    @property
    def seconds(self) -> float | None:
        """How long it waited."""
        start, stop = self.entry.time, self.ending.time if self.ending else None
        return (stop - start).total_seconds() if start and stop else None


@dataclass(frozen=True, slots=True)
class Timeline:
    """The messages of a queue in the order of their arrival, and the operations that match none of them."""

    messages: tuple[Queued, ...]
    strays: tuple[Entry, ...]

    @property
    def waiting(self) -> tuple[Queued, ...]:
        """Those that nothing took out."""
        return tuple(m for m in self.messages if m.ending is None)


def timeline(entries: Iterable[Entry]) -> Timeline:
    """Each enqueue with its dequeue or removal: the one with the same text where there is a text, else the oldest."""
    messages: list[Queued] = []
    waiting: list[int] = []
    strays: list[Entry] = []
    for entry in entries:
        if entry.type != "queue-operation":
            continue
        operation = QueueOperation.of(entry)
        if operation.operation == "enqueue":
            waiting.append(len(messages))
            messages.append(Queued(operation.text, entry))
            continue
        taken = _taken(operation, [(index, messages[index].text) for index in waiting])
        if not taken:
            strays.append(entry)
        for index in taken:
            waiting.remove(index)
            messages[index] = replace(messages[index], ending=entry)
    return Timeline(tuple(messages), tuple(strays))


def _taken(operation: QueueOperation, waiting: list[tuple[int, str]]) -> list[int]:
    """The messages that an operation takes out of the queue."""
    if operation.operation == "popAll":
        return [index for index, _ in waiting]
    if operation.operation not in ("dequeue", "remove"):
        return []
    same = [index for index, text in waiting if text == operation.text]
    return (same if operation.text else [index for index, _ in waiting])[:1]
