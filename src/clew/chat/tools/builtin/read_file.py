"""Read: a file as the model sees it. Texts have numbered lines; pictures, PDF files and notebooks come as what they are.

A file of more than 256 KB is only read in parts. A text of more than 25,000 tokens is given up to there when all of it was
asked for, and refused when a part of that size was.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from dataclasses import replace
from pathlib import Path

from clew.api.token_estimate import CHARACTERS_PER_TOKEN, estimate_tokens
from clew.chat.tools.atomic_files import LARGEST, Content, content, digest, regular
from clew.chat.tools.builtin.notebook import shown
from clew.chat.tools.image_files import picture
from clew.chat.tools.path_arguments import missing, named, told
from clew.chat.tools.pdf_pages import pages
from clew.chat.tools.size_format import told_size
from clew.chat.tools.text_encoding import decode
from clew.chat.tools.tool import CallResult, Seen, ToolContext, ToolFailed
from clew.chat.tools.tool_spec import TEXT, WHOLE, SpecTool, fields, needed, optional
from clew.system.plural import plural
from clew.wire.json_codec import Json

WHOLE_FILE = 256 << 10  # bytes
MOST_TOKENS = 25_000
_STREAMED = 1 << 30  # bytes that are gone through for a part of a file
_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp")


async def read(input: Json, scene: ToolContext) -> CallResult:
    path = named(input["file_path"], scene.state)
    try:
        result, known = await asyncio.to_thread(_look, path, input)
    except (FileNotFoundError, NotADirectoryError):
        raise missing(path, scene.state) from None
    except OSError as error:
        raise told(error, path, "read") from error
    scene.state.seen[Path(os.path.realpath(path))] = known
    return result


def _look(path: Path, input: Json) -> tuple[CallResult, Seen]:
    kind = path.suffix.lower()
    if kind in _PICTURES:
        found = content(path)
        return picture(path, found.data), found.seen
    if kind == ".pdf":
        found = content(path, 32 << 20)
        return pages(path, found.data, input.get("pages")), found.seen
    if "pages" in input:
        raise ToolFailed(f"`pages` is for PDF files, and {path} is none.")
    with regular(path) as file:
        size = os.fstat(file).st_size
    if kind == ".ipynb":
        found = content(path)
        return shown(path, found.data, MOST_TOKENS), found.seen
    is_part = "offset" in input or "limit" in input
    if size > WHOLE_FILE and not is_part:
        raise ToolFailed(
            f"File content ({told_size(size)}) exceeds maximum allowed size ({WHOLE_FILE >> 10}KB). "
            "Read a part of it with offset and limit, or look for what you need with Grep."
        )
    start, limit = max(1, input.get("offset", 1)), input.get("limit")
    if size > LARGEST:
        return _streamed(path, size, start, limit)
    return _text(path, content(path, WHOLE_FILE if not is_part else LARGEST), start, limit, is_part)


def unsaved(path: Path, data: bytes, input: Json) -> tuple[CallResult, Seen]:
    """A text that is not on the disk yet, as Read gives it: an editor has it."""
    start, limit = max(1, input.get("offset", 1)), input.get("limit")
    return _text(path, Content(data, Seen(0, digest(data))), start, limit, "offset" in input or "limit" in input)


def _text(path: Path, found: Content, start: int, limit: int | None, is_part: bool) -> tuple[CallResult, Seen]:
    text = decode(found.data)
    if text is None:
        raise ToolFailed(
            f"{path} is a binary file, which cannot be read as text. Use Bash with a program that knows it."
        )
    lines = text.plain.split("\n")
    if not text.plain:
        note = "Warning: the file exists but the contents are empty."
        return replace(_answer(path, lines, 1, 1), content=_reminder(note)), found.seen
    part = lines[start - 1 :][:limit]
    if not part:
        return _answer(path, [], start, len(lines), _short(start, len(lines))), found.seen
    if _tokens(part) <= MOST_TOKENS:
        whole = len(part) == len(lines)
        return _answer(path, part, start, len(lines)), Seen(found.seen.mtime_ns, found.seen.digest, whole)
    if is_part:
        raise _too_long(_tokens(part))
    part = _page(part)
    note = (
        f"The file has {len(lines)} lines, which are more than {MOST_TOKENS} tokens; these are the first {len(part)}. "
        f"Go on with offset {len(part) + 1} and a limit, or look for what you need with Grep."
    )
    return _answer(path, part, start, len(lines), note), Seen(found.seen.mtime_ns, found.seen.digest, False)


def _tokens(lines: list[str]) -> int:
    return estimate_tokens("\n".join(lines))


def _too_long(count: int) -> ToolFailed:
    return ToolFailed(
        f"File content ({count} tokens) exceeds maximum allowed tokens ({MOST_TOKENS}). "
        "Read fewer lines with offset and limit, or look for what you need with Grep.",
        is_misuse=False,
    )


def _page(lines: list[str]) -> list[str]:
    """The first lines that are few enough tokens together."""
    room = MOST_TOKENS * CHARACTERS_PER_TOKEN
    for count, line in enumerate(lines):
        room -= len(line) + 1
        if room < 0:
            if count == 0:
                raise _too_long(_tokens(lines))
            return lines[:count]
    return lines


def _short(start: int, total: int) -> str:
    return f"Warning: the file exists but is shorter than the offset ({start}). It has {plural(total, 'line')}."


def _reminder(note: str) -> str:
    return f"<system-reminder>{note}</system-reminder>"


def _answer(path: Path, lines: list[str], start: int, total: int, note: str = "") -> CallResult:
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


def _streamed(path: Path, size: int, start: int, limit: int | None) -> tuple[CallResult, Seen]:
    """A part of a file that is too large to be held: gone through once, with only the asked lines kept."""
    if size > _STREAMED:
        raise ToolFailed(
            f"{path} has {told_size(size)}, which is too large for Read. Use Bash, such as sed -n '1,200p'."
        )
    kept, room, number = bytearray(), MOST_TOKENS * CHARACTERS_PER_TOKEN * 4, 1
    stop = start + limit if limit is not None else None
    hashed = hashlib.sha256()
    with regular(path) as file:
        mtime = os.fstat(file).st_mtime_ns
        while chunk := os.read(file, 1 << 20):
            hashed.update(chunk)
            last = number + chunk.count(b"\n")
            if last >= start and (stop is None or number < stop):
                for line in _cut(chunk):
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
    known = Seen(mtime, hashed.hexdigest(), False)
    if start > number:
        return _answer(path, [], start, number, _short(start, number)), known
    lines = kept.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
    lines = lines if stop is None or number < stop else lines[:-1]
    if _tokens(lines) > MOST_TOKENS:
        raise _too_long(_tokens(lines))
    return _answer(path, lines, start, number), known


def _cut(chunk: bytes) -> list[bytes]:
    """The lines of a piece, cut at newlines alone."""
    *whole, rest = chunk.split(b"\n")
    return [line + b"\n" for line in whole] + ([rest] if rest else [])


READ = SpecTool(
    "Read",
    "Read a file: text with numbered lines, pictures, PDF files and notebooks. Give an absolute path. A file of more "
    "than 256 KB is read in parts, with offset and limit.",
    fields(
        file_path=needed(TEXT, "The absolute path of the file"),
        offset=optional(WHOLE, "The number of the first line to read", minimum=0),
        limit=optional(WHOLE, "How many lines to read", minimum=1),
        pages=optional(TEXT, "Pages of a PDF file, such as 3 or 1-5; at most 20 at a time"),
    ),
    read,
    reads=True,
)
