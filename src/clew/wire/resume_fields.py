"""Decode only the fields of an entry that a resume takes from lines that it does not send."""

from __future__ import annotations

from msgspec import Raw, Struct, field

from clew.wire.content_block import EMPTY_RAW
from clew.wire.numeric_limits import Count


class RequestSize(Struct, frozen=True, gc=False):
    """The tokens of a request and its reply."""

    input_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None
    cache_read_input_tokens: Count | None = None
    output_tokens: Count | None = None


class AnsweredCall(Struct, frozen=True, gc=False):
    """A content block; only that of a result names a call."""

    tool_use_id: str | None = None


class EarlierMessage(Struct, frozen=True, gc=False):
    id: str | None = None
    model: str | None = None
    usage: RequestSize | None = None
    content: str | list[AnsweredCall] | None = None


class ResultState(Struct, frozen=True, gc=False):
    """What the record of a result changes in the state of a chat."""

    new_todos: Raw = field(default=EMPTY_RAW, name="newTodos")
    status: Raw = EMPTY_RAW
    background_task: Raw = field(default=EMPTY_RAW, name="backgroundTaskId")


class SnapshotOwner(Struct, frozen=True, gc=False):
    message_id: str | None = field(default=None, name="messageId")


class EarlierEntry(Struct, frozen=True, gc=False):
    """An entry before those that a resume sends."""

    is_sidechain: bool = field(default=False, name="isSidechain")
    type: str = ""
    uuid: str | None = None
    parent: str | None = field(default=None, name="parentUuid")
    logical_parent: str | None = field(default=None, name="logicalParentUuid")
    subtype: str | None = None
    timestamp: str | int | float | None = None
    request_id: str | None = field(default=None, name="requestId")
    message: EarlierMessage | None = None
    permission_mode: str | None = field(default=None, name="permissionMode")
    todos: Raw = EMPTY_RAW
    tool_use_result: ResultState | str | list[Raw] | None = field(default=None, name="toolUseResult")
    writer: str | None = None
    pr_url: Raw = field(default=EMPTY_RAW, name="prUrl")
    message_id: str | None = field(default=None, name="messageId")
    snapshot_message_id: str | None = field(default=None, name="snapshotMessageId")
    snapshot: SnapshotOwner | None = None

    @property
    def starts_task(self) -> bool:
        """Whether this is the result of a call of clew that started a task in the background."""
        record = self.tool_use_result
        if not isinstance(record, ResultState) or not (self.writer or "").startswith("clew/"):
            return False
        return bool(bytes(record.background_task)) or bytes(record.status) == b'"async_launched"'

    @property
    def changes_todos(self) -> bool:
        record = self.tool_use_result
        return bool(bytes(self.todos)) or (isinstance(record, ResultState) and bool(bytes(record.new_todos)))
