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

_HEADER = re.compile(r"[!-~]+")  # a valid value of an HTTP header
WRITER_PREFIX = "clew/"  # `writer` of lines that clew wrote begins with this
HANG = Fault(stream="hang", after=-2)
HANG_IN_BLOCK = Fault(stream="hang", after=-3)  # before the end of the last block
CUT = Fault(stream="cut", after=-2)


class RecordedReply(Struct, frozen=True):
    """A reply, its calls that are run, and where its lines say they were written."""

    step: ScriptStep
    calls: tuple[str, ...] = ()
    cwd: str = ""
    branch: str = ""
    is_aborted: bool = False  # its last block was cut off by an interrupt


class RecordedFailure(Struct, frozen=True):
    """A failed attempt."""

    fault: Fault


class RecordedCompaction(Struct, frozen=True):
    """A compaction, with its summary as the reply that produced it."""

    step: ScriptStep
    trigger: str


class RecordedProgress(Struct, frozen=True):
    """A progress report of a call."""

    call: str
    data: Json


class RecordedSnapshot(Struct, frozen=True):
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


class StopHookBlock(Struct, frozen=True):
    """A stop hook made the model continue."""

    reason: str


class Interruption(Struct, frozen=True):
    """The user interrupts."""


RequestItem = RecordedReply | RecordedFailure | RecordedCompaction | Interruption  # the outcome of a request
CallItem = RecordedProgress | RecordedSnapshot | RecordedResult
Item = RequestItem | CallItem | RecordedQueued | StopHookBlock


class RecordedPrompt(Struct):
    """A prompt and everything that followed it."""

    content: Content
    line: int
    back_to: int | None = None  # the action after which it was sent, if that is not the previous one
    notes: list[Content] = field(default_factory=list)
    mode: str = ""
    todos: list[Json] = field(default_factory=list)
    backups: Json | None = None
    cwd: str = ""
    branch: str = ""
    items: list[Item] = field(default_factory=list)
    ends: bool = False  # the file records the end of the turn


class ManualCompaction(Struct):
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


class TitleChange(Struct):
    """The session gets a title."""

    title: str


UserAction = RecordedPrompt | ManualCompaction | RecordedCommand | TitleChange


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
    tries: int = 10  # maximum number of attempts of a request
    actions: list[UserAction] = field(default_factory=list)
    outcomes: dict[str, RecordedOutcome] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)  # of the tools, by call
    lines: dict[str, str] = field(default_factory=dict)  # the call on an assistant's line, by the uuid of the line
    owners: dict[str, int] = field(default_factory=dict)  # for the uuid of an entry, the number of its action
    kinds: set[str] = field(default_factory=set)  # of agents
    agents: dict[str, Recording] = field(default_factory=dict)  # by the call that started them
    left_out: dict[int, str] = field(default_factory=dict)  # why a line is not played, by its number

    def all(self) -> Iterator[Recording]:
        """Yield this recording and those of the agents below it."""
        yield self
        for agent in self.agents.values():
            yield from agent.all()


def stop_reason(reply: Reply, calls: Sequence[str]) -> str:
    """Return why a reply stopped; some versions do not record it."""
    return reply.stop_reason or ("tool_use" if calls else "end_turn")


def raw_blocks(reply: Reply) -> list[Json]:
    """Return the recorded blocks of a reply, with every field."""
    recorded: list[Json] = []
    seen: set[str] = set()
    for entry in reply.entries:
        content = raw_message(entry).get("content")
        blocks = [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []
        if isinstance(content, str):
            blocks = [{"type": "text", "text": content}]
        if recorded and blocks[: len(recorded)] == recorded:  # some programs repeat the reply so far on each line
            recorded = blocks
            continue
        for block in blocks:
            ident = str(block.get("id") or "") if block.get("type") == "tool_use" else ""
            if not ident or ident not in seen:
                recorded.append(block)
            seen.add(ident)
    return [_with_required_fields(block) for block in recorded]


def build_reply(reply: Reply, is_own: bool) -> RecordedReply:
    """Return a reply in the form that the mock plays."""
    blocks = raw_blocks(reply)
    if is_own and [block.get("text") for block in blocks] == [NO_CONTENT]:
        blocks = []  # what the engine writes for an empty reply
    first, last = reply.entries[0], reply.entries[-1]
    uses = [b for b in blocks if b.get("type") == "tool_use"]
    calls = tuple(str(b["id"]) for b in uses if isinstance(b.get("input"), dict))  # the engine does not run others
    broken = is_own and reply.stop_reason is None
    reason = stop_reason(reply, [str(b["id"]) for b in uses])
    last_message = raw_message(last)
    usages = [u for e in reply.entries if isinstance(u := raw_message(e).get("usage"), dict)]
    usage: Json = max(usages, key=_output) if usages else {}
    step = ScriptStep(
        content=list(blocks),
        stop_reason=reason,
        stop_sequence=last_message["stop_sequence"] if isinstance(last_message.get("stop_sequence"), str) else None,
        usage=usage,
        fault=CUT if broken else None,
        id=str(raw_message(first).get("id") or ""),
        request_id=first.request_id if first.request_id and _HEADER.fullmatch(first.request_id) else "",
        model=str(raw_message(first).get("model") or ""),
        begun=(usages or [{}])[0],
    )
    if reason == "max_tokens" and uses and blocks[-1] is uses[-1]:
        calls = tuple(call for call in calls if call != uses[-1]["id"])  # nor a call that was cut off
    return RecordedReply(step, () if broken else calls, last.cwd or "", last.git_branch or "", last.is_aborted)


def build_outcome(entry: Entry, call: str) -> RecordedOutcome:
    """Return the recorded result of a call."""
    data = entry.data
    content = raw_message(entry).get("content")
    blocks = content if isinstance(content, list) else ()
    block = next((b for b in blocks if isinstance(b, dict) and b.get("tool_use_id") == call), {})
    result: Any = block.get("content", "")
    if not isinstance(result, str) and not (isinstance(result, list) and all(isinstance(b, dict) for b in result)):
        result = result_text(result)
    return RecordedOutcome(CallResult(result, data.get("toolUseResult"), bool(block.get("is_error"))))


def build_failure(entry: Entry) -> RecordedFailure:
    """Return an API error that ended a turn."""
    data = entry.data
    text = entry.text.removeprefix("API Error: ")
    return RecordedFailure(
        Fault(
            status=_status(data.get("apiErrorStatus"), 400),
            kind=str(data.get("error") or "") if isinstance(data.get("error"), str) else "",
            message=text or "The API failed.",
            should_retry=False,
        )
    )


def build_retry(entry: Entry) -> RecordedFailure:
    """Return a failed attempt that was retried."""
    error = entry.data.get("error")
    fields: Mapping[str, Any] = error if isinstance(error, dict) else {}
    return RecordedFailure(
        Fault(
            status=_status(fields.get("status"), 500),
            message=str(fields.get("message") or ""),
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


def build_command(entry: Entry) -> RecordedCommand:
    name = tag_text(entry.text, "command-name").removeprefix("/")
    return RecordedCommand(name, tag_text(entry.text, "command-args"))


def raw_message(entry: Entry) -> Json:
    message = entry.data.get("message")
    return message if isinstance(message, dict) else {}


def raw_content(entry: Entry) -> Content:
    """Return the recorded content of a user entry."""
    content = raw_message(entry).get("content")
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
