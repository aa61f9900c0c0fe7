"""Edit and MultiEdit: some text of a file replaced by another, and every other byte left as it is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from clew.chat.tools import read_tracking
from clew.chat.tools.atomic_files import content, put
from clew.chat.tools.closest_match import nearest
from clew.chat.tools.path_arguments import missing, named, told, writable
from clew.chat.tools.structured_patch import hunks
from clew.chat.tools.text_encoding import Text, decode, encode, occurrences, replaced, with_ends
from clew.chat.tools.tool import CallResult, ToolContext, ToolFailed
from clew.chat.tools.tool_spec import FLAG, TEXT, SpecTool, fields, listed, needed, optional
from clew.wire.json_codec import Json

_QUOTED = 50


async def edit(input: Json, scene: ToolContext) -> CallResult:
    path, everywhere = named(input["file_path"], scene.state), bool(input.get("replace_all"))
    before, after = _edited(path, [input], scene)
    detail = {
        "filePath": str(path),
        "oldString": input["old_string"],
        "newString": input["new_string"],
        "originalFile": before,
        "structuredPatch": hunks(before, after),
        "userModified": False,
        "replaceAll": everywhere,
    }
    if everywhere:
        return CallResult(f"The file {path} has been updated. All occurrences of the text were replaced.", detail)
    return CallResult(f"The file {path} has been updated successfully.", detail)


async def edit_many(input: Json, scene: ToolContext) -> CallResult:
    path, edits = named(input["file_path"], scene.state), input["edits"]
    before, after = _edited(path, edits, scene)
    detail = {
        "filePath": str(path),
        "edits": edits,
        "originalFileContents": before,
        "structuredPatch": hunks(before, after),
        "userModified": False,
    }
    pairs = (f'Replaced "{_short(e["old_string"])}" with "{_short(e["new_string"])}"' for e in edits)
    done = [f"{number}. {pair}" for number, pair in enumerate(pairs, 1)]
    noun = "edit" if len(edits) == 1 else "edits"
    return CallResult("\n".join([f"Applied {len(edits)} {noun} to {path}:", *done]), detail)


def _short(text: str) -> str:
    return text if len(text) <= _QUOTED else text[:_QUOTED] + "..."


def _edited(path: Path, edits: Sequence[Json], scene: ToolContext) -> tuple[str, str]:
    """Do the edits one after another, all or none. The text before and after."""
    if any(e["old_string"] == e["new_string"] for e in edits):
        raise ToolFailed("No changes to make: old_string and new_string are exactly the same.")
    writable(path, scene.state)
    old = _opened(path, edits[0]["old_string"], scene)
    raw = old.raw
    for number, one in enumerate(edits):
        raw = _applied(raw, one, old.line_end, f" (edit {number + 1})" if len(edits) > 1 else "")
    put(path, encode(old, raw, path), scene)
    return old.plain, raw.replace("\r\n", "\n")


def _opened(path: Path, first: str, scene: ToolContext) -> Text:
    """The text of the file that is edited; an empty one for a file that the first edit makes."""
    try:
        found = content(path)
    except FileNotFoundError:
        if first == "":
            return Text("")
        raise missing(path, scene.state) from None
    except OSError as error:
        raise told(error, path, "open") from error
    if path.suffix.lower() == ".ipynb":
        raise ToolFailed("File is a Jupyter Notebook. Use NotebookEdit to change it.")
    if first == "" and found.data:
        raise ToolFailed("Cannot create new file - file already exists. Give the text to replace in old_string.")
    read_tracking.require(path, found, scene.state)
    text = decode(found.data)
    if text is None:
        raise ToolFailed(f"{path} is a binary file, which cannot be edited as text.")
    return text


def _applied(raw: str, one: Json, line_end: str, which: str) -> str:
    old, new = one["old_string"], with_ends(one["new_string"], line_end)
    if old == "":
        if raw:
            raise ToolFailed(f"old_string is empty{which}. Give the text to replace.")
        return new
    places = occurrences(raw, old)
    if not places:
        near = nearest(raw.replace("\r\n", "\n").split("\n"), old.replace("\r\n", "\n"))
        raise ToolFailed(
            f"String to replace not found in file{which}.\nString: {old}" + (f"\n\n{near}" if near else "")
        )
    if len(places) > 1 and not one.get("replace_all"):
        raise ToolFailed(
            f"Found {len(places)} matches of the string to replace{which}, but replace_all is false. Set it to true to "
            f"replace them all, or give more of the text around the one that is meant.\nString: {old}"
        )
    return replaced(raw, places, new)


_EDIT = {
    "old_string": needed(TEXT, "The text to replace, exactly as it is in the file, without line numbers"),
    "new_string": needed(TEXT, "The text to put in its place"),
    "replace_all": optional(FLAG, "Replace every occurrence", default=False),
}
_PATH = needed(TEXT, "The absolute path of the file")
EDIT = SpecTool(
    "Edit",
    "Replace a text in a file that was read before. It has to stand there exactly once, unless replace_all is true. An "
    "empty old_string makes a new file.",
    fields(file_path=_PATH, **_EDIT),
    edit,
)
MULTI_EDIT = SpecTool(
    "MultiEdit",
    "Make several edits in one file, one after another: all of them or, if one cannot be made, none.",
    fields(file_path=_PATH, edits=needed(listed(fields(**_EDIT), least=1), "The edits, in order")),
    edit_many,
)
