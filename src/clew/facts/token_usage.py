"""Count the tokens of replies, each reply once even if several lines or files repeat it.

Several lines carry the usage of one reply, and a forked or resumed file repeats the replies of another. A `Usage`
therefore keeps counts by reply; adding two of them joins the sets, so that a reply in both counts once. An agent's
messages are repeated in the session that started it, and are counted there too, in case the agent's own file is
missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from sys import intern
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct, field
from msgspec.structs import astuple, force_setattr

from clew.system.plural import noun
from clew.wire.content_block import Block, Tokens
from clew.wire.entry import BaseEntry
from clew.wire.json_codec import encode
from clew.wire.timestamps import format_timestamp, parse_timestamp
from clew.wire.usage_fields import Billed, BilledBlock, ProgressUsage, decode_iterations, decode_progress

if TYPE_CHECKING:
    from clew.conversation.session import Session

SYNTHETIC = "<synthetic>"  # written by the program in the model's name: it used no tokens
ADVISOR = b"advisor_message"
MIN_FINAL_OUTPUT = 100  # output tokens; the provisional number at the start of a stream is far below
MAX_UNMEASURED = 64  # lines whose text is kept until their reply may have ended
CHARACTERS_PER_TOKEN = 4  # characters per token, for rough estimates


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
        """All tokens that were sent, from the cache or not."""
        return self.input + self.cache_write_5m + self.cache_write_1h + self.cache_read

    @property
    def total(self) -> int:
        return self.prompt + self.output

    def __add__(self, other: Count) -> Count:
        return total((self, other))


_COLUMNS = tuple(map(attrgetter, Count.__struct_fields__))


def total(counts: Iterable[Count]) -> Count:
    """Add up counts, column by column."""
    all_counts = list(counts)
    return Count(*(sum(map(column, all_counts)) for column in _COLUMNS))


class Spend(Struct, frozen=True, gc=False, array_like=True):
    """One reply: its tokens, model, time, and how reliable its numbers are."""

    count: Count
    model: str
    timestamp: str
    tier: str = ""
    speed: str = ""
    region: str = ""
    branch: str = ""
    has_ended: bool = False  # one of its lines has a stop reason
    is_copy: bool = False  # all of its lines are marked as copied from another session
    lengths: dict[str, int] = field(default_factory=dict)  # characters by line, for lines without a stop reason
    calls: dict[str, str] = field(default_factory=dict)  # names of the called tools by call id

    def outranks(self, other: Spend) -> bool:
        """Return True if this record is the later one: more output tokens; ties are broken by a total order."""
        return self._rank > other._rank

    @property
    def _rank(self) -> tuple[int, int, str, str, tuple[int, ...], tuple[str, ...]]:
        modes = (self.tier, self.speed, self.region)
        return (self.count.output, self.count.total, self.timestamp, self.model, astuple(self.count), modes)

    def merge(self, other: Spend) -> Spend:
        """Merge two records of one reply: the numbers of the higher-ranked one, and the other facts of both.

        Example: lines with 1 and 250 output tokens for the same message id are one reply of 250, not 251: the first
        line was written when the stream began.
        """
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
            {} if has_ended else _join_largest(self.lengths, other.lengths),
            _join_largest(self.calls, other.calls),
        )

    @property
    def estimate(self) -> int:
        """The output tokens that its text must have used, from the lines without a stop reason."""
        return sum(self.lengths.values()) // CHARACTERS_PER_TOKEN

    @property
    def is_final(self) -> bool:
        """True if its output tokens are the final number, not the provisional one at the start of a stream.

        A reply with a stop reason has its final numbers. Others are provisional if they have few tokens, and less
        than half of what the text must have used: no reply with a stop reason was ever observed to.
        """
        return self.has_ended or 2 * self.count.output >= self.estimate

    @property
    def day(self) -> str:
        """The UTC day of the reply; "" if it has no time."""
        if self.timestamp.endswith("Z"):
            return self.timestamp[:10]
        time = parse_timestamp(self.timestamp)
        return format_timestamp(time)[:10] if time else ""


Value = TypeVar("Value", int, str)


def _join_largest(first: dict[str, Value], second: dict[str, Value]) -> dict[str, Value]:
    """Join two dicts; of two values for one key the larger, so that the order of joining does not matter."""
    if not second:
        return first
    return second | {key: max(value, second.get(key, value)) for key, value in first.items()}


class Usage(Struct, frozen=True, dict=True, eq=False):
    """A sum of replies. It can be added: `sum(map(usage, sessions), Usage())`."""

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
        if not self.parts:
            return self.own
        spends: dict[str, Spend] = {}
        for usage in self._leaves():
            for key, spend in usage.own.items():
                spends[key] = spend.merge(spends[key]) if key in spends else spend
        return spends

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
        """Counts by the UTC day of the reply."""
        return self._by(lambda spend: spend.day)

    def _by(self, key: Callable[[Spend], str]) -> dict[str, Count]:
        groups: dict[str, list[Count]] = {}
        for spend in self.replies.values():
            groups.setdefault(key(spend), []).append(spend.count)
        return {name: total(groups[name]) for name in sorted(groups)}


def usage(source: Session | Iterable[BaseEntry | Billed]) -> Usage:
    """Return the usage of a session, including its agents; or of some entries."""
    if isinstance(source, Iterable):
        return _count_entries(source)
    return sum((_count_entries(a.session.entries) for a in source.agents), _count_entries(source.entries))


_EMPTY: dict[str, Any] = {}  # shared by all replies that have none; never written to


class _ReplyUsage(Struct, gc=False):
    """The facts from the lines of one reply so far. It keeps no line: lines reference the bytes of their file."""

    tokens: Tokens
    time: str
    model: str | None
    has_ended: bool = False
    is_copy: bool = True
    has_advice: bool = False
    branch: str = ""
    lengths: dict[str, int] | None = None
    calls: dict[str, str] | None = None

    def is_outranked(self, tokens: Tokens, time: str, model: str | None) -> bool:
        """Return `Spend.outranks` of a line over this reply; decided by the output tokens where they differ."""
        current, other_output = self.tokens.output_tokens or 0, tokens.output_tokens or 0
        if current != other_output:
            return other_output > current
        return _ReplyUsage(tokens, time, model).spend().outranks(self.spend())

    def spend(self) -> Spend:
        tokens = self.tokens
        return Spend(
            count(tokens),
            intern(self.model or ""),
            self.time,
            intern(tokens.service_tier or ""),
            intern(tokens.speed or ""),
            intern(tokens.inference_geo or ""),
            self.branch,
            self.has_ended,
            self.is_copy,
            _EMPTY if self.has_ended else self.lengths or _EMPTY,
            self.calls or _EMPTY,
        )


def _length(block: Block | BilledBlock) -> int:
    """Return about how many characters of a block the model wrote; a billed block has them as JSON."""
    if isinstance(block, BilledBlock):
        return len(block.text) + len(block.thinking) + len(block.input)
    tool_input = block.input
    return len(block.text or "") + len(block.thinking or "") + (0 if tool_input is None else len(encode(tool_input)))


def _count_entries(entries: Iterable[BaseEntry | Billed]) -> Usage:
    """Count the usage of entries. A pass over many files spends its time here, so it is one loop."""
    replies: dict[str, _ReplyUsage] = {}
    extra: dict[str, Spend] = {}
    unmeasured: list[tuple[_ReplyUsage, str, Sequence[Block | BilledBlock]]] = []
    for line in entries:
        kind = line.type
        entry = line if kind == "assistant" else _agent_message(line) if kind == "progress" else None
        if entry is None or (message := entry.message) is None or (tokens := message.usage) is None:
            continue
        model = message.model
        if model == SYNTHETIC:
            continue
        time = entry.timestamp
        if not isinstance(time, str):
            time = _timestamp_text(time)
        key = message.id or entry.request_id or entry.uuid or f"?{time} {tokens}"  # as `reply_key`
        reply = replies.get(key)
        if reply is None:
            reply = replies[key] = _ReplyUsage(tokens, time, model)
            has_advice = reply.has_advice = _has_advice(tokens) if tokens.iterations else False
            _detach(tokens)
        elif tokens == reply.tokens and model == reply.model:  # most lines of a reply repeat the usage of the first one
            has_advice = reply.has_advice
            if time > reply.time:
                reply.time = time
        else:
            has_advice = _has_advice(tokens)
            if reply.is_outranked(tokens, time, model):
                _detach(tokens)
                reply.tokens, reply.time, reply.model, reply.has_advice = tokens, time, model, has_advice
        if type(entry) is Billed:
            if reply.is_copy and not entry.forked_from:
                reply.is_copy = False
            branch = entry.git_branch
        else:
            if reply.is_copy:  # other entries do not say so
                reply.is_copy = False
            branch = None if type(entry) is BaseEntry else getattr(entry, "git_branch", None)
        if branch and branch > reply.branch:
            reply.branch = branch
        if message.stop_reason is not None:
            reply.has_ended = True
        content = message.content
        blocks = content if isinstance(content, list) else ()
        for block in blocks:
            if block.type == "tool_use" and (call := block.id):
                name, calls = intern(block.name or ""), reply.calls
                if calls is None:
                    reply.calls = {call: name}
                elif calls.setdefault(call, name) < name:
                    calls[call] = name
        if not reply.has_ended and (tokens.output_tokens or 0) < MIN_FINAL_OUTPUT:
            unmeasured.append((reply, entry.uuid or "", blocks))
            if len(unmeasured) >= MAX_UNMEASURED:
                _measure(unmeasured)
        if has_advice:
            _add_advice(key, tokens, entry, extra)
    _measure(unmeasured)
    return Usage(_replace_by_spends(replies) | extra)


def _replace_by_spends(replies: dict[str, _ReplyUsage]) -> dict[str, Spend]:
    """Convert the values of a dict in place, so that never all of both are in memory."""
    spends: dict[str, Any] = replies
    for key, reply in replies.items():
        spends[key] = reply.spend()
    return spends


def _measure(lines: list[tuple[_ReplyUsage, str, Sequence[Block | BilledBlock]]]) -> None:
    """Add the lengths of lines to their replies, and empty the list. Most replies have ended by then and need none."""
    for reply, line_id, blocks in lines:
        if not reply.has_ended:
            length = sum(map(_length, blocks))
            lengths = reply.lengths
            if lengths is None:
                reply.lengths = {line_id: length}
            elif lengths.get(line_id, -1) < length:
                lengths[line_id] = length
    lines.clear()


def _detach(tokens: Tokens) -> None:
    """Copy the only field that refers to the bytes of its line, so that a reply does not keep them in memory."""
    if tokens.iterations:
        force_setattr(tokens, "iterations", tokens.iterations.copy())


def _has_advice(tokens: Tokens) -> bool:
    """Return whether another model was consulted during the reply."""
    return bool(tokens.iterations) and ADVISOR in bytes(tokens.iterations)


def _add_advice(key: str, tokens: Tokens, entry: BaseEntry | Billed, extra: dict[str, Spend]) -> None:
    """Add the usage of another model that was consulted during the reply: billed separately, not in its numbers."""
    advice = (
        iteration for iteration in decode_iterations(tokens) if iteration.type == ADVISOR.decode() and iteration.model
    )
    for number, iteration in enumerate(advice):
        reply = _ReplyUsage(iteration, _timestamp_text(entry.timestamp), iteration.model)
        reply.branch = getattr(entry, "git_branch", None) or ""
        reply.has_ended, reply.is_copy = True, bool(getattr(entry, "forked_from", None))
        spend, name = reply.spend(), f"{key}:advisor:{number}"
        extra[name] = spend.merge(extra[name]) if name in extra else spend


def _agent_message(line: BaseEntry | Billed) -> Billed | None:
    """Return an agent's message that a progress line repeats in the session that started the agent."""
    data = getattr(line, "progress", None)
    inner = data.message if isinstance(data, ProgressUsage) else decode_progress(data).message if data else None
    return inner if inner and inner.type == "assistant" else None


def _timestamp_text(timestamp: str | int | float | None) -> str:
    """Return a timestamp as text; a number is formatted like the others."""
    if isinstance(timestamp, str):
        return timestamp
    time = parse_timestamp(timestamp)
    return format_timestamp(time) if time else ""


def count(tokens: Tokens) -> Count:
    """Convert the usage that the API reported; cache writes of unknown lifetime count as five-minute writes."""
    kinds, web = tokens.cache_creation, tokens.server_tool_use
    short, hour = tokens.cache_creation_input_tokens or 0, 0
    if kinds is not None:
        hour = kinds.ephemeral_1h or 0
        short = max(kinds.ephemeral_5m or 0, short - hour)
    searches = fetches = 0
    if web is not None:
        searches, fetches = web.web_search or 0, web.web_fetch or 0
    given, output, read = tokens.input_tokens or 0, tokens.output_tokens or 0, tokens.cache_read_input_tokens or 0
    return Count(given, output, short, hour, read, searches, fetches)
