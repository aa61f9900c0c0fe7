"""Derive what the calls of a conversation changed in each file, from their records.

Shell commands change files too, but no record says how; the next edit of such a file shows the new content.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from clew.conversation.replies import Call
from clew.facts.tool_catalog import call_diff, objects
from clew.facts.unified_diff import unified
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
        before, after = contents_around(call, last)
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


def contents_around(call: Call, last: FileContent = UNKNOWN) -> tuple[FileContent, FileContent]:
    """Return a file before and after one call: from its record, else from its last known content and the input."""
    detail = call.detail if isinstance(call.detail, dict) else {}
    if call.name == "NotebookEdit":
        return _content_or(detail.get("original_file"), last), _content_or(detail.get("updated_file"), UNKNOWN)
    if call.name == "Write":
        before = ABSENT if detail.get("type") == "create" else _content_or(detail.get("originalFile"), last)
        return before, _content_or(call.input.get("content"), UNKNOWN)
    before = _content_or(detail.get("originalFile", detail.get("originalFileContents")), last)
    edits = executed_edits(call)
    return _content_before(before, edits), UNKNOWN if detail.get("userModified") else _content_after(before, edits)


def executed_edits(call: Call) -> Any:
    """Return the edits of an Edit or MultiEdit as they were executed: Claude Code can have repaired quotes in one.

    The input of a MultiEdit is returned as it is, which can be anything.
    """
    if call.name == "MultiEdit":
        return call.input.get("edits")
    detail = call.detail if isinstance(call.detail, dict) else {}
    texts = {"old_string": detail.get("oldString"), "new_string": detail.get("newString")}
    return [{**call.input, **{key: text for key, text in texts.items() if isinstance(text, str)}}]


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
                text = text.replace(replaced_text(text, old, new), new, -1 if rest.get("replace_all") else 1)
            case _:
                return UNKNOWN
    return FileContent(True, text)


def replaced_text(text: str, old: str, new: str) -> str:
    """Return what an edit replaces: an edit that deletes whole lines deletes the newline after them too."""
    return f"{old}\n" if new == "" and not old.endswith("\n") and f"{old}\n" in text else old


def count_lines(call: Call) -> tuple[int, int]:
    """Return how many lines a call added and removed, by its record, else by its input."""
    if lines := call_diff(call)[2:]:
        return sum(line.startswith("+") for line in lines), sum(line.startswith("-") for line in lines)
    if call.name == "NotebookEdit":
        before, after = contents_around(call)
        if before.text is None or after.text is None:
            is_removed = call.input.get("edit_mode") == "delete"
            return (0, 0) if is_removed else (len(as_text(call.input.get("new_source") or "").splitlines()), 0)
        return _count_differences([(before.text, after.text)])
    edits = objects(executed_edits(call)) if call.name == "MultiEdit" else []
    return _count_differences([(as_text(e.get("old_string", "")), as_text(e.get("new_string", ""))) for e in edits])


def _count_differences(pairs: Iterable[tuple[str, str]]) -> tuple[int, int]:
    lines = [line for old, new in pairs for line in unified(old.splitlines(), new.splitlines(), ("", ""))[2:]]
    return sum(line.startswith("+") for line in lines), sum(line.startswith("-") for line in lines)
