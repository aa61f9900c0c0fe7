"""Usage: the tokens that replies took, counted once however often they are written down.

Several lines carry the usage of one reply, and a forked or resumed file repeats the replies of another. A `Usage` therefore
keeps what it counted by reply; adding two of them joins the sets, so that a reply in both counts once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property

from clew.conversation.session import Session
from clew.wire.block import Tokens
from clew.wire.entry import Entry


@dataclass(frozen=True, slots=True)
class Count:
    """Tokens of one reply, or of many added up."""

    input: int = 0
    output: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    cache_read: int = 0
    web_searches: int = 0
    web_fetches: int = 0

    @property
    def cache_write(self) -> int:
        return self.cache_write_5m + self.cache_write_1h

    @property
    def total(self) -> int:
        return self.input + self.output + self.cache_write + self.cache_read

    def __add__(self, other: Count) -> Count:
        return Count(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(Count)))


@dataclass(frozen=True, slots=True)
class Spend:
    """One reply: its tokens, its model, and when."""

    count: Count
    model: str
    timestamp: str
    tier: str = ""

    def outranks(self, other: Spend) -> bool:
        """The line with more output tokens is the later word; ties go to the one that sorts last, in any order."""
        return self._rank > other._rank

    @property
    def _rank(self) -> tuple[int, int, str, str]:
        return (self.count.output, self.count.total, self.timestamp, self.model)


@dataclass(frozen=True)
class Usage:
    """A sum of replies. It adds: `sum(map(usage, sessions), Usage())`."""

    own: Mapping[str, Spend] = field(default_factory=dict)
    parts: tuple[Usage, ...] = ()

    def __add__(self, other: Usage) -> Usage:
        return Usage(parts=(self, other))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Usage) and self.replies == other.replies

    def __hash__(self) -> int:
        return hash(frozenset(self.replies))

    @cached_property
    def replies(self) -> Mapping[str, Spend]:
        """Each reply once, by its message id."""
        found: dict[str, Spend] = {}
        for usage in self._leaves():
            for key, spend in usage.own.items():
                if key not in found or spend.outranks(found[key]):
                    found[key] = spend
        return found

    def _leaves(self) -> Iterator[Usage]:
        stack = [self]
        while stack:
            usage = stack.pop()
            yield usage
            stack.extend(usage.parts)

    @cached_property
    def total(self) -> Count:
        return sum((s.count for s in self.replies.values()), Count())

    @property
    def by_model(self) -> dict[str, Count]:
        return self._by(lambda spend: spend.model)

    @property
    def by_day(self) -> dict[str, Count]:
        """By the UTC day of the reply."""
        return self._by(lambda spend: spend.timestamp[:10])

    def _by(self, key: Callable[[Spend], str]) -> dict[str, Count]:
        found: dict[str, Count] = {}
        for spend in self.replies.values():
            name = key(spend)
            found[name] = found.get(name, Count()) + spend.count
        return dict(sorted(found.items()))


def usage(source: Session | Iterable[Entry]) -> Usage:
    """The usage of a session, its agents included; or of some entries."""
    if isinstance(source, Session):
        return sum((_spent(a.session.entries) for a in source.agents), _spent(source.entries))
    return _spent(source)


def _spent(entries: Iterable[Entry]) -> Usage:
    found: dict[str, Spend] = {}
    for entry in entries:
        message = entry.message
        if message is None or message.usage is None or entry.type != "assistant":
            continue
        key = message.id or entry.request_id or entry.uuid or f"@{entry.offset}"
        spend = Spend(
            count(message.usage),
            message.model or "",
            str(entry.timestamp or ""),
            message.usage.service_tier or "",
        )
        if key not in found or spend.outranks(found[key]):
            found[key] = spend
    return Usage(found)


def count(tokens: Tokens) -> Count:
    """What the API reported; cache writes of unknown lifetime count as the five-minute kind."""
    kinds = tokens.cache_creation
    hour = (kinds.ephemeral_1h or 0) if kinds else 0
    short = (kinds.ephemeral_5m or 0) if kinds else 0
    written = tokens.cache_creation_input_tokens or 0
    web = tokens.server_tool_use
    return Count(
        input=tokens.input_tokens or 0,
        output=tokens.output_tokens or 0,
        cache_write_5m=max(short, written - hour),
        cache_write_1h=hour,
        cache_read=tokens.cache_read_input_tokens or 0,
        web_searches=(web.web_search or 0) if web else 0,
        web_fetches=(web.web_fetch or 0) if web else 0,
    )
