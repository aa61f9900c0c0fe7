"""`clew blame`: print the session, turn and prompt that wrote each line of a file."""

from __future__ import annotations

import os
import re
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterator, Sequence

from clew.cli.options import add_common_options, add_store_options
from clew.cli.output import clean, clean_name, is_terminal, one_line, print_json, print_message
from clew.errors import NotFound
from clew.system.environment import terminal_columns
from clew.system.plural import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clew.provenance.line_blame import Blame, BlamedLine

_RANGE = re.compile(r"(.+):(\d+)(?:-(\d*))?", re.DOTALL)
_MARKS = {"record": "=", "content": "~", "": ""}
_LOOKS = ("quiet", "link", "quiet", "quiet", "", "quiet")  # mark, session, turn, date, prompt, commit
_MOST_PROMPT = 32  # columns of a prompt


def add_arguments(command: ArgumentParser) -> None:
    command.add_argument("file", metavar="FILE[:LINES]", help="a file, with a line 12 or lines 12-20 of it")
    command.add_argument("--was", metavar="PATH", action="append", default=[], help="an earlier path of the file")
    command.add_argument("--no-git", action="store_true", help="do not ask git for commits")
    command.add_argument("--reveal", action="store_true", help="do not mask secrets")
    add_common_options(command)
    add_store_options(command)


def run(options: Namespace) -> int:
    from clew.provenance.line_blame import blame

    path, first, last = _parse_file(options.file)
    result = blame(path, earlier_paths=options.was, git=not options.no_git, claude=options.claude_dir)
    shown = result.lines if options.reveal else _mask(result.lines)
    lines = shown[first - 1 : last]
    if not lines and result.lines:
        raise NotFound(f"{path}:{first}", "line", hint=f"The file has {plural(len(result.lines), 'line')}.")
    if options.json:
        print_json(_line_json(line, result, options.reveal) for line in lines)
    else:
        for text in _format(lines, options.reveal):
            print(text)
    if not options.quiet:
        _print_summary(result, lines)
    return 0 if any(line.evidence for line in lines) else 1


def _mask(lines: Sequence[BlamedLine]) -> list[BlamedLine]:
    """Return lines without secrets, also those of several lines."""
    from msgspec.structs import replace

    from clew.facts.secrets.mask_secrets import mask_lines

    texts = mask_lines([clean(line.text) for line in lines])
    return [replace(line, text=text) for line, text in zip(lines, texts, strict=True)]


def _parse_file(text: str) -> tuple[str, int, int | None]:
    """Return the path and the lines of FILE, FILE:12, FILE:12-20 or FILE:12-; a file with such a name comes first."""
    match = None if os.path.lexists(text) else _RANGE.fullmatch(text)
    if match is None:
        return text, 1, None
    first = max(1, int(match[2]))
    return match[1], first, first if match[3] is None else int(match[3]) if match[3] else None


def _format(lines: Sequence[BlamedLine], reveal: bool) -> Iterator[str]:
    """Yield the table; a change is described once for each run of its lines."""
    from clew.system.table_layout import join_cells
    from clew.system.terminal_style import stdout_style
    from clew.view.sanitize import columns

    width = terminal_columns(100) if is_terminal() else 0
    style = stdout_style()
    rows = []
    previous = None
    for line in lines:
        described = [""] * 5 if previous and _is_same(line, previous) else _describe(line, reveal, width)
        rows.append([_MARKS[line.evidence], *described])
        previous = line
    shown = [i for i in range(6) if any(row[i] for row in rows)]
    widths = [max(columns(row[i]) for row in rows) for i in shown]
    digits = len(str(lines[-1].number)) if lines else 0
    for line, row in zip(lines, rows, strict=True):
        text = line.text.expandtabs(4)
        cells = [row[i] for i in shown]
        painted = [style(row[i], _LOOKS[i]) for i in shown]
        number = style(f"{line.number:>{digits}}", "quiet")
        start = f"{number} {join_cells(cells, widths, measure=columns, painted=painted)} {style('│', 'quiet')} "
        room = width - digits - 4 - sum(widths) - 2 * (len(widths) - 1) if width else 0
        text = clean_name(text)
        yield (start + (text[: max(10, room - 1)] + "…" if width and columns(text) > max(11, room) else text)).rstrip()


def _is_same(line: BlamedLine, other: BlamedLine) -> bool:
    return (line.change, line.commit) == (other.change, other.commit)


def _describe(line: BlamedLine, reveal: bool, width: int) -> list[str]:
    """Return the cells session, turn, date, prompt and commit; narrow terminals leave out some of them."""
    from clew.facts.secrets.mask_secrets import mask

    commit = line.commit.id[:8] if line.commit and (not width or width >= 70) else ""
    change = line.change
    if change is None:
        return ["", "", "", "", commit]
    prompt = change.prompt if reveal else mask(clean(change.prompt))[0]
    room = min(_MOST_PROMPT, max(0, width - 70)) if width else _MOST_PROMPT
    return [
        change.session[:8],
        (f"t{change.turn}" if change.turn else "t?") + ("a" if change.agent else ""),
        f"{change.time.astimezone():%Y-%m-%d}" if change.time and (not width or width >= 60) else "",
        one_line(prompt, room) if room >= 8 else "",
        commit,
    ]


def _print_summary(result: Blame, lines: Sequence[BlamedLine]) -> None:
    if not result.changes:
        print_message(
            f"No session recorded a change of {result.path}. Changes made by shell commands are not recorded."
        )
        return
    counts = Counter(line.evidence for line in lines)
    reasons = Counter(line.reason for line in lines if line.reason)
    unknown = f"{counts['']} unknown" + (f" ({', '.join(f'{n} {r}' for r, n in reasons.items())})" if reasons else "")
    print_message(
        f"{plural(len(lines), 'line')}: {counts['record']} by record (=), {counts['content']} by content (~), {unknown}."
    )
    left = (
        "is as the last recorded change left it" if result.is_as_recorded else "differs from the last recorded change"
    )
    sessions = len({change.session for change in result.changes})
    print_message(f"{plural(len(result.changes), 'change')} in {plural(sessions, 'session')}; the file {left}.")


def _line_json(line: BlamedLine, result: Blame, reveal: bool) -> dict[str, Any]:
    from clew.facts.secrets.mask_secrets import mask
    from clew.wire.timestamps import format_timestamp

    change, commit = line.change, line.commit

    def masked(text: str) -> str:
        return text if reveal else mask(clean(text))[0]

    return {
        "kind": "blamed_line",
        "path": result.path,
        "line": line.number,
        "text": line.text,
        "evidence": line.evidence or None,
        "reason": line.reason or None,
        "session": change.session if change else None,
        "agent": (change.agent or None) if change else None,
        "turn": (change.turn or None) if change else None,
        "time": format_timestamp(change.time) if change and change.time else None,
        "tool": change.tool if change else None,
        "prompt": masked(change.prompt) if change else None,
        "commit": commit.id if commit else None,
        "commit_time": format_timestamp(commit.time) if commit and commit.time else None,
        "commit_summary": masked(commit.summary) if commit else None,
    }
