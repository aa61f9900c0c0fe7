"""Read long tool outputs, which Claude Code saves as files in `<session>/tool-results/`.

The transcript contains a placeholder that names the file, or the file is named after the call. Only the file's name
is used: the folder is always the session's own, and links are not followed. Files are read in chunks, so memory use
is bounded.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from stat import S_ISREG
from typing import Any, BinaryIO

from msgspec import Struct

FOLDER = "tool-results"
CHUNK = 1 << 20  # bytes read at a time
_CUT_WINDOW = 64 << 10  # bytes at the end of a chunk that are searched for a good cut
_PLACEHOLDER = re.compile(
    r"(?:saved (?:to|in|at)|written to|is in):?\s+\S[^\n]*?tool-results[\\/]([^\\/\s\"'<>]+)", re.IGNORECASE
)
_PLACEHOLDER_HEAD = 1000  # characters of a result in which a placeholder can name its file
_BREAK = re.compile(rb"[^\n:=,\\]\r?\n(?=[^\n\r])")  # the end of a line that the next one does not continue
_SEPARATOR = re.compile("[-_]")  # between the parts of a file name
_GAP = re.compile(rb"[\s,;\"'&|<>]")
_PEM_BEGIN, _PEM_END = b"-----BEGIN", b"-----END"
_SAMPLE = 8 << 10
_OPEN_FLAGS = sum(
    getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY")
)  # no link, no waiting for a pipe
_TEXT_BYTES = bytes({*range(32, 256), *b"\t\n\r\f\b\x1b"} - {127})


class Overflow(Struct, frozen=True):
    """A long output: its file and its size in bytes."""

    path: Path
    size: int

    def chunks(self, size: int = CHUNK) -> Iterator[str]:
        """Yield the text in chunks of about `size` bytes; bytes that are not UTF-8 become U+FFFD.

        A chunk ends between two unrelated lines, so that a secret is not cut in half.
        """
        for _, data in self.pieces(size):
            yield data.decode("utf-8", "replace")

    def pieces(self, size: int = CHUNK, offset: int = 0) -> Iterator[tuple[int, bytes]]:
        """Yield the bytes of the same chunks, each with its offset. Nothing if the file is missing."""
        try:
            with open_without_links(self.path) as file:
                yield from cut_pieces(file, size, offset)
        except OSError:
            return

    def head(self, size: int) -> tuple[str, int]:
        """Return the first bytes as text, and the number of lines after them."""
        pieces = self.pieces(size)
        first = next(pieces, (0, b""))[1]
        lines = last = 0
        for _, data in pieces:
            lines += data.count(b"\n")
            last = data[-1]
        unfinished = 1 if last not in (0, 10) else 0
        return first.decode("utf-8", "replace"), lines + unfinished

    def first(self, size: int) -> str:
        """Return at most the first `size` bytes as text, cut where `pieces` cuts."""
        return next(self.pieces(size), (0, b""))[1].decode("utf-8", "replace")

    @property
    def is_binary(self) -> bool:
        """True if the beginning is mostly not text."""
        try:
            with open_without_links(self.path) as file:
                sample = file.read(_SAMPLE)
        except OSError:
            return False
        odd = len(sample.translate(None, _TEXT_BYTES))
        broken = sample.decode("utf-8", "replace").count("\ufffd")
        return len(sample) > 0 and (odd + broken) * 10 > len(sample) * 3


class OverflowFolder:
    """The long outputs of a session. Their folder is listed once."""

    def __init__(self, folder: Path | None) -> None:
        """`folder` is the one with the session's files, whether or not it exists."""
        self._folder = folder
        self.names = _list_names(folder)

    def __iter__(self) -> Iterator[Overflow]:
        return (found for name in self.names if (found := self._at(name)))

    def find(self, call_id: str, text: str, detail: Any = None) -> Overflow | None:
        """Find the long output of a call: by the record of the result, by its placeholder, or by the call's id."""
        if not self.names:
            return None
        recorded = detail.get("persistedOutputPath") if isinstance(detail, dict) else None
        if isinstance(recorded, str) and (found := self._at(re.split(r"[\\/]", recorded)[-1])):
            return found
        if (named := parse_placeholder(text)) and (found := self._at(named)):
            return found
        return self.of_call(call_id)

    def of_call(self, call_id: str) -> Overflow | None:
        """Return the long output whose name is built from a call's id, alone or after a prefix such as `mcp-server-`."""
        name = self._by_call.get(call_id)
        return self._at(name) if name else None

    def _at(self, name: str) -> Overflow | None:
        """Return a long output by its name; None for a name that is not listed, a link or a file that is not regular."""
        if self._folder is None or name not in self._known:
            return None
        path = self._folder / FOLDER / name
        try:
            if self._folder.is_symlink() or path.parent.is_symlink():
                return None
            state = os.lstat(path)
        except (OSError, ValueError):
            return None
        return Overflow(path, state.st_size) if S_ISREG(state.st_mode) else None

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.names)

    @cached_property
    def _by_call(self) -> dict[str, str]:
        """The names by every id that they may be built from: `mcp-x-toolu_1.txt` by `mcp-x-toolu_1`, `x-toolu_1`, `toolu_1`
        and `1`. Of several, one without a prefix counts, then one that ends with `.txt`, then the first."""
        names = sorted(self.names, key=lambda name: (not name.endswith(".txt"), name))
        stems = [(name.rpartition(".")[0] or name, name) for name in names]
        found: dict[str, str] = {}
        for stem, name in stems:
            found.setdefault(stem, name)
        for stem, name in stems:
            for separator in _SEPARATOR.finditer(stem):
                found.setdefault(stem[separator.end() :], name)
        found.pop("", None)
        return found


def _list_names(folder: Path | None) -> tuple[str, ...]:
    if folder is None or folder.is_symlink() or (folder / FOLDER).is_symlink():
        return ()
    try:
        return tuple(sorted(os.listdir(folder / FOLDER)))
    except (OSError, ValueError):
        return ()


def parse_placeholder(text: str) -> str | None:
    """Return the file name that a placeholder contains, or None."""
    head = text[:_PLACEHOLDER_HEAD]
    match = _PLACEHOLDER.search(head) if FOLDER in head.lower() else None
    return match[1].rstrip(".,;:)") if match else None


def open_without_links(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a regular file for reading without following a link. Raises OSError."""
    file = os.fdopen(os.open(path, os.O_RDONLY | _OPEN_FLAGS), "rb")
    if not S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(f"{os.fspath(path)!r} is not a regular file")
    return file


def cut_pieces(file: BinaryIO, size: int, offset: int = 0) -> Iterator[tuple[int, bytes]]:
    """Yield the bytes of a file from an offset, in pieces of at most `size` bytes, each with its offset."""
    file.seek(offset)
    data = file.read(size)
    while data:
        next_byte = file.read(1) if len(data) == size else b""
        stop = _cut_position(data) if next_byte else len(data)
        yield offset, data[:stop]
        offset += stop
        data = data[stop:] + next_byte
        data += file.read(size - len(data))


def _cut_position(data: bytes) -> int:
    """Return where to cut: after a line and not inside a private key; else at a gap between words."""
    start = max(1, len(data) - _CUT_WINDOW, len(data) // 2)
    key = data.rfind(_PEM_BEGIN)
    if key >= start and data.find(_PEM_END, key) < 0:
        data = data[:key]
    breaks = [match.end() for match in _BREAK.finditer(data, start - 1)]
    if breaks:
        return breaks[-1]
    gaps = [match.end() for match in _GAP.finditer(data, start)]
    return gaps[-1] if gaps else _complete_length(data)


def _complete_length(data: bytes) -> int:
    """Return the length without an incomplete UTF-8 character at the end."""
    for back in range(1, min(4, len(data) - 1) + 1):
        byte = data[-back]
        if byte < 0x80:
            break
        if byte >= 0xC0:
            return len(data) - back
    return len(data)
