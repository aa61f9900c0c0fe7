"""Write: a whole file, new or over one that was read before."""

from __future__ import annotations

from clew.chat.tools import read_tracking
from clew.chat.tools.atomic_files import content, put
from clew.chat.tools.path_arguments import named, told, writable
from clew.chat.tools.structured_patch import hunks
from clew.chat.tools.text_encoding import Text, decode, encode, with_ends
from clew.chat.tools.tool import CallResult, ToolContext, ToolFailed
from clew.chat.tools.tool_spec import TEXT, SpecTool, fields, needed
from clew.wire.json_codec import Json


async def write(input: Json, scene: ToolContext) -> CallResult:
    path, new = named(input["file_path"], scene.state), input["content"]
    writable(path, scene.state)
    try:
        found = content(path)
    except FileNotFoundError:
        put(path, encode(Text(""), new, path), scene)
        detail = {"type": "create", "filePath": str(path), "content": new, "structuredPatch": [], "originalFile": None}
        return CallResult(f"File created successfully at: {path}", detail)
    except OSError as error:
        raise told(error, path, "open") from error
    read_tracking.require(path, found, scene.state)
    old = decode(found.data)
    if old is None:
        raise ToolFailed(f"{path} is a binary file, which Write does not replace. Remove it first if that is meant.")
    note, data = "", b""
    try:
        data = encode(old, with_ends(new, old.line_end), path)
    except ToolFailed:
        data = encode(Text("", "utf-8"), with_ends(new, old.line_end), path)
        note = f" It was kept as {old.encoding} and is UTF-8 now."
    put(path, data, scene)
    detail = {
        "type": "update",
        "filePath": str(path),
        "content": new,
        "structuredPatch": hunks(old.plain, new.replace("\r\n", "\n")),
        "originalFile": old.plain,
    }
    return CallResult(f"The file {path} has been updated successfully.{note}", detail)


WRITE = SpecTool(
    "Write",
    "Write a whole file. One that exists must have been read first and is replaced; to change a part of it use Edit.",
    fields(
        file_path=needed(TEXT, "The absolute path of the file"),
        content=needed(TEXT, "All that the file shall hold"),
    ),
    write,
)
