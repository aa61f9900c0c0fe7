"""Usage: the tokens that replies took, counted once however often they are written down.

Several lines carry the usage of one reply, and a forked or resumed file repeats the replies of another. A `Usage` therefore
keeps what it counted by reply; adding two of them joins the sets, so that a reply in both counts once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC
from functools import cached_property

from msgspec import Struct
from msgspec.structs import astuple

from clew.conversation.session import Session
from clew.wire.block import Tokens
from clew.wire.entry import Spoken
from clew.wire.time import instant, stamp

SYNTHETIC = "<synthetic>"  # written by the program in the model's name: no tokens stand behind it


class Count(Struct, frozen=True):
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
        return total((self, other))


def total(counts: Iterable[Count]) -> Count:
    """Counts added up, column by column."""
    columns = zip(
        *(
            (c.input, c.output, c.cache_write_5m, c.cache_write_1h, c.cache_read, c.web_searches, c.web_fetches)
            for c in counts
        ),
        strict=True,
    )
    return Count(*map(sum, columns))


class Spend(Struct, frozen=True):
    """One reply: its tokens, its model, and when."""

    count: Count
    model: str
    timestamp: str
    tier: str = ""

    def outranks(self, other: Spend) -> bool:
        """The line with more output tokens is the later word; ties go to the one that sorts last, in any order."""
        return self._rank > other._rank

    @property
    def _rank(self) -> tuple[int, int, str, str, tuple[int, ...], str]:
        return (self.count.output, self.count.total, self.timestamp, self.model, astuple(self.count), self.tier)

    @property
    def day(self) -> str:
        """The UTC day of the reply; empty if it has no time."""
        if self.timestamp.endswith("Z"):
            return self.timestamp[:10]
        time = instant(self.timestamp)
        return time.astimezone(UTC).date().isoformat() if time else ""


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

    def __repr__(self) -> str:
        return f"<Usage of {len(self.replies)} replies: {self.total.total} tokens>"

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
        return total(spend.count for spend in self.replies.values())

    @property
    def by_model(self) -> dict[str, Count]:
        return self._by(lambda spend: spend.model)

    @property
    def by_day(self) -> dict[str, Count]:
        """By the UTC day of the reply."""
        return self._by(lambda spend: spend.day)

    def _by(self, key: Callable[[Spend], str]) -> dict[str, Count]:
        groups: dict[str, list[Count]] = {}
        for spend in self.replies.values():
            groups.setdefault(key(spend), []).append(spend.count)
        return {name: total(groups[name]) for name in sorted(groups)}


def usage(source: Session | Iterable[Spoken]) -> Usage:
    """The usage of a session, its agents included; or of some entries."""
    if isinstance(source, Session):
        return sum((_spent(a.session.entries) for a in source.agents), _spent(source.entries))
    return _spent(source)


def _spent(entries: Iterable[Spoken]) -> Usage:
    best: dict[str, tuple[Tokens, Spoken]] = {}
    for entry in entries:
        message = entry.message
        if message is None or entry.type != "assistant":
            continue
        tokens = message.usage
        if tokens is not None and message.model != SYNTHETIC:
            key = message.id or entry.request_id or entry.uuid or f"?{entry.timestamp} {tokens}"
            other = best.get(key)
            if other is None or _outranks(tokens, entry, *other):
                best[key] = (tokens, entry)
    return Usage({key: _spend(*found) for key, found in best.items()})


def _outranks(tokens: Tokens, entry: Spoken, their_tokens: Tokens, their_entry: Spoken) -> bool:
    """What `Spend.outranks` says; most lines of a reply repeat the usage of the first, and then it is soon said."""
    if tokens == their_tokens:
        mine, theirs = _written(entry.timestamp), _written(their_entry.timestamp)
        if mine != theirs:
            return mine > theirs
    return _spend(tokens, entry).outranks(_spend(their_tokens, their_entry))


def _spend(tokens: Tokens, entry: Spoken) -> Spend:
    model = entry.message.model if entry.message else None
    return Spend(count(tokens), model or "", _written(entry.timestamp), tokens.service_tier or "")


def _written(timestamp: str | int | float | None) -> str:
    """A time as it was written; one that is a number becomes a text like the others."""
    if isinstance(timestamp, str):
        return timestamp
    time = instant(timestamp)
    return stamp(time) if time else ""


def without_thinking(entries: Iterable[Spoken]) -> list[str]:
    """Replies whose usage counts thinking that is no longer in the file: their numbers and their text do not agree."""
    counted: dict[str, int] = {}
    held: set[str] = set()
    for entry in entries:
        message = entry.message
        if message is None or message.usage is None or message.id is None:
            continue
        details = message.usage.output_tokens_details
        counted[message.id] = max(counted.get(message.id, 0), (details.thinking_tokens or 0) if details else 0)
        if any(block.type in ("thinking", "redacted_thinking") for block in entry.blocks):
            held.add(message.id)
    return [reply for reply, thinking in counted.items() if thinking and reply not in held]


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
