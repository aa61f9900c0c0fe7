"""Define a recording: a session in the form that is needed to play it again.

A recording contains the prompts in order, and what followed each: replies as a mock sends them, results of calls as
the tools returned them, queued prompts, interruptions and compactions. Lines that no engine plays again are counted
with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from clew.api.mock.scripts import Fault, ScriptStep
from clew.chat.store.live_conversation import NO_CONTENT
from clew.chat.tools.tool import CallResult, Content
from clew.conversation.replies import Reply
from clew.wire.content_block import result_text
from clew.wire.entry import Entry
from clew.wire.entry_types import tag_text
from clew.wire.json_codec import Json

_HEADER = re.compile(r"[!-~]+")  # what can be the value of a header
OWN = "clew/"  # how `writer` begins on lines of ours
HANG = Fault(stream="hang", after=-2)
HANG_IN_BLOCK = Fault(stream="hang", after=-3)  # before the end of the last block
CUT = Fault(stream="cut", after=-2)


class Take(Struct, frozen=True):
    """A reply, its calls that are run, and where its lines say they were written."""

    step: ScriptStep
    calls: tuple[str, ...] = ()
    cwd: str = ""
    branch: str = ""
    is_aborted: bool = False  # its last block was cut off by an interrupt


class Fail(Struct, frozen=True):
    """A failed attempt."""

    fault: Fault


class RecordedCompaction(Struct, frozen=True):
    """A compaction, with its summary as the reply that produced it."""

    step: ScriptStep
    trigger: str


class Sign(Struct, frozen=True):
    """A progress report of a call."""

    call: str
    data: Json


class Save(Struct, frozen=True):
    """A call is about to change files: the backups from then on."""

    call: str
    backups: Json


class RecordedResult(Struct, frozen=True):
    """The result of a call."""

    call: str


class RecordedQueued(Struct):
    """A prompt that was queued while the model was busy."""

    content: Content
    notes: tuple[Content, ...] = ()
    is_heard: bool = False


class Hold(Struct, frozen=True):
    """A stop hook made the model continue."""

    reason: str


class Stop(Struct, frozen=True):
    """The user interrupts."""


Item = Take | Fail | RecordedCompaction | Sign | Save | RecordedResult | RecordedQueued | Hold | Stop


class Say(Struct):
    """A prompt and everything that followed it."""

    content: Content
    line: int
    back_to: int | None = None  # the act that it was said behind, if that is not the one before
    notes: list[Content] = field(default_factory=list)
    mode: str = ""
    todos: list[Json] = field(default_factory=list)
    backups: Json | None = None
    cwd: str = ""
    branch: str = ""
    items: list[Item] = field(default_factory=list)
    ends: bool = False  # the file says that the turn ended


class Compact(Struct):
    """A compaction requested by the user; `is_typed` if the file contains the command too."""

    wish: str = ""
    is_typed: bool = False
    items: list[Item] = field(default_factory=list)


class RecordedCommand(Struct):
    """A slash command of the program, and its output."""

    name: str
    arguments: str
    output: str = ""
    is_closed: bool = False


class Rename(Struct):
    """The session gets a title."""

    title: str


Act = Say | Compact | RecordedCommand | Rename


class RecordedOutcome(Struct):
    """The result of a call, and the texts after it."""

    result: CallResult
    notes: list[Content] = field(default_factory=list)


class Recording(Struct):
    """One conversation: a session, or one of its agents."""

    session_id: str
    cwd: str = ""
    branch: str = ""
    name: str = ""
    entrypoint: str = "cli"
    model: str = ""
    agent_id: str = ""
    is_own: bool = False  # clew wrote it
    has_backups: bool = False
    tries: int = 10  # how often the API was asked again at most
    acts: list[Act] = field(default_factory=list)
    outcomes: dict[str, RecordedOutcome] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)  # of the tools, by call
    lines: dict[str, str] = field(default_factory=dict)  # the call on an assistant's line, by the uuid of the line
    owners: dict[str, int] = field(default_factory=dict)  # for the uuid of an entry, the number of its act
    kinds: set[str] = field(default_factory=set)  # of agents
    agents: dict[str, Recording] = field(default_factory=dict)  # by the call that sent them off
    left_out: dict[int, str] = field(default_factory=dict)  # why a line is not played, by its number

    def all(self) -> Iterator[Recording]:
        """Yield this recording and those of the agents below it."""
        yield self
        for agent in self.agents.values():
            yield from agent.all()


def stop_reason(reply: Reply, calls: Sequence[str]) -> str:
    """Return why a reply stopped; some versions do not record it."""
    return reply.stop_reason or ("tool_use" if calls else "end_turn")


def blocks_of(reply: Reply) -> list[Json]:
    """Return the recorded blocks of a reply, with every field."""
    found: list[Json] = []
    seen: set[str] = set()
    for entry in reply.entries:
        content = message_of(entry).get("content")
        blocks = [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []
        if isinstance(content, str):
            blocks = [{"type": "text", "text": content}]
        if found and blocks[: len(found)] == found:  # a few writers stored the answer so far on each line
            found = blocks
            continue
        for block in blocks:
            ident = str(block.get("id") or "") if block.get("type") == "tool_use" else ""
            if not ident or ident not in seen:
                found.append(block)
            seen.add(ident)
    return [_with_required_fields(block) for block in found]


def take_of(reply: Reply, is_own: bool) -> Take:
    """Return a reply in the form that the mock plays."""
    blocks = blocks_of(reply)
    if is_own and [block.get("text") for block in blocks] == [NO_CONTENT]:
        blocks = []  # the engine's word for a reply that says nothing
    first, last = reply.entries[0], reply.entries[-1]
    uses = [b for b in blocks if b.get("type") == "tool_use"]
    calls = tuple(str(b["id"]) for b in uses if isinstance(b.get("input"), dict))  # others the engine does not run
    broken = is_own and reply.stop_reason is None
    reason = stop_reason(reply, [str(b["id"]) for b in uses])
    told = message_of(last)
    usages = [u for e in reply.entries if isinstance(u := message_of(e).get("usage"), dict)]
    usage: Json = max(usages, key=_output) if usages else {}
    step = ScriptStep(
        content=list(blocks),
        stop_reason=reason,
        stop_sequence=told["stop_sequence"] if isinstance(told.get("stop_sequence"), str) else None,
        usage=usage,
        fault=CUT if broken else None,
        id=str(message_of(first).get("id") or ""),
        request_id=first.request_id if first.request_id and _HEADER.fullmatch(first.request_id) else "",
        model=str(message_of(first).get("model") or ""),
        begun=(usages or [{}])[0],
    )
    if reason == "max_tokens" and uses and blocks[-1] is uses[-1]:
        calls = tuple(call for call in calls if call != uses[-1]["id"])  # nor one that was cut off
    return Take(step, () if broken else calls, last.cwd or "", last.git_branch or "", last.is_aborted)


def outcome_of(entry: Entry, call: str) -> RecordedOutcome:
    """Return the recorded result of a call."""
    data = entry.data
    content = message_of(entry).get("content")
    blocks = content if isinstance(content, list) else ()
    block = next((b for b in blocks if isinstance(b, dict) and b.get("tool_use_id") == call), {})
    said: Any = block.get("content", "")
    if not isinstance(said, str) and not (isinstance(said, list) and all(isinstance(b, dict) for b in said)):
        said = result_text(said)
    return RecordedOutcome(CallResult(said, data.get("toolUseResult"), bool(block.get("is_error"))))


def failure_of(entry: Entry) -> Fail:
    """Return an API error that ended a turn."""
    data = entry.data
    text = entry.text.removeprefix("API Error: ")
    return Fail(
        Fault(
            status=_status(data.get("apiErrorStatus"), 400),
            kind=str(data.get("error") or "") if isinstance(data.get("error"), str) else "",
            message=text or "The API failed.",
            should_retry=False,
        )
    )


def retry_of(entry: Entry) -> Fail:
    """Return a failed attempt that was retried."""
    error = entry.data.get("error")
    told: Mapping[str, Any] = error if isinstance(error, dict) else {}
    return Fail(
        Fault(
            status=_status(told.get("status"), 500),
            message=str(told.get("message") or ""),
            should_retry=True,
        )
    )


def summary_step(text: str, boundary: Json, opening: str, is_own: bool) -> ScriptStep:
    """Return a summary as the reply that produced it: without the text that the engine adds."""
    if is_own:
        text = text.removeprefix(f"{opening}\n\n").partition("\n\nThe user's last message, word for word:\n")[0]
    meta = boundary.get("compactMetadata")
    usage = meta.get("usage") if isinstance(meta, dict) else None
    return ScriptStep(content=text or "(empty)", usage=usage if isinstance(usage, dict) else {}, begun=usage or {})


def command_of(entry: Entry) -> RecordedCommand:
    name = tag_text(entry.text, "command-name").removeprefix("/")
    return RecordedCommand(name, tag_text(entry.text, "command-args"))


def message_of(entry: Entry) -> Json:
    message = entry.data.get("message")
    return message if isinstance(message, dict) else {}


def content_of(entry: Entry) -> Content:
    """Return the recorded content of a user entry."""
    content = message_of(entry).get("content")
    if isinstance(content, list) and all(isinstance(b, dict) for b in content):
        return content
    return content if isinstance(content, str) else result_text(content)


def _status(value: Any, otherwise: int) -> int:
    return value if isinstance(value, int) and 400 <= value < 600 else otherwise


def _with_required_fields(block: Json) -> Json:
    """Return a block with the fields that every reader of a reply needs."""
    kind = block.get("type")
    if kind == "text":
        return block if isinstance(block.get("text"), str) else {**block, "text": ""}
    if kind == "tool_use":
        wrong: Json = {name: "unknown" for name in ("id", "name") if not isinstance(block.get(name), str)}
        return {"input": {}, **block, **wrong} if wrong or "input" not in block else block
    return block if isinstance(kind, str) else {**block, "type": "unknown"}


def _output(usage: Json) -> int:
    count = usage.get("output_tokens")
    return count if isinstance(count, int) else 0
