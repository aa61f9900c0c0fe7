"""Implement Write: create a file, or replace one that the model has read."""

from __future__ import annotations

from clew.chat.tools import read_tracking
from clew.chat.tools.atomic_files import read_content, write_file
from clew.chat.tools.path_arguments import os_error, resolve_argument, resolve_for_writing
from clew.chat.tools.structured_patch import diff_hunks
from clew.chat.tools.text_encoding import Text, convert_line_ends, decode, encode
from clew.chat.tools.tool import CallResult, ToolContext, ToolFailed
from clew.chat.tools.tool_spec import TEXT, SpecTool, object_schema, required_field
from clew.wire.json_codec import Json


async def write(input: Json, scene: ToolContext) -> CallResult:
    path, new = resolve_argument(input["file_path"], scene.state), input["content"]
    old = check(input, scene)
    if old is None:
        write_file(path, encode(Text(""), new, path), scene)
        detail = {"type": "create", "filePath": str(path), "content": new, "structuredPatch": [], "originalFile": None}
        return CallResult(f"File created successfully at: {path}", detail)
    note, data = "", b""
    try:
        data = encode(old, convert_line_ends(new, old.line_end), path)
    except ToolFailed:
        data = encode(Text("", "utf-8"), convert_line_ends(new, old.line_end), path)
        note = f" It was kept as {old.encoding} and is UTF-8 now."
    write_file(path, data, scene)
    detail = {
        "type": "update",
        "filePath": str(path),
        "content": new,
        "structuredPatch": diff_hunks(old.plain, new.replace("\r\n", "\n")),
        "originalFile": old.plain,
    }
    return CallResult(f"The file {path} has been updated successfully.{note}", detail)


def check(input: Json, scene: ToolContext) -> Text | None:
    """Return the text of the file that would be replaced, None if there is none. Raises ToolFailed if it may not be."""
    path = resolve_argument(input["file_path"], scene.state)
    resolve_for_writing(path, scene.state)
    try:
        content = read_content(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise os_error(error, path, "open") from error
    read_tracking.require_read(path, content, scene.state)
    old = decode(content.data)
    if old is None:
        raise ToolFailed(f"{path} is a binary file, which Write does not replace. Remove it first if that is meant.")
    return old


WRITE = SpecTool(
    "Write",
    "Write a whole file. One that exists must have been read first and is replaced; to change a part of it use Edit.",
    object_schema(
        file_path=required_field(TEXT, "The absolute path of the file"),
        content=required_field(TEXT, "All that the file shall hold"),
    ),
    write,
    precondition=check,
)
