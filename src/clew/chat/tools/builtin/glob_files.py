"""Glob: files by their names, the newest first. What .gitignore says does not count.

`*` and `?` stop at a slash, `**` is any number of folders, `[ab]` one letter of some, `{a,b}` one of several texts. Names
with a dot in front are names like others. Links to folders are not followed, and the folders of version control are
left out unless the pattern names them.
"""

from __future__ import annotations

import asyncio
import heapq
import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from clew.chat.tools.path_arguments import named
from clew.chat.tools.tool import CallResult, ToolContext, ToolFailed
from clew.chat.tools.tool_spec import TEXT, SpecTool, fields, needed, optional
from clew.wire.json_codec import Json

MOST = 100
_LEFT_OUT = (".git", ".hg", ".svn", ".jj")
_MAGIC = re.compile(r"[*?\[{]")
_STARS = re.compile(r"\*\*(?:/\*\*)+(?=/|$)")
_MOST_FORMS = 200


async def glob(input: Json, scene: ToolContext) -> CallResult:
    begun = time.monotonic()
    base = named(input.get("path") or ".", scene.state)
    if not base.exists():
        raise ToolFailed(f"Directory does not exist: {base}")
    if not base.is_dir():
        raise ToolFailed(f"Path is not a directory: {base}")
    base, pattern = _relative(base, input["pattern"])
    found, is_cut = await asyncio.to_thread(_newest, base, pattern, scene.stopped.is_set)
    detail = {
        "filenames": found,
        "durationMs": round((time.monotonic() - begun) * 1000),
        "numFiles": len(found),
        "truncated": is_cut,
    }
    if not found:
        return CallResult("No files found", detail)
    note = "(Results are truncated: these are the newest. Give a path or a more specific pattern.)"
    return CallResult("\n".join([*found, note] if is_cut else found), detail)


def _relative(base: Path, pattern: str) -> tuple[Path, str]:
    """The pattern as seen from the folder: it must not lead out of it, because that is not what was asked for."""
    if Path(pattern).is_absolute():
        if not Path(pattern).is_relative_to(base):
            raise ToolFailed(f"The pattern leads out of {base}. Give the folder to look in as `path`.")
        pattern = os.path.relpath(pattern, base)
    parts = [part for part in pattern.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise ToolFailed("A pattern cannot hold `..`. Give the folder to look in as `path`.")
    return base, "/".join(parts)


def _newest(base: Path, pattern: str, is_stopped: Callable[[], bool]) -> tuple[list[str], bool]:
    """The newest files that match, and whether there are more."""
    forms = [_regex(form) for form in _forms(pattern)]
    wanted = re.compile("|".join(f"(?:{form})" for form in forms))
    head = _literal(pattern)
    start = base / head if head else base
    is_deep = "**" in pattern
    depth = None if is_deep else max(form.count("/") for form in _forms(pattern)) + 1
    named_out = tuple(name for name in _LEFT_OUT if name not in pattern.split("/"))
    found = (
        (entry.stat(follow_symlinks=False).st_mtime_ns, entry.path)
        for entry in _files(start, head.count("/") + bool(head), depth, named_out)
        if not is_stopped() and wanted.fullmatch(os.path.relpath(entry.path, base))
    )
    best = heapq.nlargest(MOST + 1, found, key=lambda pair: (pair[0], pair[1]))
    return [path for _, path in best[:MOST]], len(best) > MOST


def _files(folder: Path | str, level: int, depth: int | None, left_out: tuple[str, ...]) -> Iterator[os.DirEntry[str]]:
    """All files below a folder, as deep as the pattern can reach."""
    try:
        with os.scandir(folder) as entries:
            listed = list(entries)
    except OSError:
        return
    for entry in listed:
        if entry.is_dir(follow_symlinks=False):
            if (depth is None or level + 1 < depth) and entry.name not in left_out:
                yield from _files(entry.path, level + 1, depth, left_out)
        elif entry.is_file() or entry.is_symlink():
            yield entry


def _literal(pattern: str) -> str:
    """The folders at the start of a pattern that are named in full."""
    parts = pattern.split("/")[:-1]
    plain = next((i for i, part in enumerate(parts) if _MAGIC.search(part)), len(parts))
    return "/".join(parts[:plain])


def _forms(pattern: str) -> list[str]:
    """The patterns that one with braces stands for."""
    opened = _braces(pattern)
    if opened is None:
        return [pattern]
    begin, end, parts = opened
    forms = [form for part in parts for form in _forms(pattern[:begin] + part + pattern[end:])]
    if len(forms) > _MOST_FORMS:
        raise ToolFailed(f"The pattern stands for more than {_MOST_FORMS} patterns.")
    return forms


def _braces(pattern: str) -> tuple[int, int, list[str]] | None:
    """The first braces with a comma in them: where they stand, and the texts in them."""
    for begin in (i for i, letter in enumerate(pattern) if letter == "{"):
        depth, parts = 0, [""]
        for at in range(begin, len(pattern)):
            letter = pattern[at]
            depth += (letter == "{") - (letter == "}")
            if depth == 0:
                if len(parts) > 1:
                    return begin, at + 1, parts
                break
            if letter == "," and depth == 1:
                parts.append("")
            elif at > begin:
                parts[-1] += letter
    return None


def _regex(pattern: str) -> str:
    """A pattern without braces as a regular expression for a path."""
    made = []
    parts = _STARS.sub("**", pattern).split("/")
    for number, part in enumerate(parts):
        is_last = number == len(parts) - 1
        if part == "**":
            made.append(".*" if is_last else "(?:[^/]+/)*")
        else:
            made.append(_segment(part) + ("" if is_last else "/"))
    return "(?s:" + "".join(made) + ")"


def _segment(part: str) -> str:
    """A name in a pattern. A star takes the first fit of what follows it, once and for all: so no pattern takes long."""
    first, *rest = _chunks(part)
    if not rest:
        return first
    *middle, last = rest
    return first + "".join(f"(?>[^/]*?{chunk})" for chunk in middle) + f"[^/]*{last}"


def _chunks(part: str) -> list[str]:
    """What stands between the stars, as regular expressions."""
    made, at = [""], 0
    while at < len(part):
        letter = part[at]
        at += 1
        if letter == "*":
            made.append("")
        elif letter == "?":
            made[-1] += "[^/]"
        elif letter == "[" and (end := part.find("]", at + 1 + (part[at : at + 1] in ("!", "^")))) > 0:
            inside = part[at:end]
            no = "^/" if inside[0] in "!^" else ""
            made[-1] += f"[{no}{re.escape(inside[bool(no) :]).replace(chr(92) + '-', '-')}]"
            at = end + 1
        else:
            made[-1] += re.escape(letter)
    return made


GLOB = SpecTool(
    "Glob",
    "Find files by a pattern for their names, such as src/**/*.py or **/*.{ts,tsx}. Tells the 100 newest, newest first.",
    fields(
        pattern=needed(TEXT, "The pattern, as seen from the folder", minLength=1),
        path=optional(TEXT, "The folder to look in; the current one if not given"),
    ),
    glob,
    reads=True,
)
