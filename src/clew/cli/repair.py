"""`clew repair`: mend what is broken."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from clew.cli.choose import tree
from clew.cli.output import clean, common, print_json, remark
from clew.conversation.outline import Outline
from clew.conversation.session import Session
from clew.conversation.title import first_prompt, summary_of
from clew.wire.place import Project, SessionFile, find_project
from clew.wire.sidecar import INDEX_NAME, IndexEntry, SessionsIndex, write_index


def arguments(command: ArgumentParser) -> None:
    command.add_argument("--index", action="store_true", help="rebuild a project's sessions-index.json from its files")
    command.add_argument("--dry-run", action="store_true", help="say what would be done and do nothing")
    command.add_argument("--project", "-p", metavar="PATH", default=".", help="the project (default: this folder's)")
    common(command)


def call(options: Namespace) -> int:
    if not options.index:
        remark("clew: say what to repair: --index rebuilds sessions-index.json from the session files.")
        return 2
    project = find_project(tree(options), options.project)
    where = project.path()
    known = None if where.source == "guess" else where.path  # written down, a guess would look like knowledge
    index = SessionsIndex(version=1, original_path=known, entries=tuple(_entries(project, known)))
    old = None if options.dry_run else write_index(project.folder, index)
    made = {
        "kind": "index",
        "path": str(project.folder / INDEX_NAME),
        "project": project.name,
        "sessions": len(index.entries),
        "backup": str(old) if old else None,
        "written": not options.dry_run,
    }
    if options.json:
        print_json([made])
    else:
        done = "Would write" if options.dry_run else "Wrote"
        print(clean(f"{done} {made['path']}: {len(index.entries)} session{'' if len(index.entries) == 1 else 's'}."))
        if old:
            print(clean(f"The old one is {old}"))
    return 0


def _entries(project: Project, known: str | None) -> list[IndexEntry]:
    found = [_entry(file, known) for file in project.sessions() if not file.is_empty]
    return [entry for entry in found if entry is not None]


def _entry(file: SessionFile, known: str | None) -> IndexEntry | None:
    session = Session(file.path, file=file)
    outline = Outline(file)
    if not outline.is_conversation:
        return None
    return IndexEntry(
        session_id=file.id,
        full_path=str(file.path),
        file_mtime=file.mtime_ns // 1_000_000,
        first_prompt=first_prompt(session) or "No prompt",
        summary=summary_of(session) or None,
        message_count=sum(e.type in ("user", "assistant") for e in session.active),
        created=session.started,
        modified=session.ended,
        git_branch=session.branch_name or "",
        project_path=session.cwd or known or "",
        is_sidechain=session.is_agent,
    )
