"""`clew repair`: repair a damaged session, or rebuild sessions-index.json."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence

from clew.cli.edit import edit_output
from clew.cli.output import clean_name, print_json, print_message
from clew.errors import Refused
from clew.system.plural import noun, plural
from clew.system.shell_quoting import clew_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clew.edit.fix.repair_session import Fix
    from clew.wire.layout import Project, SessionFile
    from clew.wire.side_files import IndexEntry


def add_arguments(command: ArgumentParser) -> None:
    which = command.add_mutually_exclusive_group()
    which.add_argument("id", nargs="?", help="a session: its id, the beginning of it, or a path")
    which.add_argument("--index", action="store_true", help="rebuild a project's sessions-index.json from its files")
    command.add_argument(
        "--project", "-p", metavar="PATH", default=".", help="the project for --index (default: this folder's)"
    )
    edit_output.add_arguments(command)


def run(options: Namespace) -> int:
    if options.index:
        return _index(options)
    if options.id is None:
        print_message("clew: name a session to repair, or use --index to rebuild sessions-index.json.")
        return 2
    return _session(options)


# -- a session


def _session(options: Namespace) -> int:
    from clew.cli.select_session import open_session

    source = open_session(options, options.id)
    from clew.cli.read.check_run import verdict
    from clew.edit.fix.repair_session import repair
    from clew.edit.plan import plan
    from clew.facts.health import VERSIONS, health

    repaired, fixes = repair(plan(source))
    before = health(source)
    if not fixes:
        if options.json:
            print_json(
                [{"kind": "edit", "source": source.id, "fixes": [], "written": False, "verdict": [before.verdict] * 2}]
            )
        else:
            print(clean_name(f"{source.id} {verdict(before)} There is nothing to repair."))
        return 0
    if not any(entry.type in ("user", "assistant") for entry in repaired.session.entries):
        hint = (
            f"If it was archived, restore it below another folder: {clew_command('restore', source.id, '--to', 'DIR')}"
        )
        raise Refused([f"no message in {source.id[:8]} can be read, so nothing can be repaired"], hint=hint)
    after = health(repaired.session)
    if not options.json and not options.diff:
        print(clean_name(f"{source.id} {verdict(before)}"))
        for line in _report(fixes, VERSIONS):
            print(clean_name(line))
        if lost_prompts := sum(damage.prompt for damage in before.damage):
            seems = noun(lost_prompts, "looks like a prompt", "look like prompts")
            print(f"  {lost_prompts:,} of the unreadable lines {seems}; only the original holds what is left of it.")
        print(clean_name(f"The repaired one {verdict(after)}"))
    return edit_output.finish(options, repaired, _json(fixes, VERSIONS) | {"verdict": [before.verdict, after.verdict]})


def _report(fixes: Sequence[Fix], versions: Sequence[str]) -> Iterator[str]:
    for fix in fixes:
        lines = ", ".join(map(str, fix.lines[:8])) + (f" and {len(fix.lines) - 8} more" if len(fix.lines) > 8 else "")
        yield f"  {fix.name} ({noun(len(fix.lines), 'line')} {lines}): {fix.text}."
        changed = [
            f"{version} {before} → {after}"
            for version, before, after in zip(versions, fix.before, fix.after, strict=True)
            if before != after
        ]
        if changed:
            yield f"    prompts restored: {', '.join(changed)}"


def _json(fixes: Sequence[Fix], versions: Sequence[str]) -> dict[str, Any]:
    return {
        "fixes": [
            {
                "name": fix.name,
                "text": fix.text,
                "lines": list(fix.lines),
                "prompts": {v: [b, a] for v, b, a in zip(versions, fix.before, fix.after, strict=True)},
            }
            for fix in fixes
        ]
    }


# -- the index of a project


def _index(options: Namespace) -> int:
    from clew.cli.select_session import open_tree
    from clew.wire.lookup import find_project
    from clew.wire.side_files import INDEX_NAME, SessionsIndex, write_index

    project = find_project(open_tree(options), options.project)
    where = project.path()
    known = None if where.source == "guess" else where.path  # written down, a guess would look like knowledge
    index = SessionsIndex(version=1, original_path=known, entries=tuple(_entries(project, known)))
    old = None if options.dry_run else write_index(project.folder, index)
    value = {
        "kind": "index",
        "path": str(project.folder / INDEX_NAME),
        "project": project.name,
        "sessions": len(index.entries),
        "backup": str(old) if old else None,
        "written": not options.dry_run,
    }
    if options.json:
        print_json([value])
    else:
        done = "Would write" if options.dry_run else "Wrote"
        print(clean_name(f"{done} {value['path']}: {plural(len(index.entries), 'session')}."))
        if old:
            print(clean_name(f"The old one is {old}"))
    return 0


def _entries(project: Project, known: str | None) -> list[IndexEntry]:
    entries = [_entry(file, known) for file in project.sessions() if not file.is_empty]
    return [entry for entry in entries if entry is not None]


def _entry(file: SessionFile, known: str | None) -> IndexEntry | None:
    from clew.conversation.session import Session
    from clew.conversation.session_listing import Outline
    from clew.conversation.titles import first_prompt, session_summary
    from clew.wire.side_files import IndexEntry

    session = Session(file.path, file=file)
    outline = Outline(file)
    if not outline.is_conversation:
        return None
    return IndexEntry(
        session_id=file.id,
        full_path=str(file.path),
        file_mtime=file.mtime_ns // 1_000_000,
        first_prompt=first_prompt(session) or "No prompt",
        summary=session_summary(session) or None,
        message_count=sum(e.type in ("user", "assistant") for e in session.active),
        created=session.started,
        modified=session.ended,
        git_branch=session.branch_name or "",
        project_path=session.cwd or known or "",
        is_sidechain=session.is_agent,
    )
