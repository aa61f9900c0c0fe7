"""Derive what the calls of a conversation changed in each file, from their records.

Shell commands change files too, but no record says how; the next edit of such a file shows the new content.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from clew.conversation.replies import Call
from clew.wire.json_codec import as_text

WRITING_TOOLS = ("Write", "Edit", "MultiEdit", "NotebookEdit")


class FileContent(NamedTuple):
    """A file at some point. `text` is None if it did not exist, or if its content is unknown."""

    is_there: bool
    text: str | None = None


ABSENT = FileContent(False)
UNKNOWN = FileContent(True)


class FileChange(NamedTuple):
    """A file before the first call that changed it, and after the last."""

    path: str
    before: FileContent
    after: FileContent


def collect_changes(calls: Iterable[Call], known: Mapping[str, FileContent] | None = None) -> dict[str, FileChange]:
    """Return the change of each file, in the order of their first changes. `known` is the content of files before."""
    by_path: dict[str, FileChange] = {}
    for call in calls:
        path = changed_path(call)
        if not path or call.failed or call.is_open:
            continue
        earlier = by_path.get(path)
        last = earlier.after if earlier else (known or {}).get(path, UNKNOWN)
        before, after = _contents_around(call, last)
        by_path[path] = FileChange(path, earlier.before if earlier else before, after)
    return by_path


def changed_path(call: Call) -> str:
    """Return the file that a call changes, or "".

    The record contains the full path, where the input of the model can be relative to the session's folder.
    """
    if call.name not in WRITING_TOOLS:
        return ""
    detail = call.detail if isinstance(call.detail, dict) else {}
    recorded = detail.get("filePath") or detail.get("notebook_path")
    if isinstance(recorded, str) and recorded:
        return recorded
    return as_text(call.input.get("file_path") or call.input.get("notebook_path") or "")


def _contents_around(call: Call, last: FileContent) -> tuple[FileContent, FileContent]:
    """Return a file before and after one call: from its record, else from its last known content and the input."""
    detail = call.detail if isinstance(call.detail, dict) else {}
    if call.name == "NotebookEdit":
        return _content_or(detail.get("original_file"), last), _content_or(detail.get("updated_file"), UNKNOWN)
    if call.name == "Write":
        before = ABSENT if detail.get("type") == "create" else _content_or(detail.get("originalFile"), last)
        return before, _content_or(call.input.get("content"), UNKNOWN)
    before = _content_or(detail.get("originalFile", detail.get("originalFileContents")), last)
    edits = call.input.get("edits") if call.name == "MultiEdit" else [_executed_edit(call.input, detail)]
    return _content_before(before, edits), UNKNOWN if detail.get("userModified") else _content_after(before, edits)


def _executed_edit(call_input: Mapping[str, Any], detail: Mapping[str, Any]) -> dict[str, Any]:
    """Return an edit as it was executed: Claude Code can have repaired quotes in it."""
    texts = {"old_string": detail.get("oldString"), "new_string": detail.get("newString")}
    return {**call_input, **{key: text for key, text in texts.items() if isinstance(text, str)}}


def _content_or(value: Any, default: FileContent) -> FileContent:
    return FileContent(True, value) if isinstance(value, str) else default


def _content_before(before: FileContent, edits: Any) -> FileContent:
    """Return the content before the edits: an edit with an empty old string creates a file."""
    is_new = isinstance(edits, list) and edits and isinstance(edits[0], dict) and edits[0].get("old_string") == ""
    return ABSENT if is_new and not before.text else before


def _content_after(before: FileContent, edits: Any) -> FileContent:
    text = before.text
    for edit in edits if isinstance(edits, list) and edits else [None]:
        match edit:
            case {"old_string": "", "new_string": str(new)} if not text:
                text = new
            case {"old_string": str(old), "new_string": str(new), **rest} if old and text and old in text:
                text = text.replace(old, new, -1 if rest.get("replace_all") else 1)
            case _:
                return UNKNOWN
    return FileContent(True, text)
