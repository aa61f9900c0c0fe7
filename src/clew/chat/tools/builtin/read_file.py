"""Implement Read: text with numbered lines, images, PDF pages and notebooks.

A file of more than 256 KB can only be read in parts. If a complete text has more than 25,000 tokens, the first part
is returned; a requested part of that size is refused.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from pathlib import Path

from msgspec.structs import replace

from clew.api.token_estimate import CHARACTERS_PER_TOKEN, estimate_tokens
from clew.chat.tools.atomic_files import MAX_EDIT_BYTES, Content, digest, open_regular, read_content
from clew.chat.tools.builtin.notebook import notebook_result
from clew.chat.tools.image_files import image_result
from clew.chat.tools.path_arguments import missing_file_error, os_error, resolve_argument
from clew.chat.tools.pdf_pages import pages_result
from clew.chat.tools.size_format import format_size
from clew.chat.tools.text_encoding import decode
from clew.chat.tools.tool import CallResult, ReadFile, ToolContext, ToolFailed
from clew.chat.tools.tool_spec import INTEGER, TEXT, SpecTool, object_schema, optional_field, required_field
from clew.system.plural import plural
from clew.wire.json_codec import Json

MAX_COMPLETE_BYTES = 256 << 10  # bytes
MAX_TOKENS = 25_000
_MAX_STREAMED_BYTES = 1 << 30  # largest file of which a part is read
_IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".webp")


async def read(input: Json, scene: ToolContext) -> CallResult:
    path = resolve_argument(input["file_path"], scene.state)
    try:
        result, known = await asyncio.to_thread(_read_by_type, path, input)
    except (FileNotFoundError, NotADirectoryError):
        raise missing_file_error(path, scene.state) from None
    except OSError as error:
        raise os_error(error, path, "read") from error
    scene.state.seen[Path(os.path.realpath(path))] = known
    return result


def _read_by_type(path: Path, input: Json) -> tuple[CallResult, ReadFile]:
    kind = path.suffix.lower()
    if kind in _IMAGE_SUFFIXES:
        file_content = read_content(path)
        return image_result(path, file_content.data), file_content.seen
    if kind == ".pdf":
        file_content = read_content(path, 32 << 20)
        return pages_result(path, file_content.data, input.get("pages")), file_content.seen
    if "pages" in input:
        raise ToolFailed(f"`pages` is for PDF files, and {path} is none.")
    with open_regular(path) as file:
        size = os.fstat(file).st_size
    if kind == ".ipynb":
        file_content = read_content(path)
        return notebook_result(path, file_content.data, MAX_TOKENS), file_content.seen
    is_part = "offset" in input or "limit" in input
    if size > MAX_COMPLETE_BYTES and not is_part:
        raise ToolFailed(
            f"File content ({format_size(size)}) exceeds maximum allowed size ({MAX_COMPLETE_BYTES >> 10}KB). "
            "Read a part of it with offset and limit, or look for what you need with Grep."
        )
    start, limit = max(1, input.get("offset", 1)), input.get("limit")
    if size > MAX_EDIT_BYTES:
        return _stream_part(path, size, start, limit)
    return _text_result(
        path, read_content(path, MAX_COMPLETE_BYTES if not is_part else MAX_EDIT_BYTES), start, limit, is_part
    )


def unsaved_result(path: Path, data: bytes, input: Json) -> tuple[CallResult, ReadFile]:
    """Return a text that an editor has not saved yet, in the form of Read."""
    start, limit = max(1, input.get("offset", 1)), input.get("limit")
    return _text_result(
        path, Content(data, ReadFile(0, digest(data))), start, limit, "offset" in input or "limit" in input
    )


def _text_result(
    path: Path, file: Content, start: int, limit: int | None, is_part: bool
) -> tuple[CallResult, ReadFile]:
    text = decode(file.data)
    if text is None:
        raise ToolFailed(
            f"{path} is a binary file, which cannot be read as text. Use Bash with a program that knows it."
        )
    lines = text.plain.split("\n")
    if not text.plain:
        note = "Warning: the file exists but the contents are empty."
        return replace(_lines_result(path, lines, 1, 1), content=_reminder(note)), file.seen
    part = lines[start - 1 :][:limit]
    if not part:
        return _lines_result(path, [], start, len(lines), _beyond_end_note(start, len(lines))), file.seen
    if _tokens(part) <= MAX_TOKENS:
        is_complete = len(part) == len(lines)
        return _lines_result(path, part, start, len(lines)), ReadFile(file.seen.mtime_ns, file.seen.digest, is_complete)
    if is_part:
        raise _too_long(_tokens(part))
    part = _first_lines(part)
    note = (
        f"The file has {len(lines)} lines, which are more than {MAX_TOKENS} tokens; these are the first {len(part)}. "
        f"Continue with offset {len(part) + 1} and a limit, or look for what you need with Grep."
    )
    return _lines_result(path, part, start, len(lines), note), ReadFile(file.seen.mtime_ns, file.seen.digest, False)


def _tokens(lines: list[str]) -> int:
    return estimate_tokens("\n".join(lines))


def _too_long(count: int) -> ToolFailed:
    return ToolFailed(
        f"File content ({count} tokens) exceeds maximum allowed tokens ({MAX_TOKENS}). "
        "Read fewer lines with offset and limit, or look for what you need with Grep.",
        is_misuse=False,
    )


def _first_lines(lines: list[str]) -> list[str]:
    """Return the first lines, up to the token limit."""
    room = MAX_TOKENS * CHARACTERS_PER_TOKEN
    for count, line in enumerate(lines):
        room -= len(line) + 1
        if room < 0:
            if count == 0:
                raise _too_long(_tokens(lines))
            return lines[:count]
    return lines


def _beyond_end_note(start: int, total: int) -> str:
    return f"Warning: the file exists but is shorter than the offset ({start}). It has {plural(total, 'line')}."


def _reminder(note: str) -> str:
    return f"<system-reminder>{note}</system-reminder>"


def _lines_result(path: Path, lines: list[str], start: int, total: int, note: str = "") -> CallResult:
    text = "\n".join(f"{start + i:6d}→{line}" for i, line in enumerate(lines))
    reminder = _reminder(note) if note else ""
    file = {
        "filePath": str(path),
        "content": "\n".join(lines),
        "numLines": len(lines),
        "startLine": start,
        "totalLines": total,
    }
    return CallResult("\n\n".join(filter(None, (text, reminder))), {"type": "text", "file": file})


def _stream_part(path: Path, size: int, start: int, limit: int | None) -> tuple[CallResult, ReadFile]:
    """Return a part of a file that is too large for memory: read it once and keep only the requested lines."""
    if size > _MAX_STREAMED_BYTES:
        raise ToolFailed(
            f"{path} has {format_size(size)}, which is too large for Read. Use Bash, such as sed -n '1,200p'."
        )
    kept, room, number = bytearray(), MAX_TOKENS * CHARACTERS_PER_TOKEN * 4, 1
    stop = start + limit if limit is not None else None
    hashed = hashlib.sha256()
    with open_regular(path) as file:
        mtime = os.fstat(file).st_mtime_ns
        while chunk := os.read(file, 1 << 20):
            hashed.update(chunk)
            last = number + chunk.count(b"\n")
            if last >= start and (stop is None or number < stop):
                for line in _split_lines(chunk):
                    if number >= start and (stop is None or number < stop):
                        kept += line
                        if len(kept) > room:
                            raise _too_long(estimate_tokens(kept.decode("utf-8", "replace")))
                    number += line.endswith(b"\n")
            number = last
    if b"\0" in kept:
        raise ToolFailed(
            f"{path} is a binary file, which cannot be read as text. Use Bash with a program that knows it."
        )
    known = ReadFile(mtime, hashed.hexdigest(), False)
    if start > number:
        return _lines_result(path, [], start, number, _beyond_end_note(start, number)), known
    lines = kept.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
    lines = lines if stop is None or number < stop else lines[:-1]
    if _tokens(lines) > MAX_TOKENS:
        raise _too_long(_tokens(lines))
    return _lines_result(path, lines, start, number), known


def _split_lines(chunk: bytes) -> list[bytes]:
    """Split a chunk at newlines only, and keep them."""
    *complete, remainder = chunk.split(b"\n")
    return [line + b"\n" for line in complete] + ([remainder] if remainder else [])


READ = SpecTool(
    "Read",
    "Read a file: text with numbered lines, pictures, PDF files and notebooks. Give an absolute path. A file of more "
    "than 256 KB is read in parts, with offset and limit.",
    object_schema(
        file_path=required_field(TEXT, "The absolute path of the file"),
        offset=optional_field(INTEGER, "The number of the first line to read", minimum=0),
        limit=optional_field(INTEGER, "How many lines to read", minimum=1),
        pages=optional_field(TEXT, "Pages of a PDF file, such as 3 or 1-5; at most 20 at a time"),
    ),
    read,
    reads=True,
)
