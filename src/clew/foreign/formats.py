"""Formats: the table of programs whose conversations can be read, where theirs lie, and which of them wrote a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from clew.errors import NotFound, Refused
from clew.foreign import aider, codex, gemini, gptme, openai_logs, opencode
from clew.foreign.conversation_steps import Conversation
from clew.system.environment import foreign_homes
from clew.wire.json_codec import Json, decode, decode_loosely
from clew.wire.line import lines

_HEAD = 1 << 16


@dataclass(frozen=True, slots=True)
class Format:
    """A program: how its files are found in a folder, known, and read."""

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


def usual(names: tuple[str, ...] = ()) -> Iterator[tuple[Format, Path]]:
    """The files in the places where each program keeps them."""
    for name, folders in foreign_homes().items():
        for folder in map(Path, folders if not names or name in names else ()):
            if os.path.isdir(folder):
                yield from ((FORMATS[name], path) for path in _newest_first(FORMATS[name].find(folder)))


def within(path: Path, name: str | None = None) -> Iterator[tuple[Format, Path]]:
    """The files that a path means: itself, or those in a folder that a program is known to have written."""
    if not os.path.isdir(path):
        yield (FORMATS[name] if name else detect(path)), path
        return
    seen: set[Path] = set()
    for form in [FORMATS[name]] if name else FORMATS.values():
        for file in _newest_first(form.find(path)):
            if file not in seen:
                seen.add(file)
                yield form, file


def detect(path: Path) -> Format:
    """The format of a file, by its name and its first object. Raises Refused if none fits."""
    if not os.path.exists(path):
        raise NotFound(str(path), kind="file")
    head = _first(path)
    for form in FORMATS.values():
        if form.fits(path, head):
            return form
    raise Refused(
        [f"{path.name} is in no form that is known"],
        hint=f"If you know which program wrote it, say so: --from {'|'.join(FORMATS)}",
    )


def _first(path: Path) -> Json:
    """The first object of a file, whether it stands on a line or fills the file; a list counts as its first object."""
    for line in islice(lines(path), 20):
        try:
            found = decode(line.json)
        except ValueError:
            break
        if isinstance(found, dict):
            return found
    with path.open("rb") as file:
        head = file.read(_HEAD)
    try:
        whole = decode(path.read_bytes()) if head.lstrip()[:1] in (b"{", b"[") else None
    except ValueError:
        whole = _loosely(head)
    if isinstance(whole, list):
        whole = next((item for item in whole if isinstance(item, dict)), None)
    return whole if isinstance(whole, dict) else {}


def _loosely(head: bytes) -> object:
    try:
        return decode_loosely(head)
    except ValueError:
        return None


def _newest_first(paths: Iterator[Path]) -> list[Path]:
    return sorted((path for path in paths if path.is_file()), key=lambda path: (-path.stat().st_mtime_ns, str(path)))
