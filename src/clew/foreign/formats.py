"""The table of supported programs: where their conversations are, and how a file is recognized."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from msgspec import Struct

from clew.errors import NotFound, Refused
from clew.foreign import aider, codex, gemini, gptme, openai_logs, opencode
from clew.foreign.conversation_steps import Conversation
from clew.system.environment import foreign_homes
from clew.wire.json_codec import Json, decode, decode_loosely
from clew.wire.line import lines

_HEAD_BYTES = 1 << 16


class Format(Struct, frozen=True):
    """A program: how its files are found in a folder, recognized and read."""

    name: str
    label: str
    find: Callable[[Path], Iterator[Path]]
    fits: Callable[[Path, Json], bool]
    read: Callable[[Path], Iterator[Conversation]]


FORMATS = {
    form.name: form
    for form in (
        Format("codex", "Codex CLI", codex.find, codex.fits, codex.read),
        Format("opencode", "OpenCode", opencode.find, opencode.fits, opencode.read),
        Format("gemini", "Gemini CLI", gemini.find, gemini.fits, gemini.read),
        Format("aider", "aider", aider.find, aider.fits, aider.read),
        Format("gptme", "gptme", gptme.find, gptme.fits, gptme.read),
        Format("openai", "logs in the form of OpenAI's APIs", openai_logs.find, openai_logs.fits, openai_logs.read),
    )
}


def find_in_usual_folders(names: tuple[str, ...] = ()) -> Iterator[tuple[Format, Path]]:
    """Yield the files in the folders where each program stores its conversations."""
    for name, folders in foreign_homes().items():
        for folder in map(Path, folders if not names or name in names else ()):
            if os.path.isdir(folder):
                yield from ((FORMATS[name], path) for path in _newest_first(FORMATS[name].find(folder)))


def find_in_path(path: Path, name: str | None = None) -> Iterator[tuple[Format, Path]]:
    """Yield the files that a path stands for: itself, or those in a folder that a known program wrote."""
    if not os.path.isdir(path):
        yield (FORMATS[name] if name else detect(path)), path
        return
    known: set[Path] = set()
    for form in [FORMATS[name]] if name else FORMATS.values():
        for file in _newest_first(form.find(path)):
            if file not in known:
                known.add(file)
                yield form, file


def detect(path: Path) -> Format:
    """Detect the format of a file by its name and its first object. Raises Refused if none fits."""
    if not os.path.exists(path):
        raise NotFound(str(path), kind="file")
    if not path.stat().st_size:
        raise Refused([f"{path.name} is empty"])
    head = _read_first_object(path)
    for form in FORMATS.values():
        if form.fits(path, head):
            return form
    hint = f"Name the program that wrote it with --from {'|'.join(FORMATS)}"
    raise Refused([f"{path.name} has an unknown format"], hint=hint)


def _read_first_object(path: Path) -> Json:
    """Return the first object of a file, on a line or as the whole document; of a list its first object."""
    for line in islice(lines(path), 20):
        try:
            value = decode(line.json)
        except ValueError:
            break
        if isinstance(value, dict):
            return value
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    try:
        content = decode(path.read_bytes()) if head.lstrip()[:1] in (b"{", b"[") else None
    except ValueError:
        content = _decode_head(head)
    if isinstance(content, list):
        content = next((item for item in content if isinstance(item, dict)), None)
    return content if isinstance(content, dict) else {}


def _decode_head(head: bytes) -> object:
    try:
        return decode_loosely(head)
    except ValueError:
        return None


def _newest_first(paths: Iterator[Path]) -> list[Path]:
    return sorted((path for path in paths if path.is_file()), key=lambda path: (-path.stat().st_mtime_ns, str(path)))
