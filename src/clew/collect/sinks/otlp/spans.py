"""Convert a conversation to OpenTelemetry spans by the conventions for generative AI.

A session is a trace, a turn or an agent's run an `invoke_agent`, a reply a `chat`, a call an `execute_tool`; an
agent is a child of the call that started it. Ids are hashes of the ids in the file, so that a span sent again has
the same id. A span is final from the line on that ends it, and is sent then; later lines do not change it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha256
from typing import NamedTuple
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from clew.collect.sinks.otlp.attribute_names import (
    AGENT_ID,
    AGENT_NAME,
    AGENT_VERSION,
    CACHE_READ,
    CACHE_WRITE,
    CALL_ARGUMENTS,
    CALL_ID,
    CALL_RESULT,
    CLIENT,
    CONVERSATION,
    COST,
    ERROR_TYPE,
    FINISH_REASONS,
    HOOK,
    INPUT_MESSAGES,
    INPUT_TOKENS,
    INTERNAL,
    OPERATION,
    OUTPUT_MESSAGES,
    OUTPUT_TOKENS,
    PROVIDER,
    REQUEST_MODEL,
    RESPONSE_ID,
    RESPONSE_MODEL,
    TOOL_NAME,
    TOOL_TYPE,
    TURN_STATE,
    encode_message,
)
from clew.conversation.replies import Call, Reply
from clew.conversation.reply_ids import reply_key
from clew.conversation.session import Session
from clew.conversation.turns import Turn
from clew.facts.prices import Prices, priced
from clew.facts.token_usage import Spend
from clew.wire.entry import Entry
from clew.wire.json_codec import encode

Value = str | int | float | bool | tuple[str, ...]
_TURN_END_SUBTYPES = ("turn_duration", "stop_hook_summary")  # system entries that Claude Code writes after a turn
_EPOCH = datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)  # for files without any timestamp


class SpanEvent(NamedTuple):
    """An event during a span."""

    name: str
    time: datetime


class Span(Struct, frozen=True):
    """A span. `final` is the sequence number of the line that ended it; None while it may still change."""

    trace: bytes
    id: bytes
    parent: bytes
    name: str
    kind: int
    start: datetime
    end: datetime
    attributes: Mapping[str, Value]
    final: int | None
    error: str = ""
    events: tuple[SpanEvent, ...] = ()


class SpanSource(Struct, frozen=True):
    """The conversation of one file: its owner, and the sequence number of each of its lines."""

    session: str
    agent: str
    agent_type: str
    caller: str
    """The call that started the agent; empty if unknown."""
    conversation: Session
    turns: Mapping[int, int]
    spent: Mapping[str, Spend]


def trace_id(session: str) -> bytes:
    """Return the bytes of the session id if it is a UUID, else a hash of it."""
    try:
        id_bytes = UUID(session).bytes
    except ValueError:
        id_bytes = b""
    return id_bytes if any(id_bytes) else sha256(session.encode()).digest()[:16]


def span_id(*names: str) -> bytes:
    return sha256("\0".join(names).encode("utf-8", "surrogatepass")).digest()[:8]


def build_spans(source: SpanSource, prices: Prices, content: bool = False) -> list[Span]:
    """Build every span of a file; `content` includes prompts, replies, arguments and results."""
    return list(_SpanBuilder(source, prices, content).spans())


class _SpanBuilder:
    def __init__(self, source: SpanSource, prices: Prices, content: bool) -> None:
        self.source = source
        self.session = source.conversation
        self.prices = prices
        self.content = content
        self.trace = trace_id(source.session)

    def spans(self) -> Iterator[Span]:
        prompts = [entry for entry in self.session.entries if self._prompt_of.get(entry.uuid) == entry.uuid]
        for number, entries in enumerate(self._entries_by_prompt.values()):
            turn = Turn(0, tuple(entries))
            follower = next((p for p in prompts if p.offset > entries[-1].offset), None)
            yield from self._turn_spans(turn, self._sequence_number(follower) if follower else None, number == 0)
        for agent in self.session.agents if not self.source.agent else ():
            yield from self._inline_agent_spans(
                agent.id, agent.kind, agent.call.id if agent.call else "", agent.session
            )

    def _inline_agent_spans(self, id: str, kind: str, caller: str, session: Session) -> Iterator[Span]:
        """Yield the spans of an agent inside the session's own file (oldest versions)."""
        lines = {e.uuid: self._sequence_number(e) for e in self.session.entries}
        turns = {e.line.number: lines.get(e.uuid, 0) for e in session.entries}
        source = replace(self.source, agent=id, agent_type=kind, caller=caller, conversation=session, turns=turns)
        yield from build_spans(source, self.prices, self.content)

    @cached_property
    def _prompt_of(self) -> dict[str | None, str | None]:
        """The uuid of the prompt that each entry belongs to, on any branch."""
        owners: dict[str | None, str | None] = {}
        starts = {entry.uuid for entry in self.session.prompts}
        for entry in self.session.entries:
            ancestor = entry
            path: list[str | None] = []
            while (
                ancestor.uuid not in owners and ancestor.uuid not in starts and len(path) <= len(self.session.entries)
            ):
                path.append(ancestor.uuid)
                parent = self.session.links.parent(ancestor, history=True)
                if parent is None:
                    break
                ancestor = parent
            owner = ancestor.uuid if ancestor.uuid in starts else owners.get(ancestor.uuid)
            owners.update(dict.fromkeys((*path, ancestor.uuid), owner))
        return owners

    @cached_property
    def _entries_by_prompt(self) -> dict[str | None, list[Entry]]:
        groups: dict[str | None, list[Entry]] = {}
        for entry in self.session.entries:
            owner = self._prompt_of.get(entry.uuid) if entry.uuid else None
            if owner:
                groups.setdefault(owner, []).append(entry)
        return groups

    def _sequence_number(self, entry: Entry) -> int:
        return self.source.turns.get(entry.line.number, 0)

    def _last_sequence_number(self, entries: Iterable[Entry]) -> int:
        return max(map(self._sequence_number, entries))

    def _turn_spans(self, turn: Turn, next_prompt: int | None, is_first: bool) -> Iterator[Span]:
        replies = [reply for reply in turn.replies if not reply.is_synthetic]
        spoken = [e for e in turn.entries if e.type in ("user", "assistant")]
        state, closed = turn.state, next_prompt
        end_notes = [e for e in turn.entries if e.subtype in _TURN_END_SUBTYPES and e.offset > spoken[-1].offset]
        if end_notes or state == "interrupted":
            closed = self._sequence_number(end_notes[0] if end_notes else spoken[-1])
        turn_id = span_id(self.source.session, self.source.agent, turn.prompt.uuid or "")
        yield self._invocation_span(turn, turn_id, spoken, state, closed, is_first)
        for reply, follower in zip(replies, (*replies[1:], None), strict=False):
            after = self._sequence_number(follower.entries[0]) if follower else closed
            yield self._chat_span(reply, turn_id, turn, after)
        for call in turn.calls:
            yield self._tool_span(call, turn_id, closed)

    def _invocation_span(
        self, turn: Turn, turn_id: bytes, spoken: list[Entry], state: str, closed: int | None, is_first: bool
    ) -> Span:
        agent = self.source.agent
        name = (self.source.agent_type or "agent") if agent else "claude-code"
        is_orphan = bool(agent) and not self.source.caller
        end = self._time(spoken[-1])
        attributes: dict[str, Value] = {
            **self._common("invoke_agent"),
            AGENT_NAME: name,
            AGENT_VERSION: turn.prompt.version or "",
            TURN_STATE: state,
            **({AGENT_ID: agent} if agent else {}),
        }
        if self.content:
            attributes |= {
                INPUT_MESSAGES: encode_message("user", turn.text),
                OUTPUT_MESSAGES: encode_message("assistant", turn.answer),
            }
        events = tuple(
            SpanEvent(e.subtype or HOOK, self._time(e))
            for e in turn.entries
            if e.offset <= spoken[-1].offset and (e.is_boundary or (e.subtype or "").endswith("hook_summary"))
        )
        parent = span_id(self.source.session, self.source.caller) if self.source.caller else b""
        return Span(
            self.trace, turn_id, parent, f"invoke_agent {name}", INTERNAL, self._time(turn.prompt), end,
            _drop_empty(attributes), None if is_orphan and is_first else closed, "", events,
        )  # fmt: skip

    def _chat_span(self, reply: Reply, parent: bytes, turn: Turn, after: int | None) -> Span:
        model, stop = reply.model or "", reply.stop_reason
        last_line = self._last_sequence_number(reply.entries)
        spend = self.source.spent.get(reply.id)
        attributes: dict[str, Value] = {
            **self._common("chat"),
            PROVIDER: "anthropic",
            REQUEST_MODEL: model,
            RESPONSE_MODEL: model,
            RESPONSE_ID: reply.id,
            **({FINISH_REASONS: (stop,)} if stop else {}),
        }
        if spend and not spend.is_copy:
            count, micros = spend.count, priced(self.prices, spend)
            attributes |= {
                INPUT_TOKENS: count.prompt,
                OUTPUT_TOKENS: count.output,
                CACHE_READ: count.cache_read,
                CACHE_WRITE: count.cache_write,
                **({COST: micros / 1e6} if micros is not None else {}),
            }
        if self.content:
            attributes[OUTPUT_MESSAGES] = encode_message("assistant", reply.text, reply.uses, stop)
        end = max(map(self._time, reply.entries))
        previous = self.session.links.parent(reply.entries[0], history=True)
        start = min(end, self._time(previous)) if previous else self._time(reply.entries[0])
        final = None if after is None else max(last_line, after)
        error = "api_error" if reply.is_error else ""
        id = span_id(self.source.session, self.source.agent, reply.id)
        return Span(self.trace, id, parent, f"chat {model}", CLIENT, start, end, _drop_empty(attributes), final, error)

    def _tool_span(self, call: Call, turn: bytes, closed: int | None) -> Span:
        result = call.result_entry
        key = reply_key(call.entry)
        parent = span_id(self.source.session, self.source.agent, key) if key else turn
        attributes: dict[str, Value] = {
            **self._common("execute_tool"),
            TOOL_NAME: call.name,
            TOOL_TYPE: "extension" if call.name.startswith("mcp__") else "function",
            CALL_ID: call.id,
        }
        error = "tool_error" if call.failed else "no_result" if call.is_open else ""
        if self.content:
            attributes |= {CALL_ARGUMENTS: encode(call.input).decode(), CALL_RESULT: call.output}
        start = self._time(call.entry)
        end = max(start, self._time(result)) if result else start
        id = span_id(self.source.session, call.id)
        final = self._sequence_number(result) if result else closed
        return Span(
            self.trace,
            id,
            parent,
            f"execute_tool {call.name}",
            INTERNAL,
            start,
            end,
            _drop_empty(attributes),
            final,
            error,
        )

    def _common(self, operation: str) -> dict[str, Value]:
        return {OPERATION: operation, CONVERSATION: self.source.session}

    @cached_property
    def _times(self) -> dict[int, datetime]:
        """The time of each entry by offset: its own, or that of the entry before."""
        known = next((t for e in self.session.entries if (t := e.time)), _EPOCH)
        times: dict[int, datetime] = {}
        for entry in self.session.entries:
            known = max(entry.time or known, _EPOCH)
            times[entry.offset] = known
        return times

    def _time(self, entry: Entry) -> datetime:
        return self._times[entry.offset]


def _drop_empty(attributes: Mapping[str, Value]) -> dict[str, Value]:
    return {name: value for name, value in attributes.items() if value != "" and value != ()}


def error_attributes(span: Span) -> dict[str, Value]:
    return {ERROR_TYPE: span.error} if span.error else {}
