"""Typed details of each kind of entry, beyond the fields that all entries share.

One small shape per kind, looked up in a table. Entries of other kinds, and fields that no shape names, remain in
`entry.data`.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar, Self

from msgspec import Raw, Struct, field

from clew.wire.entry import Entry
from clew.wire.json_codec import as_text, decode_readable
from clew.wire.lenient import convert_leniently
from clew.wire.numeric_limits import Amount, Count

ORIGIN_TYPE = "clew-origin"  # type of a line that other readers ignore: where the session came from


class EntryDetail(Struct, frozen=True, rename="camel"):
    """A typed view of one kind of entry; `inside` is the key of the object that contains its fields."""

    inside: ClassVar[str] = ""

    @classmethod
    def of(cls, entry: Entry) -> Self:
        data: Any = entry.data
        if cls.inside:
            data = data.get(cls.inside)
        return convert_leniently(cls, data if isinstance(data, dict) else {})


# -- titles and other state: the newest of a kind counts


class SummaryDetail(EntryDetail, frozen=True):
    """A title for the conversation that ends in `leaf`, often one of another file. It is never sent to the model."""

    summary: str = ""
    leaf: str | None = field(default=None, name="leafUuid")


class LastPrompt(EntryDetail, frozen=True):
    """Names the leaf to resume from."""

    last_prompt: str = ""
    leaf: str | None = field(default=None, name="leafUuid")
    explicit: bool = False


class CustomTitle(EntryDetail, frozen=True):
    title: str = field(default="", name="customTitle")


class AiTitle(EntryDetail, frozen=True):
    title: str = field(default="", name="aiTitle")


class AgentName(EntryDetail, frozen=True):
    name: str = field(default="", name="agentName")


class AgentColor(EntryDetail, frozen=True):
    color: str = field(default="", name="agentColor")


class AgentSetting(EntryDetail, frozen=True):
    setting: str = field(default="", name="agentSetting")


class Tag(EntryDetail, frozen=True):
    tag: str = ""


class Mode(EntryDetail, frozen=True):
    mode: str = ""


class PermissionMode(EntryDetail, frozen=True):
    permission_mode: str = ""


class ToolsUsed(EntryDetail, frozen=True):
    tools: list[str] = []


class Relocated(EntryDetail, frozen=True):
    cwd: str = field(default="", name="relocatedCwd")


class WorktreeState(EntryDetail, frozen=True):
    inside: ClassVar[str] = "worktreeSession"
    original_cwd: str = ""
    worktree_path: str = ""
    worktree_name: str = ""
    worktree_branch: str = ""
    original_branch: str = ""
    session_id: str = ""


class CostState(EntryDetail, frozen=True):
    """Claude Code's own totals at its exit."""

    total_cost: Amount = field(default=0, name="totalCostUSD")
    total_duration: Amount = 0
    total_api_duration: Amount = field(default=0, name="totalAPIDuration")
    total_lines_added: Count = 0
    total_lines_removed: Count = 0
    model_usage: Raw = Raw()
    has_unknown_model_cost: bool = False


# -- events that are not part of the message graph


class QueueOperation(EntryDetail, frozen=True):
    """A message typed while the model was busy. The operation is enqueue, dequeue, remove, popAll, or unknown."""

    operation: str = ""
    content: Raw = Raw()
    reason: str = ""

    @property
    def text(self) -> str:
        value = decode_readable(self.content)
        if isinstance(value, list):
            return "\n".join(as_text(b.get("text", "")) for b in value if isinstance(b, dict))
        return value if isinstance(value, str) else ""


class PrLink(EntryDetail, frozen=True):
    number: Count | None = field(default=None, name="prNumber")
    url: str = field(default="", name="prUrl")
    repository: str = field(default="", name="prRepository")


class Backup(Struct, frozen=True, rename="camel"):
    """A saved state of one file; `name` is its file in file-history/, None for a file that did not exist."""

    name: str | None = field(default=None, name="backupFileName")
    version: Count | None = None
    time: str | None = field(default=None, name="backupTime")
    parent_dir: str | None = field(default=None, name="realParentDir")
    content: str | None = field(default=None, name="(content)")


class FileHistorySnapshot(EntryDetail, frozen=True):
    """The files that were tracked at a message. A backup that is a string is an older form: the content itself."""

    message_id: str | None = None
    is_update: bool = field(default=False, name="isSnapshotUpdate")
    snapshot: Raw = Raw()

    @property
    def inner_message_id(self) -> str | None:
        value = self._inner.get("messageId")
        return value if isinstance(value, str) else None

    @property
    def timestamp(self) -> str | None:
        value = self._inner.get("timestamp")
        return value if isinstance(value, str) else None

    @property
    def backups(self) -> dict[str, Backup]:
        tracked = self._inner.get("trackedFileBackups")
        return {k: _backup(v) for k, v in tracked.items()} if isinstance(tracked, dict) else {}

    @property
    def _inner(self) -> dict[str, Any]:
        value = decode_readable(self.snapshot)
        return value if isinstance(value, dict) else {}


def _backup(value: Any) -> Backup:
    if isinstance(value, str):
        return Backup(content=value)
    return convert_leniently(Backup, value) if isinstance(value, dict) else Backup()


class SnapshotDelta(EntryDetail, frozen=True):
    """One more file in a snapshot; newer versions write it instead of snapshot updates."""

    message_id: str | None = None
    snapshot_message_id: str | None = None
    path: str = field(default="", name="trackingPath")
    backup: Backup | None = None
    timestamp: str | None = None


class ApiRequest(EntryDetail, frozen=True):
    id: str = ""
    query_source: str = ""
    shape_hash: str = ""
    base: str | None = None
    keep: Count = 0
    tail: list[str] = []


# -- system entries


class Segment(Struct, frozen=True):
    head: str | None = field(default=None, name="headUuid")
    anchor: str | None = field(default=None, name="anchorUuid")
    tail: str | None = field(default=None, name="tailUuid")


class Preserved(Struct, frozen=True):
    anchor: str | None = field(default=None, name="anchorUuid")
    uuids: list[str] = []


class Compaction(EntryDetail, frozen=True):
    """A compact boundary: when, why, and which messages it preserved."""

    inside: ClassVar[str] = "compactMetadata"
    trigger: str = ""
    pre_tokens: Count | None = None
    post_tokens: Count | None = None
    dropped_tokens: Count | None = field(default=None, name="cumulativeDroppedTokens")
    duration_ms: Amount | None = None
    segment: Segment | None = field(default=None, name="preservedSegment")
    messages: Preserved | None = field(default=None, name="preservedMessages")

    @property
    def cause(self) -> str:
        """`auto` or `manual`. The older value for auto is translated; any other value is returned unchanged."""
        return "auto" if self.trigger == "context_limit" else self.trigger


class TurnDuration(EntryDetail, frozen=True):
    duration_ms: Amount = 0
    message_count: Count | None = None


class LocalCommand(EntryDetail, frozen=True):
    """A slash command run locally, or its output."""

    content: str = ""
    level: str = ""

    @property
    def name(self) -> str:
        return tag_text(self.content, "command-name")

    @property
    def message(self) -> str:
        return tag_text(self.content, "command-message")

    @property
    def arguments(self) -> str:
        return tag_text(self.content, "command-args")

    @property
    def output(self) -> str:
        return tag_text(self.content, "local-command-stdout") or tag_text(self.content, "local-command-stderr")


class ApiFailure(EntryDetail, frozen=True):
    level: str = ""
    retry_ms: Amount | None = field(default=None, name="retryInMs")
    attempt: Count | None = field(default=None, name="retryAttempt")
    max_retries: Count | None = None


class StopHooks(EntryDetail, frozen=True):
    hook_count: Count = 0
    hook_errors: list[str] = []
    prevented: bool = field(default=False, name="preventedContinuation")
    stop_reason: str = ""


class SystemNotice(EntryDetail, frozen=True):
    """Any other system entry: a text with a level."""

    content: str = ""
    level: str = ""


# -- progress and attachments


class ProgressDetail(EntryDetail, frozen=True):
    """Progress of a running tool."""

    inside: ClassVar[str] = "data"
    type: str = ""
    output: str = ""
    full_output: str = ""
    hook_event: str = ""
    hook_name: str = ""
    command: str = ""
    query: str = ""
    result_count: Count | None = None
    task_description: str = ""
    task_type: str = ""
    agent_id: str | None = None
    message: Raw = Raw()


class Attachment(EntryDetail, frozen=True):
    """Context that the program added for the model; further fields depend on `type`."""

    inside: ClassVar[str] = "attachment"
    type: str = ""
    filename: str = ""
    path: str = ""
    prompt: Raw = Raw()
    content: Raw = Raw()
    hook_name: str = ""
    hook_event: str = ""
    command_mode: str = ""
    human_turn: bool = False
    origin: Raw = Raw()


_BY_TYPE: dict[str, type[EntryDetail]] = {
    "summary": SummaryDetail,
    "last-prompt": LastPrompt,
    "custom-title": CustomTitle,
    "ai-title": AiTitle,
    "agent-name": AgentName,
    "agent-color": AgentColor,
    "agent-setting": AgentSetting,
    "tag": Tag,
    "mode": Mode,
    "permission-mode": PermissionMode,
    "tools-used": ToolsUsed,
    "relocated": Relocated,
    "worktree-state": WorktreeState,
    "cost-state": CostState,
    "queue-operation": QueueOperation,
    "pr-link": PrLink,
    "file-history-snapshot": FileHistorySnapshot,
    "file-history-delta": SnapshotDelta,
    "api-request": ApiRequest,
    "progress": ProgressDetail,
    "attachment": Attachment,
    "system": SystemNotice,
}

_BY_SUBTYPE: dict[str | None, type[EntryDetail]] = {
    "compact_boundary": Compaction,
    "turn_duration": TurnDuration,
    "local_command": LocalCommand,
    "api_error": ApiFailure,
    "stop_hook_summary": StopHooks,
}


def detail(entry: Entry) -> EntryDetail | None:
    """Return the typed view of an entry, or None if its kind has none."""
    shape = _BY_SUBTYPE.get(entry.subtype) if entry.type == "system" else None
    shape = shape or _BY_TYPE.get(entry.type)
    return shape.of(entry) if shape else None


def tag_text(text: str, tag: str) -> str:
    """Return the text between `<tag>` and `</tag>`, or ""."""
    match = re.search(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
    return match[1].strip() if match else ""
