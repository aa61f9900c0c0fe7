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
# Kinds of lines that are not part of the conversation: every program keeps different records in them.
BOOKKEEPING = ("turn_duration", "last-prompt", "headline", "queue", "snapshot")
FOREIGN = "only the program that recorded it writes such lines"
OURS = "clew writes it where the other program does not"
UNSENT = "the engine starts one agent for each call of Task or Agent, and no others"
OTHER_WORDING = "each program words it differently"


class EntryPair(Struct, frozen=True):
    """An entry of the recording, of the replay, or of both."""

    state: State
    kind: str
    line: int = 0  # of the recording
    agent: str = ""  # the call of the agent whose entry it is
    why: str = ""
    fields: tuple[str, ...] = ()  # that differ
    recorded: Any = None
    made: Any = None


class ReplayComparison(Struct, frozen=True):
    """How similar a replay is to its recording."""

    pairs: tuple[EntryPair, ...]
    identical: bool  # every byte, given the ids and times of the recording
    moved: int  # entries in another order

    def of(self, *states: State) -> list[EntryPair]:
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
        return any(p.state != "same" and p.why not in (FOREIGN, OURS, OTHER_WORDING) for p in self.pairs)


def compare(session: Session, recording: Recording, played: Played) -> ReplayComparison:
    """Compare a replay with its recording."""
    pairs: list[EntryPair] = []
    moved, identical = 0, True
    for file in _compared_files(session, recording, played):
        pairs += file.pairs()
        moved += file.moved
        identical = identical and file.is_identical
    return ReplayComparison(tuple(pairs), identical, moved)


def with_recorded_ids(session: Session, recording: Recording, played: Played) -> dict[str, list[Json]]:
    """Return the lines of a replay with the ids and times of the recording: of the session (""), and of each agent
    by id.
    """
    return {
        file.source.agent_id if file.agent else "": list(file.stamped_lines())
        for file in _compared_files(session, recording, played)
    }


def _compared_files(session: Session, recording: Recording, played: Played) -> list[_ComparedFile]:
    """Return the session and its agents. The ids of one occur in the others."""
    ids: dict[str, str] = {}
    return [
        _ComparedFile(call, entries, lines, source, ids, played.agent_ids)
        for call, entries, lines, source in _files(session, recording, played)
    ]


def _files(
    session: Session, recording: Recording, played: Played
) -> Iterator[tuple[str, Sequence[Entry], Sequence[Json], Recording]]:
    own = [e for e in session.entries if e.is_sidechain == session.is_agent or e.type not in ("user", "assistant")]
    yield "", own, played.lines, recording
    inner = {each.agent_id: (call, each) for outer in recording.all() for call, each in outer.agents.items()}
    for agent in session.agents:
        entries = agent.session.entries
        if agent.id in inner:
            call, source = inner[agent.id]
            yield call, entries, played.agents.get(call, ()), source
        else:
            reason = UNSENT if agent.call else FOREIGN
            why = dict.fromkeys((entry.line.number for entry in entries), reason)
            yield agent.id, entries, (), Recording(recording.session_id, agent_id=agent.id, left_out=why)


class _ComparedFile:
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
        self._positions = _match_lines([self._key(r) for r in self._records], [self._key(line) for line in lines])
        self._ids = ids
        for position, match in enumerate(self._positions):
            if match is not None and (new_uuid := lines[match].get("uuid")):
                self._ids[new_uuid] = str(self._records[position].get("uuid"))
        if agent in agents:
            self._ids[agents[agent]] = source.agent_id

    @property
    def moved(self) -> int:
        """Return the number of entries before one that was recorded earlier."""
        positions = [position for position in self._positions if position is not None]
        return sum(later < earlier for earlier, later in pairwise(positions))

    @property
    def is_identical(self) -> bool:
        """Return True if the replay reproduces the file byte for byte, given the recorded ids and times."""
        if self._positions != list(range(len(self._lines))):
            return False
        replayed = b"".join(
            encode(_with_recorded_ids(line, record, self._ids)) + b"\n"
            for line, record in zip(self._lines, self._records, strict=True)
        )
        return replayed == b"".join(entry.raw for entry in self._entries)

    def pairs(self) -> Iterator[EntryPair]:
        for position, entry in enumerate(self._entries):
            match = self._positions[position]
            record, kind = self._records[position], kind_of(self._records[position])
            number = entry.line.number
            if match is None:
                yield EntryPair("missing", kind, number, self.agent, self._why(kind, number), recorded=record)
            elif fields := tuple(self._differing(record, self._lines[match])):
                values = {name: record.get(name) for name in fields}, {n: self._lines[match].get(n) for n in fields}
                yield EntryPair("other", kind, number, self.agent, ", ".join(fields), fields, *values)
            else:
                yield EntryPair("same", kind, number, self.agent)
        used = set(self._positions)
        for position, line in enumerate(self._lines):
            if position not in used:
                kind = kind_of(line)
                yield EntryPair("extra", kind, 0, self.agent, self._why_extra(kind), made=line)

    def stamped_lines(self) -> Iterator[Json]:
        """Yield the lines of the replay with the ids and times of the recording."""
        positions = {match: position for position, match in enumerate(self._positions) if match is not None}
        for number, line in enumerate(self._lines):
            yield _with_recorded_ids(line, self._records[positions[number]] if number in positions else {}, self._ids)

    def _key(self, line: Json) -> str:
        kind = kind_of(line)
        return kind if kind == "error" and not self.source.is_own else _key(line, kind)

    def _differing(self, record: Json, line: Json) -> Iterator[str]:
        """Return the fields in which two lines differ."""
        if self.source.is_own:
            replayed = _with_recorded_ids(line, record, self._ids)
            yield from (name for name in {**record, **replayed} if record.get(name) != replayed.get(name))
            return
        mine, theirs = _common_fields(line), _common_fields(record)
        known = (name for name in theirs if theirs[name] is not None and mine.get(name) is not None)
        yield from (name for name in known if mine[name] != theirs[name])

    def _why_extra(self, kind: str) -> str:
        if self.source.is_own:
            return "the recording does not contain it"
        return OTHER_WORDING if kind in ("note", "output") else OURS

    def _why(self, kind: str, number: int) -> str:
        if reason := self.source.left_out.get(number):
            return reason
        if not self.source.is_own and (kind in BOOKKEEPING or kind not in SPOKEN):
            return FOREIGN
        if not self.source.is_own and kind in ("note", "output"):
            return OTHER_WORDING
        return "the engine did not write it"


def _match_lines(records: Sequence[str], lines: Sequence[str]) -> list[int | None]:
    """Return for each recorded line the equivalent replayed line, each used once."""
    positions: dict[str, deque[int]] = defaultdict(deque)
    for position, key in enumerate(lines):
        positions[key].append(position)
    return [positions[key].popleft() if positions[key] else None for key in records]


# -- content of a line

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
        author = speaker(_entry(line)) or "odd"
        return {"meta": "note", "caveat": "note", "bash": "bash"}.get(author, author)
    if kind == "system":
        subtype = str(line.get("subtype") or "system")
        return "boundary" if subtype == "compact_boundary" else subtype
    if kind == "attachment":
        inner = line.get("attachment")
        return f"attachment {inner.get('type')}" if isinstance(inner, dict) else kind
    return {"file-history-snapshot": "snapshot", "queue-operation": "queue", "summary": "headline"}.get(kind, kind)


def _entry(line: Mapping[str, Any]) -> Entry:
    raw = encode(dict(line))
    entry = parse_line(Line(1, 0, raw, 0, len(raw)))
    assert isinstance(entry, Entry)
    return entry


def _key(line: Mapping[str, Any], kind: str) -> str:
    """Return what identifies the same line in recording and replay."""
    message = line.get("message")
    message_fields = message if isinstance(message, dict) else {}
    block = _first(message_fields.get("content"))
    match kind:
        case "said":
            return f"said {message_fields.get('id')} {_json(block)}"
        case "result":
            return f"result {block.get('tool_use_id')}"
        case "summary" | "boundary" | "turn_duration" | "headline":
            return kind
        case "note" if _is_caveat(message_fields.get("content")):
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
            text = str(_first(message_fields.get("content")).get("text"))
            return f"command {tag_text(text, 'command-name')} {tag_text(text, 'command-args')}"
        case "prompt" | "note" | "interrupt" | "output" | "error" | "bash" | "notification":
            return f"{kind} {_json(_blocks(message_fields.get('content')))}"
    return kind


def _common_fields(line: Json) -> Json:
    """Return the content of a line in terms common to all programs."""
    message = line.get("message")
    message_fields = message if isinstance(message, dict) else {}
    content = _blocks(message_fields.get("content"))
    match kind_of(line):
        case "said":
            stop = message_fields.get("stop_reason")
            usage = message_fields.get("usage") if stop else None
            block = _first(message_fields.get("content"))
            return {"model": message_fields.get("model"), "block": block, "stop_reason": stop, "usage": usage}
        case "result":
            block = _first(message_fields.get("content"))
            detail = line.get("toolUseResult")
            blocks = _blocks(block.get("content"))
            return {"content": blocks, "is_error": bool(block.get("is_error")), "toolUseResult": detail}
        case "summary":
            text = str(_first(content).get("text"))
            return {"text": text.removeprefix(f"{OPENING}\n\n").strip()}
        case "prompt":
            return {"content": content, "permissionMode": line.get("permissionMode")}
        case "command" | "error":
            return {}  # each program words them differently
        case "note" if _is_caveat(message_fields.get("content")):
            return {}
    return {"content": content}


def _with_recorded_ids(line: Json, record: Json, ids: Mapping[str, str]) -> Json:
    """Return a line with the ids and times of the recording, and everything else as the replay wrote it."""

    def value(name: str, made: Any, recorded: Any) -> Any:
        if name in _TIMES or name in _WRITER:
            return recorded if recorded is not None else made
        if isinstance(made, str):
            return ids.get(made, made)
        if isinstance(made, dict):
            inner = recorded if isinstance(recorded, dict) else {}
            return {key: value(key, each, inner.get(key)) for key, each in made.items()}
        if isinstance(made, list):
            others = recorded if isinstance(recorded, list) else []
            return [value("", each, others[i] if i < len(others) else None) for i, each in enumerate(made)]
        return made

    replaced: Json = value("", line, record)
    if line.get("type") == "assistant" and line.get("isApiErrorMessage"):
        message = record.get("message")
        recorded_id = message.get("id") if isinstance(message, dict) else None
        replaced["message"] = {**replaced["message"], "id": recorded_id}
    return replaced


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
