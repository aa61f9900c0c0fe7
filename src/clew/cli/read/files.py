"""`clew files`: list the files that sessions changed, with the prompts that led to it."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence

from clew.cli.options import add_common_options, add_store_options
from clew.cli.output import clean, clean_name, format_age, is_terminal, one_line, print_json, print_message
from clew.system.environment import terminal_columns
from clew.system.plural import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clew.provenance.changes_by_file import FileSummary
    from clew.provenance.recorded_changes import RecordedChange
    from clew.system.terminal_style import TerminalStyle

_UNRECORDED = "Changes made by shell commands are not recorded."


def add_arguments(command: ArgumentParser) -> None:
    command.add_argument("id", nargs="?", help="only this session: its id, the beginning of it, or a path")
    command.add_argument("--reveal", action="store_true", help="do not mask secrets")
    add_common_options(command, lists=True)
    add_store_options(command)


def run(options: Namespace) -> int:
    files = _summarize_files(options)
    if options.json:
        print_json(_file_json(file, options.reveal) for file in files)
    else:
        width = terminal_columns(100) if is_terminal() else 0
        for line in _format(files, width, options.reveal):
            print(line)
    if not options.quiet:
        _print_summary(files, options)
    return 0 if files else 1


def _summarize_files(options: Namespace) -> list[FileSummary]:
    from clew.cli.select_session import open_session
    from clew.provenance.changes_by_file import group_by_file
    from clew.provenance.recorded_changes import changes_of, collect_changes, is_in_range, sort_changes

    if options.id is not None:
        found = iter(changes_of(open_session(options, options.id, archived=True)))
    else:
        found = collect_changes(project=options.project, since=options.since, claude=options.claude_dir)
    changes = [change for change in sort_changes(found) if not change.failed]
    selected = [change for change in changes if is_in_range(change, options.since, options.until)]
    return group_by_file(changes, selected)[: options.limit]


def _print_summary(files: Sequence[FileSummary], options: Namespace) -> None:
    if not files:
        print_message(f"No session changed a file with these options. {_UNRECORDED}")
        return
    sessions = {change.session for file in files for change in file.changes}
    lines = f"+{sum(file.added for file in files):,} −{sum(file.removed for file in files):,} lines"
    print_message(f"{plural(len(files), 'file')}, {lines}, {plural(len(sessions), 'session')}. {_UNRECORDED}")


def _format(files: Sequence[FileSummary], width: int, reveal: bool) -> Iterator[str]:
    """Yield the lines of the list: files by project, and below each file the prompts that changed it."""
    from clew.provenance.recorded_changes import relative_path
    from clew.system.terminal_style import stdout_style
    from clew.view.sanitize import columns

    style = stdout_style()
    by_project: dict[str, list[FileSummary]] = {}
    for file in files:
        by_project.setdefault(file.changes[-1].cwd, []).append(file)
    for number, (project, group) in enumerate(by_project.items()):
        if number:
            yield ""
        yield style(one_line(clean_name(project or "(unknown project)"), width), "bold")
        names = [clean_name(relative_path(file.path, project)) for file in group]
        longest = max(map(columns, names))
        for file, name in zip(group, names, strict=True):
            counts, rest = f"+{file.added:,} −{file.removed:,}", f"  {format_age(file.last)}  {file.on_disk}"
            facts = _paint_counts(counts, style) + style(rest, "quiet")
            if not width or 4 + longest + columns(counts + rest) <= width:
                yield f"  {name}{' ' * (longest - columns(name))}  {facts}"
            else:
                yield from (f"  {name}", f"    {facts}")
            for prompt in _by_prompt(file.changes):
                described = one_line(_describe(prompt))
                text = one_line(f"{described} {_prompt(prompt[0], reveal)}", max(20, width - 4) if width else 0)
                yield f"    {style(text[:8], 'link')}{style(text[8 : len(described)], 'quiet')}{text[len(described) :]}"


def _paint_counts(text: str, style: TerminalStyle) -> str:
    """Paint the counts of added and removed lines."""
    added, _, removed = text.partition(" ")
    return f"{style(added, 'good')} {style(removed, 'bad')}"


def _by_prompt(changes: Sequence[RecordedChange]) -> list[list[RecordedChange]]:
    """Return the changes of each prompt; those of agents are separate."""
    groups: dict[tuple[str, int, str], list[RecordedChange]] = {}
    for change in changes:
        groups.setdefault(_prompt_key(change), []).append(change)
    return list(groups.values())


def _prompt_key(change: RecordedChange) -> tuple[str, int, str]:
    return change.session, change.turn, change.agent


def _describe(changes: Sequence[RecordedChange]) -> str:
    first = changes[0]
    turn = f"turn {first.turn}" if first.turn else "turn ?"
    by = " (agent)" if first.agent else ""
    edited = " (edited by the user)" if any(change.user_modified for change in changes) else ""
    added, removed = (sum(counts) for counts in zip(*((c.added, c.removed) for c in changes), strict=True))
    kept = f" ({first.kept})" if first.kept else ""
    return f"{first.session[:8]} {turn}{by}{kept}  +{added:,} −{removed:,}{edited}"


def _prompt(change: RecordedChange, reveal: bool) -> str:
    from clew.facts.secrets.mask_secrets import mask

    return change.prompt if reveal else mask(clean(change.prompt))[0]


def _file_json(file: FileSummary, reveal: bool) -> dict[str, Any]:
    prompts = [
        {
            "session": first.session,
            "agent": first.agent or None,
            "turn": first.turn or None,
            "prompt": _prompt(first, reveal),
            "time": _time(group[-1]),
            "tools": sorted({change.tool for change in group}),
            "changes": len(group),
            "added": sum(change.added for change in group),
            "removed": sum(change.removed for change in group),
            "user_modified": any(change.user_modified for change in group),
            "kept": first.kept or "disk",
        }
        for group in _by_prompt(file.changes)
        for first in group[:1]
    ]
    return {
        "kind": "changed_file",
        "path": file.path,
        "name": os.path.basename(file.path),
        "project": file.changes[-1].cwd,
        "changes": len(file.changes),
        "added": file.added,
        "removed": file.removed,
        "last": _time(file.changes[-1]),
        "on_disk": file.on_disk,
        "sessions": sorted({change.session for change in file.changes}),
        "prompts": prompts,
    }


def _time(change: RecordedChange) -> str | None:
    from clew.wire.timestamps import format_timestamp

    return format_timestamp(change.time) if change.time else None
