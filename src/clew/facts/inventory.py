"""Count the content of a session file: lines, types, versions, blocks, calls and prompts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from msgspec import Struct

from clew.conversation.session import Session
from clew.wire.entry import Blank, Entry


class Inventory(Struct, frozen=True):
    """Counts of the file's content. Blocks are those of message lists; a plain string counts as none."""

    size: int
    lines: int
    blank: int
    types: Mapping[str, int]
    versions: Mapping[str, int]
    calls: int
    human_turns: int
    stop_reasons: Mapping[str, int]  # of each assistant entry; `null` where there is none
    blocks: Mapping[str, int]
    result_entries: int

    @property
    def result_share(self) -> float:
        """The share of user entries that are tool results."""
        return self.result_entries / (self.types.get("user", 0) or 1)


def inventory(session: Session) -> Inventory:
    """Count the content of a session's own file."""
    types: Counter[str] = Counter()
    stops: Counter[str] = Counter()
    blocks: Counter[str] = Counter()
    results = 0
    for entry in session.entries:
        types[entry.type] += 1
        content = entry.message.content if entry.message else None
        if isinstance(content, list):
            blocks.update(block.type for block in content)
        if entry.type == "assistant" and entry.message:
            stop = entry.message.stop_reason
            stops["null" if stop is None else stop] += 1
        elif entry.type == "user" and entry.results:
            results += 1
    return Inventory(
        size=session.items[-1].line.end if session.items else 0,
        lines=sum(item.line.count for item in session.items),
        blank=sum(item.line.count for item in session.items if isinstance(item, Blank)),
        types=dict(types.most_common()),
        versions=session.versions,
        calls=len(session.calls),
        human_turns=len(unique_prompts(session)),
        stop_reasons=dict(stops.most_common()),
        blocks=dict(blocks.most_common()),
        result_entries=results,
    )


def unique_prompts(session: Session) -> tuple[Entry, ...]:
    """Return every prompt once; of two with one uuid the later counts."""
    return tuple({e.uuid or e.offset: e for e in session.prompts}.values())
