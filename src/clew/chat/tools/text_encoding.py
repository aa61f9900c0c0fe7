"""Decode and encode file texts, keeping the encoding, the byte order mark and the line ends."""

from __future__ import annotations

import codecs
import re
from pathlib import Path

from msgspec import Struct

from clew.chat.tools.tool import ToolFailed

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


class Text(Struct, frozen=True):
    """The text of a file: `raw` with its line ends, and how it is encoded."""

    raw: str
    encoding: str = "utf-8"
    mark: bytes = b""

    @property
    def plain(self) -> str:
        """The text as the model sees it: every line ends with a newline alone."""
        return self.raw.replace("\r\n", "\n")

    @property
    def line_end(self) -> str:
        """The line end of most lines."""
        pairs = self.raw.count("\r\n")
        return "\r\n" if pairs * 2 > self.raw.count("\n") else "\n"


def decode(data: bytes) -> Text | None:
    """Decode the bytes of a file; return None if they are not text."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            try:
                return Text(data[len(mark) :].decode(encoding), encoding, mark)
            except UnicodeDecodeError:
                return None
    if b"\x00" in data:
        return None
    for encoding in ("utf-8", "cp1252", "latin-1"):
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if encoding != "utf-8" and len(_CONTROL.findall(data)) * 50 > len(data):
            return None
        return Text(text, encoding)
    return None


def encode(form: Text, raw: str, path: Path) -> bytes:
    """Encode another text like this one. Raises ToolFailed if the encoding lacks a character."""
    try:
        return form.mark + raw.encode(form.encoding)
    except UnicodeEncodeError as error:
        character = error.object[error.start]
        raise ToolFailed(f"{path} is kept as {form.encoding}, which cannot hold the letter {character!a}.") from None


def convert_line_ends(text: str, end: str) -> str:
    """Return the text with this line end throughout."""
    plain = text.replace("\r\n", "\n")
    return plain if end == "\n" else plain.replace("\n", end)


def find_occurrences(raw: str, text: str) -> list[tuple[int, int]]:
    """Return the spans of a text in another, ignoring the kind of line ends; they do not overlap."""
    lines = text.replace("\r\n", "\n").split("\n")
    pattern = "\r?\n".join(re.escape(line).replace("\r", "\r(?!\n)") for line in lines)
    return [match.span() for match in re.finditer(pattern, raw)]


def replace_spans(raw: str, spans: list[tuple[int, int]], new: str) -> str:
    """Replace these spans by another text and keep everything else unchanged."""
    parts, position = [], 0
    for begin, end in spans:
        parts += [raw[position:begin], new]
        position = end
    return "".join([*parts, raw[position:]])
