"""Usage: the tokens that replies took, counted once however often they are written down.

Several lines carry the usage of one reply, and a forked or resumed file repeats the replies of another. A `Usage` therefore
keeps what it counted by reply; adding two of them joins the sets, so that a reply in both counts once. What an agent said is
repeated in the session that began it, and counts there too, in case the agent's own file is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from operator import attrgetter
from sys import intern
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct, field
from msgspec.structs import astuple

from clew.conversation.reply_ids import reply_key
from clew.system.plural import noun
from clew.wire.content_block import THINKING_TYPES, Block, Tokens
from clew.wire.entry import BaseEntry, Entry
from clew.wire.entry_types import ORIGIN_TYPE
from clew.wire.json_codec import encode
from clew.wire.timestamps import instant, stamp
from clew.wire.usage_fields import Billed, BilledBlock, ProgressUsage, iterations, progress

if TYPE_CHECKING:
    from clew.conversation.session import Session

SYNTHETIC = "<synthetic>"  # written by the program in the model's name: no tokens stand behind it
ADVISOR = b"advisor_message"
REMOVED = "thinkingRemoved"  # in the line that names the origin of an edited session: replies that lost their thinking
STUB = 100  # output tokens from which on a number is no stub: those that streams begin with are far below
LETTERS = 4  # of a text for each token, roughly: what an estimate goes by


class Count(Struct, frozen=True, gc=False, array_like=True):
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
    def prompt(self) -> int:
        """All that was sent, from the cache or not."""
        return self.input + self.cache_write_5m + self.cache_write_1h + self.cache_read

    @property
    def total(self) -> int:
        return self.prompt + self.output

    def __add__(self, other: Count) -> Count:
        return total((self, other))


_COLUMNS = tuple(map(attrgetter, Count.__struct_fields__))


def total(counts: Iterable[Count]) -> Count:
    """Counts added up, column by column."""
    several = list(counts)
    return Count(*(sum(map(column, several)) for column in _COLUMNS))


class Spend(Struct, frozen=True, array_like=True):
    """One reply: its tokens, its model, when, and what tells how far its numbers can be trusted."""

    count: Count
    model: str
    timestamp: str
    tier: str = ""
    speed: str = ""
    region: str = ""
    branch: str = ""
    has_ended: bool = False  # a line of it says why it stopped
    is_copy: bool = False  # every line of it says that it was copied from another session
    lengths: dict[str, int] = field(default_factory=dict)  # letters by line, of lines that do not say so
    calls: dict[str, str] = field(default_factory=dict)  # the tools it called, by the id of the call

    def outranks(self, other: Spend) -> bool:
        """The line with more output tokens is the later word; ties go to the one that sorts last, in any order."""
        return self._rank > other._rank

    @property
    def _rank(self) -> tuple[int, int, str, str, tuple[int, ...], tuple[str, ...]]:
        words = (self.tier, self.speed, self.region)
        return (self.count.output, self.count.total, self.timestamp, self.model, astuple(self.count), words)

    def merge(self, other: Spend) -> Spend:
        """Two tellings of one reply as one: the numbers of the later word, and what either says of the rest."""
        if self == other:
            return self
        best = self if self.outranks(other) else other
        has_ended = self.has_ended or other.has_ended
        return Spend(
            best.count,
            best.model,
            best.timestamp,
            best.tier,
            best.speed,
            best.region,
            max(self.branch, other.branch),
            has_ended,
            self.is_copy and other.is_copy,
            {} if has_ended else _joined(self.lengths, other.lengths),
            _joined(self.calls, other.calls),
        )

    @property
    def estimate(self) -> int:
        """The output tokens that its text must have taken, as far as lines without an end tell."""
        return sum(self.lengths.values()) // LETTERS

    @property
    def is_final(self) -> bool:
        """Whether its output tokens are a last word, not the stub that a stream begins with.

        A reply that says why it stopped has its final numbers. Of the others those are stubs that hold few tokens, and
        less than half of what the text must have taken: no reply with a stop reason was ever seen to.
        """
        return self.has_ended or 2 * self.count.output >= self.estimate

    @property
    def day(self) -> str:
        """The UTC day of the reply; empty if it has no time."""
        if self.timestamp.endswith("Z"):
            return self.timestamp[:10]
        time = instant(self.timestamp)
        return stamp(time)[:10] if time else ""


Value = TypeVar("Value", int, str)


def _joined(mine: dict[str, Value], theirs: dict[str, Value]) -> dict[str, Value]:
    """Both; of two values for one key the larger, so that the order of joining does not matter."""
    if not theirs:
        return mine
    return theirs | {key: max(value, theirs.get(key, value)) for key, value in mine.items()}


class Usage(Struct, frozen=True, dict=True, eq=False):
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
        return f"<Usage of {len(self.replies)} {noun(len(self.replies), 'reply')}: {self.total.total} tokens>"

    @cached_property
    def replies(self) -> Mapping[str, Spend]:
        """Each reply once, by its message id."""
        found: dict[str, Spend] = {}
        for usage in self._leaves():
            for key, spend in usage.own.items():
                found[key] = spend.merge(found[key]) if key in found else spend
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


def usage(source: Session | Iterable[BaseEntry | Billed]) -> Usage:
    """The usage of a session, its agents included; or of some entries."""
    if isinstance(source, Iterable):
        return _spent(source)
    return sum((_spent(a.session.entries) for a in source.agents), _spent(source.entries))


_NOTHING: dict[str, Any] = {}  # one for all replies that have none; it is never written to


class _ReplyUsage:
    """What the lines of one reply have said so far. It keeps no line: they hold on to the bytes that they came from."""

    __slots__ = ("branch", "calls", "has_ended", "is_copy", "lengths", "model", "time", "tokens")

    def __init__(self) -> None:
        self.has_ended = False
        self.is_copy = True
        self.branch = ""
        self.lengths: dict[str, int] = _NOTHING
        self.calls: dict[str, str] = _NOTHING

    def take(self, tokens: Tokens, time: str, model: str | None) -> None:
        """The numbers of a line are the better ones."""
        self.tokens = tokens
        self.time = time
        self.model = intern(model or "")

    def is_outranked(self, tokens: Tokens, time: str, model: str | None) -> bool:
        """What `Spend.outranks` says; where the output differs it is soon said."""
        mine, theirs = self.tokens.output_tokens or 0, tokens.output_tokens or 0
        if mine != theirs:
            return theirs > mine
        other = _ReplyUsage()
        other.take(tokens, time, model)
        return other.spend().outranks(self.spend())

    def spend(self) -> Spend:
        tokens = self.tokens
        return Spend(
            count(tokens),
            self.model,
            self.time,
            intern(tokens.service_tier or ""),
            intern(tokens.speed or ""),
            intern(tokens.inference_geo or ""),
            self.branch,
            self.has_ended,
            self.is_copy,
            _NOTHING if self.has_ended else self.lengths,
            self.calls,
        )


def _length(block: Block | BilledBlock) -> int:
    """The letters of a block that the model wrote, roughly: a bill has them as JSON writes them."""
    if isinstance(block, BilledBlock):
        return len(block.text) + len(block.thinking) + len(block.input)
    given = block.input
    return len(block.text or "") + len(block.thinking or "") + (0 if given is None else len(encode(given)))


def _spent(entries: Iterable[BaseEntry | Billed]) -> Usage:
    """A pass over many files spends its time here, so it is one loop."""
    found: dict[str, _ReplyUsage] = {}
    extra: dict[str, Spend] = {}
    for line in entries:
        kind = line.type
        if kind == "assistant":
            entry: BaseEntry | Billed | None = line
        elif kind == "progress":
            entry = _repeated(line)
        else:
            continue
        message = entry.message if entry is not None else None
        if entry is None or message is None:
            continue
        tokens, content, time = message.usage, message.content, entry.timestamp
        if tokens is None or message.model == SYNTHETIC:
            continue
        time = time if isinstance(time, str) else _written(time)
        key = reply_key(entry) or f"?{time} {tokens}"
        telling = found.get(key)
        if telling is None:
            telling = found[key] = _ReplyUsage()
            telling.take(tokens, time, message.model)
        elif time > telling.time and tokens == telling.tokens and message.model == telling.model:
            telling.time = time  # most lines of a reply repeat the usage of the first
        elif telling.is_outranked(tokens, time, message.model):
            telling.take(tokens, time, message.model)
        if type(entry) is BaseEntry:  # which tells neither
            telling.is_copy = False
        else:
            if telling.is_copy and not getattr(entry, "forked_from", None):
                telling.is_copy = False
            branch = getattr(entry, "git_branch", None)
            if branch and branch > telling.branch:
                telling.branch = branch
        has_ended = telling.has_ended = telling.has_ended or message.stop_reason is not None
        is_short = not has_ended and (tokens.output_tokens or 0) < STUB
        length = 0
        for block in content if isinstance(content, list) else ():
            if is_short:
                length += _length(block)
            if block.id and block.type == "tool_use":
                calls = telling.calls = telling.calls or {}
                calls[block.id] = intern(max(block.name or "", calls.get(block.id, "")))
        if is_short:
            place = entry.uuid or ""
            lengths = telling.lengths = telling.lengths or {}
            lengths[place] = max(length, lengths.get(place, 0))
        if tokens.iterations and ADVISOR in bytes(tokens.iterations):
            _add_advice(key, tokens, entry, extra)
    return Usage({key: telling.spend() for key, telling in found.items()} | extra)


def _add_advice(key: str, tokens: Tokens, entry: BaseEntry | Billed, extra: dict[str, Spend]) -> None:
    """What another model was asked for on the way: billed apart, and not in the numbers of the reply."""
    advice = (each for each in iterations(tokens) if each.type == ADVISOR.decode() and each.model)
    for number, each in enumerate(advice):
        telling = _ReplyUsage()
        telling.take(each, _written(entry.timestamp), each.model)
        telling.branch = getattr(entry, "git_branch", None) or ""
        telling.has_ended, telling.is_copy = True, bool(getattr(entry, "forked_from", None))
        spend, name = telling.spend(), f"{key}:advisor:{number}"
        extra[name] = spend.merge(extra[name]) if name in extra else spend


def _repeated(line: BaseEntry | Billed) -> Billed | None:
    """What an agent said, where a line of progress in the session that began it repeats that."""
    told = getattr(line, "progress", None)
    inner = told.message if isinstance(told, ProgressUsage) else progress(told).message if told else None
    return inner if inner and inner.type == "assistant" else None


def _written(timestamp: str | int | float | None) -> str:
    """A time as it was written; one that is a number becomes a text like the others."""
    if isinstance(timestamp, str):
        return timestamp
    time = instant(timestamp)
    return stamp(time) if time else ""


def without_thinking(entries: Iterable[Entry]) -> list[str]:
    """The ids of replies whose usage counts thinking that is no longer in the file: their numbers exceed their text.

    Newer versions report the tokens of thinking. For all others the line counts that clew adds to a session from which it
    removed thinking.
    """
    counted: dict[str, int] = {}
    held: set[str] = set()
    removed: set[str] = set()
    for entry in entries:
        if entry.type == ORIGIN_TYPE:
            listed = entry.data.get(REMOVED)
            removed.update(each for each in (listed if isinstance(listed, list) else ()) if isinstance(each, str))
        message = entry.message
        if message is None or message.usage is None or message.id is None:
            continue
        details = message.usage.output_tokens_details
        counted[message.id] = max(counted.get(message.id, 0), (details.thinking_tokens or 0) if details else 0)
        if any(block.type in THINKING_TYPES for block in entry.blocks):
            held.add(message.id)
    return [reply for reply, thinking in counted.items() if (thinking or reply in removed) and reply not in held]


def thinking_replies(entries: Iterable[Entry]) -> set[str]:
    """The ids of the replies that hold thinking."""
    return {
        e.message.id for e in entries if e.message and e.message.id and any(b.type in THINKING_TYPES for b in e.blocks)
    }


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
