"""Texts of files: bytes to text and back, with the encoding, the mark at the start and the line ends kept."""

from __future__ import annotations

import codecs
import re
from pathlib import Path

from msgspec import Struct

from clew.chat.tools.tool import ToolFailed

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


class Text(Struct, frozen=True):
    """A file's text: `raw` with its own line ends, and how it is written down."""

    raw: str
    encoding: str = "utf-8"
    mark: bytes = b""

    @property
    def plain(self) -> str:
        """The text as the model sees it: every line ends with a newline alone."""
        return self.raw.replace("\r\n", "\n")

    @property
    def line_end(self) -> str:
        """The line end that most lines have."""
        pairs = self.raw.count("\r\n")
        return "\r\n" if pairs * 2 > self.raw.count("\n") else "\n"


def decode(data: bytes) -> Text | None:
    """The text of a file; None if it is none."""
    for mark, encoding in _MARKS:
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
    """The bytes of another text in the form of this one; `Failed` if its encoding has no such letters."""
    try:
        return form.mark + raw.encode(form.encoding)
    except UnicodeEncodeError as error:
        letter = error.object[error.start]
        raise ToolFailed(f"{path} is kept as {form.encoding}, which cannot hold the letter {letter!a}.") from None


def with_ends(text: str, end: str) -> str:
    """The text with this line end throughout."""
    plain = text.replace("\r\n", "\n")
    return plain if end == "\n" else plain.replace("\n", end)


def occurrences(raw: str, wanted: str) -> list[tuple[int, int]]:
    """Where a text stands in another, whichever line ends either has: places that do not overlap, from the left."""
    lines = wanted.replace("\r\n", "\n").split("\n")
    pattern = "\r?\n".join(re.escape(line).replace("\r", "\r(?!\n)") for line in lines)
    return [match.span() for match in re.finditer(pattern, raw)]


def replaced(raw: str, places: list[tuple[int, int]], new: str) -> str:
    """The text with something else at these places; all around them stays to the letter."""
    made, at = [], 0
    for begin, end in places:
        made += [raw[at:begin], new]
        at = end
    return "".join([*made, raw[at:]])
