"""Compare the entries that a replay wrote with the recorded ones.

Ids, times and durations always differ and are ignored. Lines that clew wrote must agree in all other keys. Lines of
another program are compared by meaning, because programs write the same content with different fields.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal

from msgspec import Struct

from clew.chat.replay.recording import Recording
from clew.chat.replay.replay_run import Played
from clew.chat.turn.compaction import OPENING
from clew.conversation.session import Session
from clew.conversation.speaker import speaker
from clew.wire.entry import Entry, parse_line
from clew.wire.entry_types import tag_text
from clew.wire.json_codec import Json, encode
from clew.wire.line import Line

State = Literal["same", "other", "missing", "extra"]

_TIMES = ("timestamp", "durationMs", "totalDurationMs", "retryInMs", "backupTime")
_WRITER = ("version", "writer")
# Kinds of lines that are no part of the conversation: programs keep books in them, each its own.
BOOKS = ("turn_duration", "last-prompt", "headline", "queue", "snapshot")
FOREIGN = "only the program that recorded it writes such lines"
OURS = "clew writes it where the other program does not"
UNSENT = "the engine sends one agent for each call of Task or Agent, and no others"
WORDS = "each program has words of its own for it"


class Pair(Struct, frozen=True):
    """An entry of the recording, of the replay, or of both."""

    state: State
    kind: str
    line: int = 0  # of the record
    agent: str = ""  # the call of the agent whose entry it is
    why: str = ""
    fields: tuple[str, ...] = ()  # that differ
    recorded: Any = None
    made: Any = None


class Likeness(Struct, frozen=True):
    """How similar a replay is to its recording."""

    pairs: tuple[Pair, ...]
    identical: bool  # every byte, with the ids and times of the record put in
    moved: int  # entries in another order

    def of(self, *states: State) -> list[Pair]:
        return [pair for pair in self.pairs if pair.state in states]

    @property
    def same(self) -> int:
        return len(self.of("same"))

    @property
    def total(self) -> int:
        """The number of recorded entries of the conversation."""
        return sum(pair.state == "same" or (pair.state != "extra" and pair.why != FOREIGN) for pair in self.pairs)

    @property
    def rest(self) -> Counter[tuple[str, str, str]]:
        """The entries that differ: state, kind and reason."""
        return Counter((p.state, p.kind, p.why) for p in self.pairs if p.state != "same")

    @property
    def differs(self) -> bool:
        """Return True if there is a difference that no dialect explains."""
        return any(p.state != "same" and p.why not in (FOREIGN, OURS, WORDS) for p in self.pairs)


def compare(session: Session, cassette: Recording, played: Played) -> Likeness:
    """Compare a replay with its recording."""
    pairs: list[Pair] = []
    moved, identical = 0, True
    for side in _sides(session, cassette, played):
        pairs += side.pairs()
        moved += side.moved
        identical = identical and side.is_identical
    return Likeness(tuple(pairs), identical, moved)


def stamped(session: Session, cassette: Recording, played: Played) -> dict[str, list[Json]]:
    """Return the lines of a replay with the ids and times of the recording: of the session (""), and of each agent
    by id.
    """
    return {side.source.agent_id if side.agent else "": list(side.told()) for side in _sides(session, cassette, played)}


def _sides(session: Session, cassette: Recording, played: Played) -> list[_Side]:
    """Return the session and its agents. The ids of one occur in the others."""
    ids: dict[str, str] = {}
    return [
        _Side(call, entries, lines, source, ids, played.agent_ids)
        for call, entries, lines, source in _files(session, cassette, played)
    ]


def _files(
    session: Session, cassette: Recording, played: Played
) -> Iterator[tuple[str, Sequence[Entry], Sequence[Json], Recording]]:
    own = [e for e in session.entries if e.is_sidechain == session.is_agent or e.type not in ("user", "assistant")]
    yield "", own, played.lines, cassette
    inner = {each.agent_id: (call, each) for outer in cassette.all() for call, each in outer.agents.items()}
    for agent in session.agents:
        entries = agent.session.entries
        if agent.id in inner:
            call, source = inner[agent.id]
            yield call, entries, played.agents.get(call, ()), source
        else:
            reason = UNSENT if agent.call else FOREIGN
            why = dict.fromkeys((entry.line.number for entry in entries), reason)
            yield agent.id, entries, (), Recording(cassette.session_id, agent_id=agent.id, left_out=why)


class _Side:
    """The lines of one file."""

    def __init__(
        self,
        agent: str,
        entries: Sequence[Entry],
        lines: Sequence[Json],
        source: Recording,
        ids: dict[str, str],
        agents: Mapping[str, str],
    ) -> None:
        """`ids` maps each new id to the recorded one; it is filled here."""
        self.agent = agent
        self.source = source
        self._entries = entries
        self._records = [entry.data for entry in entries]
        self._lines = lines
        self._places = _match_lines([self._key(r) for r in self._records], [self._key(line) for line in lines])
        self._ids = ids
        for place, match in enumerate(self._places):
            if match is not None and (made := lines[match].get("uuid")):
                self._ids[made] = str(self._records[place].get("uuid"))
        if agent in agents:
            self._ids[agents[agent]] = source.agent_id

    @property
    def moved(self) -> int:
        """Return the number of entries before one that was recorded earlier."""
        found = [place for place in self._places if place is not None]
        return sum(later < earlier for earlier, later in pairwise(found))

    @property
    def is_identical(self) -> bool:
        """Return True if the replay reproduces the file byte for byte, given the recorded ids and times."""
        if self._places != list(range(len(self._lines))):
            return False
        made = b"".join(
            encode(_stamped(line, record, self._ids)) + b"\n"
            for line, record in zip(self._lines, self._records, strict=True)
        )
        return made == b"".join(entry.raw for entry in self._entries)

    def pairs(self) -> Iterator[Pair]:
        for place, entry in enumerate(self._entries):
            match = self._places[place]
            record, kind = self._records[place], kind_of(self._records[place])
            number = entry.line.number
            if match is None:
                yield Pair("missing", kind, number, self.agent, self._why(kind, number), recorded=record)
            elif fields := tuple(self._differing(record, self._lines[match])):
                told = {name: record.get(name) for name in fields}, {n: self._lines[match].get(n) for n in fields}
                yield Pair("other", kind, number, self.agent, ", ".join(fields), fields, *told)
            else:
                yield Pair("same", kind, number, self.agent)
        used = set(self._places)
        for place, line in enumerate(self._lines):
            if place not in used:
                kind = kind_of(line)
                yield Pair("extra", kind, 0, self.agent, self._why_extra(kind), made=line)

    def told(self) -> Iterator[Json]:
        """The lines of the replay with the ids and times of the record."""
        places = {match: place for place, match in enumerate(self._places) if match is not None}
        for number, line in enumerate(self._lines):
            yield _stamped(line, self._records[places[number]] if number in places else {}, self._ids)

    def _key(self, line: Json) -> str:
        kind = kind_of(line)
        return kind if kind == "error" and not self.source.is_own else _key(line, kind)

    def _differing(self, record: Json, line: Json) -> Iterator[str]:
        """Return the fields in which two lines differ."""
        if self.source.is_own:
            made = _stamped(line, record, self._ids)
            yield from (name for name in {**record, **made} if record.get(name) != made.get(name))
            return
        mine, theirs = _essence(line), _essence(record)
        known = (name for name in theirs if theirs[name] is not None and mine.get(name) is not None)
        yield from (name for name in known if mine[name] != theirs[name])

    def _why_extra(self, kind: str) -> str:
        if self.source.is_own:
            return "the record has it not"
        return WORDS if kind in ("note", "output") else OURS

    def _why(self, kind: str, number: int) -> str:
        if told := self.source.left_out.get(number):
            return told
        if not self.source.is_own and (kind in BOOKS or kind not in SPOKEN):
            return FOREIGN
        if not self.source.is_own and kind in ("note", "output"):
            return WORDS
        return "the engine did not write it"


def _match_lines(records: Sequence[str], lines: Sequence[str]) -> list[int | None]:
    """Return for each recorded line the equivalent replayed line, each used once."""
    places: dict[str, deque[int]] = defaultdict(deque)
    for place, key in enumerate(lines):
        places[key].append(place)
    return [places[key].popleft() if places[key] else None for key in records]


# -- what a line says

SPOKEN = (
    *("prompt", "note", "said", "result", "interrupt", "summary", "boundary", "command", "output", "error"),
    *("bash", "notification", "teammate", "peer", "coordinator"),
)


def kind_of(line: Mapping[str, Any]) -> str:
    """Return the kind of a line, in one word."""
    kind = str(line.get("type") or "nothing")
    if kind == "assistant":
        return "error" if line.get("isApiErrorMessage") else "said"
    if kind == "user":
        found = speaker(_entry(line)) or "odd"
        return {"meta": "note", "caveat": "note", "bash": "bash"}.get(found, found)
    if kind == "system":
        subtype = str(line.get("subtype") or "system")
        return "boundary" if subtype == "compact_boundary" else subtype
    if kind == "attachment":
        inner = line.get("attachment")
        return f"attachment {inner.get('type')}" if isinstance(inner, dict) else kind
    return {"file-history-snapshot": "snapshot", "queue-operation": "queue", "summary": "headline"}.get(kind, kind)


def _entry(line: Mapping[str, Any]) -> Entry:
    raw = encode(dict(line))
    found = parse_line(Line(1, 0, raw, 0, len(raw)))
    assert isinstance(found, Entry)
    return found


def _key(line: Mapping[str, Any], kind: str) -> str:
    """Return what identifies the same line in recording and replay."""
    message = line.get("message")
    told = message if isinstance(message, dict) else {}
    block = _first(told.get("content"))
    match kind:
        case "said":
            return f"said {told.get('id')} {_json(block)}"
        case "result":
            return f"result {block.get('tool_use_id')}"
        case "summary" | "boundary" | "turn_duration" | "headline":
            return kind
        case "note" if _is_caveat(told.get("content")):
            return "caveat"
        case "last-prompt":
            return f"last-prompt {line.get('lastPrompt')}"
        case "queue":
            return f"queue {line.get('operation')} {_json(line.get('content'))}"
        case "snapshot":
            return f"snapshot {line.get('isSnapshotUpdate')}"
        case "progress":
            data = line.get("data")
            return f"progress {line.get('parentToolUseID')} {data.get('type') if isinstance(data, dict) else ''}"
        case "command":
            text = str(_first(told.get("content")).get("text"))
            return f"command {tag_text(text, 'command-name')} {tag_text(text, 'command-args')}"
        case "prompt" | "note" | "interrupt" | "output" | "error" | "bash" | "notification":
            return f"{kind} {_json(_blocks(told.get('content')))}"
    return kind


def _essence(line: Json) -> Json:
    """Return the content of a line in terms common to all programs."""
    message = line.get("message")
    told = message if isinstance(message, dict) else {}
    content = _blocks(told.get("content"))
    match kind_of(line):
        case "said":
            stop = told.get("stop_reason")
            usage = told.get("usage") if stop else None
            block = _first(told.get("content"))
            return {"model": told.get("model"), "block": block, "stop_reason": stop, "usage": usage}
        case "result":
            block = _first(told.get("content"))
            detail = line.get("toolUseResult")
            found = _blocks(block.get("content"))
            return {"content": found, "is_error": bool(block.get("is_error")), "toolUseResult": detail}
        case "summary":
            text = str(_first(content).get("text"))
            return {"text": text.removeprefix(f"{OPENING}\n\n").strip()}
        case "prompt":
            return {"content": content, "permissionMode": line.get("permissionMode")}
        case "command" | "error":
            return {}  # the words around them are each program's own
        case "note" if _is_caveat(told.get("content")):
            return {}
    return {"content": content}


def _stamped(line: Json, record: Json, ids: Mapping[str, str]) -> Json:
    """A line with the ids and times of the record, and everything else as the replay wrote it."""

    def value(name: str, made: Any, told: Any) -> Any:
        if name in _TIMES or name in _WRITER:
            return told if told is not None else made
        if isinstance(made, str):
            return ids.get(made, made)
        if isinstance(made, dict):
            inner = told if isinstance(told, dict) else {}
            return {key: value(key, each, inner.get(key)) for key, each in made.items()}
        if isinstance(made, list):
            others = told if isinstance(told, list) else []
            return [value("", each, others[i] if i < len(others) else None) for i, each in enumerate(made)]
        return made

    found: Json = value("", line, record)
    if line.get("type") == "assistant" and line.get("isApiErrorMessage"):
        told = record.get("message")
        found["message"] = {**found["message"], "id": told.get("id") if isinstance(told, dict) else None}
    return found


def _is_caveat(content: Any) -> bool:
    blocks = _blocks(content)
    return str(_first(blocks).get("text") or "").startswith("<local-command-caveat>")


def _blocks(content: Any) -> Any:
    """Normalize content: a text becomes one block."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _first(content: Any) -> Json:
    blocks = _blocks(content)
    first = blocks[0] if isinstance(blocks, list) and blocks else {}
    return first if isinstance(first, dict) else {}


def _json(value: Any) -> str:
    return encode(value).decode("utf-8", "replace")
