"""Row and event types of the turn tree."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import Struct, field


class TreeRow(Struct, frozen=True):
    """One line of the tree: a turn, compaction, agent, queued prompt, pin, problem, or a call without a result.

    `rails` says for each lane up to the row's own whether it continues below. `twigs` is for events below a turn: at
    each level, whether another follows; a row without twigs is on its lane. `line` is a line number of the file.
    """

    kind: str
    text: str = ""
    rails: tuple[bool, ...] = ()
    twigs: tuple[bool, ...] = ()
    begins: bool = False
    is_active: bool = False
    number: int | None = None
    branch: int | None = None
    time: datetime | None = None
    line: int | None = None
    facts: dict[str, Any] = field(default_factory=dict)


class TurnEvent(Struct, frozen=True):
    """An event at a line; `below` are the events inside it."""

    at: int
    row: TreeRow
    below: tuple[TurnEvent, ...] = ()


def new_event(kind: str, line: int, text: str = "", time: datetime | None = None, **facts: Any) -> TurnEvent:
    return TurnEvent(line, TreeRow(kind, text, time=time, line=line, facts=facts))
