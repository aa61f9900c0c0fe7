"""Add up the lines of a file in their order: what its facts need beyond the links between lines.

Adding lines costs what was added. The result is the same in any number of steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from clew.collect.sql.call_facts import OF_AGENT, attribution
from clew.collect.sql.sql_values import is_plain_name
from clew.conversation.reply_ids import reply_key
from clew.conversation.rounds import Opening, OpeningFinder
from clew.facts.token_usage import Spend, usage
from clew.wire.bulk_scan import scan
from clew.wire.entry import Damaged, Entry, Item, entries
from clew.wire.entry_types import ORIGIN_TYPE
from clew.wire.usage_fields import USAGE_KEY, Billed


class LineTotals:
    """What the lines of a file add up to. `is_agent` is that of its session: if it changes, all is added again."""

    def __init__(self, is_agent: bool) -> None:
        self.is_agent = is_agent
        self.damaged = self.compactions = self._entries = 0
        self.versions: dict[str, None] = {}
        self.started: datetime | None = None
        self.ended: datetime | None = None
        self.cwd = self.branch_name = self.slug = ""
        self.agent_type = ""
        self.copied_before = 0
        """The offset before which every line was copied from another session by an edit of clew; 0 in an original."""
        self.spent: dict[str, Spend] = {}
        self.replies: dict[str, list[Entry]] = {}
        self.openings: dict[int, Opening] = {}
        """The rounds by the offsets of their inputs."""
        self.pull_requests: list[Entry] = []
        self.has_plain_names = True
        """Whether every reply and call is named in a store as in the file, so that no two can have the same name."""
        self._finder = OpeningFinder(is_agent)

    @property
    def basis(self) -> tuple[object, ...]:
        """What rows of earlier lines also depend on."""
        return self.is_agent, self.cwd, self.copied_before, self.has_plain_names

    def add(self, data: bytes, items: Sequence[Item]) -> None:
        """Add the next lines, as bytes and as items."""
        self.damaged += sum(isinstance(item, Damaged) for item in items)
        for key, spend in spent_in(data).items():
            self.spent[key] = spend.merge(self.spent[key]) if key in self.spent else spend
            self.has_plain_names = self.has_plain_names and is_plain_name(key)
        for entry in entries(items):
            self._add_entry(entry)

    def _add_entry(self, entry: Entry) -> None:
        if entry.type == "assistant":
            key = reply_key(entry) or f"#{self._entries}"
            self.replies.setdefault(key, []).append(entry)
            self.has_plain_names = self.has_plain_names and all(map(is_plain_name, _names(key, entry)))
        elif entry.type == ORIGIN_TYPE:
            fields = entry.data
            if fields.get("source") and not fields.get("foreign"):
                self.copied_before = max(self.copied_before, entry.offset)
        elif entry.type == "pr-link":
            self.pull_requests.append(entry)
        if opening := self._finder.add(entry):
            self.openings[entry.offset] = opening
        if entry.uuid and (time := entry.time):
            self.started = min(self.started or time, time)
            self.ended = max(self.ended or time, time)
        if entry.version:
            self.versions[entry.version] = None
        self.cwd = self.cwd or entry.cwd or ""
        self.branch_name = entry.git_branch or self.branch_name
        self.slug = entry.slug or self.slug
        self.compactions += entry.is_boundary
        self.agent_type = self.agent_type or attribution((entry,), OF_AGENT)
        self._entries += 1


def spent_in(data: bytes) -> dict[str, Spend]:
    """Return the replies that have usage in some lines, also those of agents that the session only repeats."""
    billed = (entry for piece in scan(data, shape=Billed, holding=USAGE_KEY) for entry in piece.spoken)
    return dict(usage(billed).own)


def _names(key: str, entry: Entry) -> Iterator[str]:
    yield key
    yield from (use.id or "" for use in entry.uses)
