"""Implement Glob: find files by name, newest first, regardless of .gitignore.

`*` and `?` do not match a slash, `**` is any number of folders, `[ab]` one of several characters, `{a,b}` one of
several texts. Names that start with a dot match like others. Links to folders are not followed, and folders of
version control are left out unless the pattern names them.
"""

from __future__ import annotations

import asyncio
import heapq
import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from clew.chat.tools.path_arguments import resolve_argument
from clew.chat.tools.tool import CallResult, ToolContext, ToolFailed
from clew.chat.tools.tool_spec import TEXT, SpecTool, object_schema, optional_field, required_field
from clew.wire.json_codec import Json

MAX_FILES = 100
_VERSION_CONTROL = (".git", ".hg", ".svn", ".jj")
_MAGIC = re.compile(r"[*?\[{]")
_STARS = re.compile(r"\*\*(?:/\*\*)+(?=/|$)")
_MAX_ALTERNATIVES = 200


async def glob(input: Json, scene: ToolContext) -> CallResult:
    begun = time.monotonic()
    base = resolve_argument(input.get("path") or ".", scene.state)
    if not base.exists():
        raise ToolFailed(f"Directory does not exist: {base}")
    if not base.is_dir():
        raise ToolFailed(f"Path is not a directory: {base}")
    base, pattern = _split_base(base, input["pattern"])
    names, is_cut = await asyncio.to_thread(_find_newest, base, pattern, scene.stopped.is_set)
    detail = {
        "filenames": names,
        "durationMs": round((time.monotonic() - begun) * 1000),
        "numFiles": len(names),
        "truncated": is_cut,
    }
    if not names:
        return CallResult("No files found", detail)
    note = "(Results are truncated: these are the newest. Give a path or a more specific pattern.)"
    return CallResult("\n".join([*names, note] if is_cut else names), detail)


def _split_base(base: Path, pattern: str) -> tuple[Path, str]:
    """Return the pattern relative to the folder. Raises ToolFailed if it leads out of the folder."""
    if Path(pattern).is_absolute():
        if not Path(pattern).is_relative_to(base):
            raise ToolFailed(f"The pattern leads out of {base}. Give the folder to look in as `path`.")
        pattern = os.path.relpath(pattern, base)
    parts = [part for part in pattern.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise ToolFailed("A pattern cannot hold `..`. Give the folder to look in as `path`.")
    return base, "/".join(parts)


def _find_newest(base: Path, pattern: str, is_stopped: Callable[[], bool]) -> tuple[list[str], bool]:
    """Return the newest files that match, and whether there are more."""
    forms = [_compile_path(form) for form in _expand_braces(pattern)]
    expression = re.compile("|".join(f"(?:{form})" for form in forms))
    head = _literal_prefix(pattern)
    start = base / head if head else base
    is_deep = "**" in pattern
    depth = None if is_deep else max(form.count("/") for form in _expand_braces(pattern)) + 1
    named_out = tuple(name for name in _VERSION_CONTROL if name not in pattern.split("/"))
    matches = (
        (entry.stat(follow_symlinks=False).st_mtime_ns, entry.path)
        for entry in _walk_files(start, head.count("/") + bool(head), depth, named_out)
        if not is_stopped() and expression.fullmatch(os.path.relpath(entry.path, base))
    )
    best = heapq.nlargest(MAX_FILES + 1, matches, key=lambda pair: (pair[0], pair[1]))
    return [path for _, path in best[:MAX_FILES]], len(best) > MAX_FILES


def _walk_files(
    folder: Path | str, level: int, depth: int | None, left_out: tuple[str, ...]
) -> Iterator[os.DirEntry[str]]:
    """Yield all files below a folder, as deep as the pattern can match."""
    try:
        with os.scandir(folder) as entries:
            listed = list(entries)
    except OSError:
        return
    for entry in listed:
        if entry.is_dir(follow_symlinks=False):
            if (depth is None or level + 1 < depth) and entry.name not in left_out:
                yield from _walk_files(entry.path, level + 1, depth, left_out)
        elif entry.is_file() or entry.is_symlink():
            yield entry


def _literal_prefix(pattern: str) -> str:
    """Return the folders at the start of a pattern that contain no wildcard: `src/a/*.py` gives `src/a`."""
    parts = pattern.split("/")[:-1]
    plain = next((i for i, part in enumerate(parts) if _MAGIC.search(part)), len(parts))
    return "/".join(parts[:plain])


def _expand_braces(pattern: str) -> list[str]:
    """Return the patterns that a pattern with braces stands for: `*.{js,ts}` gives `*.js` and `*.ts`."""
    opened = _find_braces(pattern)
    if opened is None:
        return [pattern]
    begin, end, parts = opened
    forms = [form for part in parts for form in _expand_braces(pattern[:begin] + part + pattern[end:])]
    if len(forms) > _MAX_ALTERNATIVES:
        raise ToolFailed(f"The pattern stands for more than {_MAX_ALTERNATIVES} patterns.")
    return forms


def _find_braces(pattern: str) -> tuple[int, int, list[str]] | None:
    """Return the first braces that contain a comma: start, end, and the alternatives."""
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


def _compile_path(pattern: str) -> str:
    """Translate a pattern without braces into a regular expression for a path.

    `src/**/t*.py` becomes `src/`, any number of `[^/]+/`, and the expression for `t*.py`.
    """
    expressions = []
    parts = _STARS.sub("**", pattern).split("/")
    for number, part in enumerate(parts):
        is_last = number == len(parts) - 1
        if part == "**":
            expressions.append(".*" if is_last else "(?:[^/]+/)*")
        else:
            expressions.append(_compile_segment(part) + ("" if is_last else "/"))
    return "(?s:" + "".join(expressions) + ")"


def _compile_segment(part: str) -> str:
    """Translate one path component. Each star matches lazily in an atomic group, so that no pattern backtracks
    exponentially.
    """
    first, *following = _split_at_stars(part)
    if not following:
        return first
    *middle, last = following
    return first + "".join(f"(?>[^/]*?{chunk})" for chunk in middle) + f"[^/]*{last}"


def _split_at_stars(part: str) -> list[str]:
    """Return the texts between the stars as regular expressions."""
    chunks, at = [""], 0
    while at < len(part):
        letter = part[at]
        at += 1
        if letter == "*":
            chunks.append("")
        elif letter == "?":
            chunks[-1] += "[^/]"
        elif letter == "[" and (end := part.find("]", at + 1 + (part[at : at + 1] in ("!", "^")))) > 0:
            inside = part[at:end]
            no = "^/" if inside[0] in "!^" else ""
            chunks[-1] += f"[{no}{re.escape(inside[bool(no) :]).replace(chr(92) + '-', '-')}]"
            at = end + 1
        else:
            chunks[-1] += re.escape(letter)
    return chunks


GLOB = SpecTool(
    "Glob",
    "Find files by a pattern for their names, such as src/**/*.py or **/*.{ts,tsx}. Tells the 100 newest, newest first.",
    object_schema(
        pattern=required_field(TEXT, "The pattern, as seen from the folder", minLength=1),
        path=optional_field(TEXT, "The folder to look in; the current one if not given"),
    ),
    glob,
    reads=True,
)
