"""Spans: a conversation as OpenTelemetry sees it, by its conventions for generative AI.

A session is a trace, a turn or an agent's run an `invoke_agent`, a reply a `chat`, a call an `execute_tool`; an agent lies
below the call that began it. Ids are hashes of the ids in the file, so that whoever sends a span again sends the same one. A
span is final from the line on that ends it, and is sent then; what comes behind that line changes nothing in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha256
from typing import NamedTuple
from uuid import UUID

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
    said,
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
_ENDS = ("turn_duration", "stop_hook_summary")  # what the program notes behind a turn
_EPOCH = datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)  # a span without any time in its file


class SpanEvent(NamedTuple):
    """Something that happened while a span lasted."""

    name: str
    time: datetime


@dataclass(frozen=True, slots=True)
class Span:
    """`final` is the line that ended it, by its turn in the archive; None while it may still change."""

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


@dataclass(frozen=True, slots=True)
class SpanSource:
    """The conversation of one file: whose it is, and the turn in the archive of each of its lines, by number."""

    session: str
    agent: str
    agent_type: str
    caller: str
    """The call that began the agent; empty if it is not known."""
    conversation: Session
    turns: Mapping[int, int]
    spent: Mapping[str, Spend]


def trace_id(session: str) -> bytes:
    """The bytes of the session's id, which is a UUID; of another name a hash."""
    try:
        found = UUID(session).bytes
    except ValueError:
        found = b""
    return found if any(found) else sha256(session.encode()).digest()[:16]


def span_id(*names: str) -> bytes:
    return sha256("\0".join(names).encode("utf-8", "surrogatepass")).digest()[:8]


def spans(source: SpanSource, prices: Prices, content: bool = False) -> list[Span]:
    """Every span of a file; `content` says that what was said is told too, not only how much and how long."""
    return list(_SpanBuilder(source, prices, content).spans())


class _SpanBuilder:
    def __init__(self, source: SpanSource, prices: Prices, content: bool) -> None:
        self.source = source
        self.session = source.conversation
        self.prices = prices
        self.content = content
        self.trace = trace_id(source.session)

    def spans(self) -> Iterator[Span]:
        prompts = [entry for entry in self.session.entries if self._owner.get(entry.uuid) == entry.uuid]
        for number, entries in enumerate(self._groups.values()):
            turn = Turn(0, tuple(entries))
            follower = next((p for p in prompts if p.offset > entries[-1].offset), None)
            yield from self._turn(turn, self._line(follower) if follower else None, number == 0)
        for agent in self.session.agents if not self.source.agent else ():
            yield from self._inline(agent.id, agent.kind, agent.call.id if agent.call else "", agent.session)

    def _inline(self, id: str, kind: str, caller: str, session: Session) -> Iterator[Span]:
        """An agent of the oldest versions, inside the session's own file: final when the next prompt of that is there."""
        lines = {e.uuid: self._line(e) for e in self.session.entries}
        turns = {e.line.number: lines.get(e.uuid, 0) for e in session.entries}
        yield from spans(replace(self.source, agent=id, agent_type=kind, caller=caller, conversation=session, turns=turns),
                         self.prices, self.content)  # fmt: skip

    @cached_property
    def _owner(self) -> dict[str | None, str | None]:
        """The prompt that each entry came of, on whichever branch."""
        found: dict[str | None, str | None] = {}
        starts = {entry.uuid for entry in self.session.prompts}
        for entry in self.session.entries:
            above = entry
            path: list[str | None] = []
            while above.uuid not in found and above.uuid not in starts and len(path) <= len(self.session.entries):
                path.append(above.uuid)
                up = self.session.links.parent(above, history=True)
                if up is None:
                    break
                above = up
            owner = above.uuid if above.uuid in starts else found.get(above.uuid)
            found.update(dict.fromkeys((*path, above.uuid), owner))
        return found

    @cached_property
    def _groups(self) -> dict[str | None, list[Entry]]:
        found: dict[str | None, list[Entry]] = {}
        for entry in self.session.entries:
            owner = self._owner.get(entry.uuid) if entry.uuid else None
            if owner:
                found.setdefault(owner, []).append(entry)
        return found

    def _line(self, entry: Entry) -> int:
        return self.source.turns.get(entry.line.number, 0)

    def _last(self, entries: Iterable[Entry]) -> int:
        return max(map(self._line, entries))

    def _turn(self, turn: Turn, next_prompt: int | None, is_first: bool) -> Iterator[Span]:
        replies = [reply for reply in turn.replies if not reply.is_synthetic]
        spoken = [e for e in turn.entries if e.type in ("user", "assistant")]
        state, closed = turn.state, next_prompt
        noted = [e for e in turn.entries if e.subtype in _ENDS and e.offset > spoken[-1].offset]
        if noted or state == "interrupted":
            closed = self._line(noted[0] if noted else spoken[-1])
        me = span_id(self.source.session, self.source.agent, turn.prompt.uuid or "")
        yield self._invocation(turn, me, spoken, state, closed, is_first)
        for reply, follower in zip(replies, (*replies[1:], None), strict=False):
            after = self._line(follower.entries[0]) if follower else closed
            yield self._chat(reply, me, turn, after)
        for call in turn.calls:
            yield self._tool(call, me, closed)

    def _invocation(
        self, turn: Turn, me: bytes, spoken: list[Entry], state: str, closed: int | None, is_first: bool
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
            attributes |= {INPUT_MESSAGES: said("user", turn.text), OUTPUT_MESSAGES: said("assistant", turn.answer)}
        events = tuple(
            SpanEvent(e.subtype or HOOK, self._time(e))
            for e in turn.entries
            if e.offset <= spoken[-1].offset and (e.is_boundary or (e.subtype or "").endswith("hook_summary"))
        )
        parent = span_id(self.source.session, self.source.caller) if self.source.caller else b""
        return Span(
            self.trace, me, parent, f"invoke_agent {name}", INTERNAL, self._time(turn.prompt), end, _told(attributes),
            None if is_orphan and is_first else closed, "", events,
        )  # fmt: skip

    def _chat(self, reply: Reply, parent: bytes, turn: Turn, after: int | None) -> Span:
        model, stop = reply.model or "", reply.stop_reason
        own = self._last(reply.entries)
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
            attributes[OUTPUT_MESSAGES] = said("assistant", reply.text, reply.uses, stop)
        end = max(map(self._time, reply.entries))
        above = self.session.links.parent(reply.entries[0], history=True)
        start = min(end, self._time(above)) if above else self._time(reply.entries[0])
        final = None if after is None else max(own, after)
        error = "api_error" if reply.is_error else ""
        id = span_id(self.source.session, self.source.agent, reply.id)
        return Span(self.trace, id, parent, f"chat {model}", CLIENT, start, end, _told(attributes), final, error)

    def _tool(self, call: Call, turn: bytes, closed: int | None) -> Span:
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
        final = self._line(result) if result else closed
        return Span(
            self.trace, id, parent, f"execute_tool {call.name}", INTERNAL, start, end, _told(attributes), final, error
        )

    def _common(self, operation: str) -> dict[str, Value]:
        return {OPERATION: operation, CONVERSATION: self.source.session}

    @cached_property
    def _times(self) -> dict[int, datetime]:
        """Each entry has its own time, or that of the one before."""
        known = next((t for e in self.session.entries if (t := e.time)), _EPOCH)
        found: dict[int, datetime] = {}
        for entry in self.session.entries:
            known = max(entry.time or known, _EPOCH)
            found[entry.offset] = known
        return found

    def _time(self, entry: Entry) -> datetime:
        return self._times[entry.offset]


def _told(attributes: Mapping[str, Value]) -> dict[str, Value]:
    return {name: value for name, value in attributes.items() if value != "" and value != ()}


def failed(span: Span) -> dict[str, Value]:
    return {ERROR_TYPE: span.error} if span.error else {}
