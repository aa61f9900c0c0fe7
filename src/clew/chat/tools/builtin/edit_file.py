"""Implement Edit and MultiEdit: replace text in a file and keep every other byte."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from clew.chat.tools import read_tracking
from clew.chat.tools.atomic_files import read_content, write_file
from clew.chat.tools.closest_match import describe_closest_match
from clew.chat.tools.path_arguments import missing_file_error, os_error, resolve_argument, resolve_for_writing
from clew.chat.tools.structured_patch import diff_hunks
from clew.chat.tools.text_encoding import Text, convert_line_ends, decode, encode, find_occurrences, replace_spans
from clew.chat.tools.tool import CallResult, ToolContext, ToolFailed
from clew.chat.tools.tool_spec import (
    BOOLEAN,
    TEXT,
    SpecTool,
    array_schema,
    object_schema,
    optional_field,
    required_field,
)
from clew.wire.json_codec import Json

_QUOTED = 50


async def edit(input: Json, scene: ToolContext) -> CallResult:
    path, everywhere = resolve_argument(input["file_path"], scene.state), bool(input.get("replace_all"))
    before, after = _apply_edits(path, [input], scene)
    detail = {
        "filePath": str(path),
        "oldString": input["old_string"],
        "newString": input["new_string"],
        "originalFile": before,
        "structuredPatch": diff_hunks(before, after),
        "userModified": False,
        "replaceAll": everywhere,
    }
    if everywhere:
        return CallResult(f"The file {path} has been updated. All occurrences of the text were replaced.", detail)
    return CallResult(f"The file {path} has been updated successfully.", detail)


async def edit_many(input: Json, scene: ToolContext) -> CallResult:
    path, edits = resolve_argument(input["file_path"], scene.state), input["edits"]
    before, after = _apply_edits(path, edits, scene)
    detail = {
        "filePath": str(path),
        "edits": edits,
        "originalFileContents": before,
        "structuredPatch": diff_hunks(before, after),
        "userModified": False,
    }
    pairs = (f'Replaced "{_short(e["old_string"])}" with "{_short(e["new_string"])}"' for e in edits)
    done = [f"{number}. {pair}" for number, pair in enumerate(pairs, 1)]
    noun = "edit" if len(edits) == 1 else "edits"
    return CallResult("\n".join([f"Applied {len(edits)} {noun} to {path}:", *done]), detail)


def _short(text: str) -> str:
    return text if len(text) <= _QUOTED else text[:_QUOTED] + "..."


def _apply_edits(path: Path, edits: Sequence[Json], scene: ToolContext) -> tuple[str, str]:
    """Apply the edits in order, all or none. Return the text before and after."""
    old, raw = _prepare(path, edits, scene)
    write_file(path, encode(old, raw, path), scene)
    return old.plain, raw.replace("\r\n", "\n")


def check(input: Json, scene: ToolContext) -> None:
    """Raise ToolFailed if the edits cannot be made."""
    _prepare(resolve_argument(input["file_path"], scene.state), input.get("edits") or [input], scene)


def _prepare(path: Path, edits: Sequence[Json], scene: ToolContext) -> tuple[Text, str]:
    """Return the text of the file, and what the edits make of it. Raises ToolFailed."""
    if any(e["old_string"] == e["new_string"] for e in edits):
        raise ToolFailed("No changes to make: old_string and new_string are exactly the same.")
    resolve_for_writing(path, scene.state)
    old = _open_text(path, edits[0]["old_string"], scene)
    raw = old.raw
    for number, one in enumerate(edits):
        raw = _apply_edit(raw, one, old.line_end, f" (edit {number + 1})" if len(edits) > 1 else "")
    return old, raw


def _open_text(path: Path, first: str, scene: ToolContext) -> Text:
    """Return the text of the edited file; empty for a file that the first edit creates."""
    try:
        content = read_content(path)
    except FileNotFoundError:
        if first == "":
            return Text("")
        raise missing_file_error(path, scene.state) from None
    except OSError as error:
        raise os_error(error, path, "open") from error
    if path.suffix.lower() == ".ipynb":
        raise ToolFailed("File is a Jupyter Notebook. Use NotebookEdit to change it.")
    if first == "" and content.data:
        raise ToolFailed("Cannot create new file - file already exists. Give the text to replace in old_string.")
    read_tracking.require_read(path, content, scene.state)
    text = decode(content.data)
    if text is None:
        raise ToolFailed(f"{path} is a binary file, which cannot be edited as text.")
    return text


def _apply_edit(raw: str, one: Json, line_end: str, which: str) -> str:
    old, new = one["old_string"], convert_line_ends(one["new_string"], line_end)
    if old == "":
        if raw:
            raise ToolFailed(f"old_string is empty{which}. Give the text to replace.")
        return new
    places = find_occurrences(raw, old)
    if not places:
        near = describe_closest_match(raw.replace("\r\n", "\n").split("\n"), old.replace("\r\n", "\n"))
        raise ToolFailed(
            f"String to replace not found in file{which}.\nString: {old}" + (f"\n\n{near}" if near else "")
        )
    if len(places) > 1 and not one.get("replace_all"):
        raise ToolFailed(
            f"Found {len(places)} matches of the string to replace{which}, but replace_all is false. Set it to true to "
            f"replace them all, or give more of the text around the one that is meant.\nString: {old}"
        )
    return replace_spans(raw, places, new)


_EDIT = {
    "old_string": required_field(TEXT, "The text to replace, exactly as it is in the file, without line numbers"),
    "new_string": required_field(TEXT, "The text to put in its place"),
    "replace_all": optional_field(BOOLEAN, "Replace every occurrence", default=False),
}
_PATH = required_field(TEXT, "The absolute path of the file")
EDIT = SpecTool(
    "Edit",
    "Replace a text in a file that was read before. It has to stand there exactly once, unless replace_all is true. An "
    "empty old_string makes a new file.",
    object_schema(file_path=_PATH, **_EDIT),
    edit,
    precondition=check,
)
MULTI_EDIT = SpecTool(
    "MultiEdit",
    "Make several edits in one file, one after another: all of them or, if one cannot be made, none.",
    object_schema(
        file_path=_PATH, edits=required_field(array_schema(object_schema(**_EDIT), least=1), "The edits, in order")
    ),
    edit_many,
    precondition=check,
)
