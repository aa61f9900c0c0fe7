"""Changes: what the calls of a conversation made of each file, as far as their records tell.

Commands change files too, and no record says how; the next edit of such a file tells what it had become.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from clew.conversation.replies import Call
from clew.wire.json_codec import as_text

WRITING = ("Write", "Edit", "MultiEdit", "NotebookEdit")


class FileContent(NamedTuple):
    """A file at some point. `text` is None if it was not there, or if nothing tells what it held."""

    is_there: bool
    text: str | None = None


ABSENT = FileContent(False)
UNKNOWN = FileContent(True)


class FileChange(NamedTuple):
    """A file before the first call that changed it, and after the last."""

    path: str
    before: FileContent
    after: FileContent


def changes(calls: Iterable[Call], known: Mapping[str, FileContent] | None = None) -> dict[str, FileChange]:
    """What the calls made of each file, in the order of their first changes. `known` is how files were before."""
    found: dict[str, FileChange] = {}
    for call in calls:
        path = written(call)
        if not path or call.failed or call.is_open:
            continue
        earlier = found.get(path)
        last = earlier.after if earlier else (known or {}).get(path, UNKNOWN)
        before, after = _record(call, last)
        found[path] = FileChange(path, earlier.before if earlier else before, after)
    return found


def written(call: Call) -> str:
    """The file that a call changes; nothing for one that changes none.

    The record names it in full, where the model may have named it from the folder that the session was in.
    """
    if call.name not in WRITING:
        return ""
    detail = call.detail if isinstance(call.detail, dict) else {}
    recorded = detail.get("filePath") or detail.get("notebook_path")
    if isinstance(recorded, str) and recorded:
        return recorded
    return as_text(call.input.get("file_path") or call.input.get("notebook_path") or "")


def _record(call: Call, last: FileContent) -> tuple[FileContent, FileContent]:
    """A file before and after one call: from its record, else from what was known of the file and what was asked."""
    detail = call.detail if isinstance(call.detail, dict) else {}
    if call.name == "NotebookEdit":
        return _text(detail.get("original_file"), last), _text(detail.get("updated_file"), UNKNOWN)
    if call.name == "Write":
        before = ABSENT if detail.get("type") == "create" else _text(detail.get("originalFile"), last)
        return before, _text(call.input.get("content"), UNKNOWN)
    before = _text(detail.get("originalFile", detail.get("originalFileContents")), last)
    edits = call.input.get("edits") if call.name == "MultiEdit" else [_asked(call.input, detail)]
    return _begun(before, edits), UNKNOWN if detail.get("userModified") else _edited(before, edits)


def _asked(given: Mapping[str, Any], detail: Mapping[str, Any]) -> dict[str, Any]:
    """An edit as it was made: quotes may have been mended on the way."""
    texts = {"old_string": detail.get("oldString"), "new_string": detail.get("newString")}
    return {**given, **{key: text for key, text in texts.items() if isinstance(text, str)}}


def _text(value: Any, otherwise: FileContent) -> FileContent:
    return FileContent(True, value) if isinstance(value, str) else otherwise


def _begun(before: FileContent, edits: Any) -> FileContent:
    """An edit of nothing begins a file."""
    is_new = isinstance(edits, list) and edits and isinstance(edits[0], dict) and edits[0].get("old_string") == ""
    return ABSENT if is_new and not before.text else before


def _edited(before: FileContent, edits: Any) -> FileContent:
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
