"""Run `clew ls`: collect the rows of a kind and print them."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from heapq import merge
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from clew.cli.output import format_age, format_size, one_line, print_json, print_message
from clew.cli.read.gone_folders import suggest_move
from clew.cli.read.ls_masking import mask_listing
from clew.cli.read.ls_messages import explain_empty_list, warn_of_expiring_sessions
from clew.cli.read.ls_work_files import list_plans, list_todos
from clew.cli.select_session import error_fence, open_tree, read_outlines, report_unlisted_folders
from clew.cli.text_columns import Column, print_table
from clew.collect.archive.archive_view import open_deleted_tree
from clew.collect.archive.archived_sessions import ArchivedSessions
from clew.collect.archive.deleted_tree import DeletedTree
from clew.conversation.session_listing import Outline
from clew.errors import NotFound
from clew.system import shell_quoting
from clew.system.file_errors import ErrorCollector
from clew.system.plural import plural
from clew.wire.content_time import is_within, newest_first
from clew.wire.json_codec import JsonView
from clew.wire.known_sessions import INDEX, list_gone_sessions
from clew.wire.layout import AgentFile, Project, session_at, slugs
from clew.wire.lookup import find_project
from clew.wire.prompt_history import HistoryPrompt, prompts, read_history
from clew.wire.timestamps import format_timestamp

if TYPE_CHECKING:
    from clew.conversation.agent_sessions import Agent


def list_kind(options: Namespace) -> int:
    values, columns = _KINDS[options.kind]
    if options.rounds:
        if options.kind != "sessions":
            print_message(f"clew: --rounds counts those of sessions, not of {options.kind}. Write: clew ls --rounds")
            return 2
        columns = (*columns[:-1], ("ROUNDS", lambda r: str(r.get("rounds", ""))), columns[-1])
    if options.store_tree and options.kind == "sessions":
        columns = (*columns[:3], ("WHO", lambda r: one_line(r.get("developer") or "", 24)), *columns[3:])
    fence = error_fence(options)
    rows_of_kind = values(options, fence) if options.reveal else mask_listing(iter(values(options, fence)))
    if options.json:
        shown = print_json({k: v for k, v in row.items() if k != "when"} for row in rows_of_kind)
    else:
        projects: set[str] = set()
        shown = print_table(_note_projects(rows_of_kind, projects), columns)
        if shown and options.kind == "sessions" and not options.quiet and not options.store_tree:
            suggest_move(projects)
        elif not shown and not options.quiet:
            print_message(explain_empty_list(options))
    if options.kind == "sessions" and not options.quiet and not options.store_tree:
        warn_of_expiring_sessions(options)
    report_unlisted_folders(options, fence)
    return 1 if fence.problems or not shown else 0


def _note_projects(rows: Iterable[JsonView], projects: set[str]) -> Iterator[JsonView]:
    for row in rows:
        if row.get("project"):
            projects.add(str(row["project"]))
        yield row


def _sessions(options: Namespace, fence: ErrorCollector) -> Iterator[JsonView]:
    """Yield the sessions, newest first: those on the disk or in the archive, and those that only the index knows."""
    attic = open_deleted_tree(options.claude_dir)
    gone = list(_gone(options, fence, attic)) if not options.archived else []
    rest = [row for row in gone if options.gone or row["known_from"] == INDEX]
    present = _present(options, fence, attic) if not options.gone else iter(())
    yield from islice(merge(present, rest, key=_age), options.limit)
    if len(rest) < len(gone) and not options.quiet:
        more = len(gone) - len(rest)
        known = plural(more, "more session is", "more sessions are")
        print_message(f"{known} known from the prompt history alone. List them: clew ls --gone")


def _age(row: JsonView) -> float:
    return -row["when"].timestamp() if row["when"] else 0.0


def _present(options: Namespace, fence: ErrorCollector, attic: DeletedTree | None) -> Iterator[JsonView]:
    paths: dict[str, str] = {}
    for outline in read_outlines(options, fence):
        row: JsonView = {}
        with fence.catch(outline.file.location):
            row = {**_session(outline, paths), **_kept(outline, attic), **_store_fields(outline, options)}
            row |= _rounds(outline) if options.rounds else {}
        if row:
            yield row


def _gone(options: Namespace, fence: ErrorCollector, attic: DeletedTree | None) -> Iterator[JsonView]:
    """Yield the sessions that Claude Code's index, the history of prompts or the archive know, and that have no
    transcript.
    """
    is_here = _here(options)
    listed = attic.archived | attic.reconstructed if attic and not options.gone else frozenset()
    archive = ArchivedSessions(options.claude_dir)
    for known in list_gone_sessions(open_tree(options), fence):
        if known.session in listed:
            continue  # it has been listed as the archive has it
        is_archived = archive.find(known.session)[0] == "archive"
        row = {
            "kind": "session",
            "id": known.session,
            "title": known.title or " ".join(known.first_prompt.split()),
            "first_prompt": known.first_prompt,
            "project": known.project,
            "branch": known.branch or None,
            "version": None,
            "started": format_timestamp(known.started) if known.started else None,
            "ended": format_timestamp(known.ended) if known.ended else None,
            "bytes": 0,
            "path": None,
            "resume": shell_quoting.session_command("restore", known.session, full_id=True) if is_archived else None,
            "kept": "archived" if is_archived else known.sentence,
            "known_from": known.source,
            "when": known.ended,
        }
        if is_here(known.project) and _within(row, options, known.started):
            yield row


def _rounds(outline: Outline) -> JsonView:
    """Return how many rounds a session has, by their kinds and by the kinds of their inputs."""
    from clew.conversation.session import Session

    rounds = Session(outline.file.path, file=outline.file).rounds
    kinds, inputs = (dict(Counter(names)) for names in ((r.kind for r in rounds), (r.input for r in rounds)))
    return {"rounds": len(rounds), "round_kinds": kinds, "inputs": inputs}


def _store_fields(outline: Outline, options: Namespace) -> JsonView:
    """Return who collected a session of a store, and how to bring it here."""
    if not options.store_tree:
        return {}
    from clew.cli.store_source import owner_fields, restore_command

    return {**owner_fields(options, str(outline.file.path)), "resume": restore_command(options, outline.id)}


def _kept(outline: Outline, attic: DeletedTree | None) -> JsonView:
    """Where a session is that is not on the disk any more."""
    if attic is None or not outline.file.path.is_relative_to(attic.folder):
        return {}
    kept = "reconstructed" if outline.id in attic.reconstructed else "archived"
    return {
        "kept": kept,
        "resume": None
        if kept == "reconstructed"
        else shell_quoting.session_command("restore", outline.id, full_id=True),
    }


def _session(outline: Outline, paths: dict[str, str]) -> JsonView:
    folder = outline.file.project_folder
    if folder.name not in paths:
        paths[folder.name] = outline.cwd or Project(folder).path().path
    return {
        "kind": "session",
        "id": outline.id,
        "title": outline.title,
        "project": paths[folder.name],
        "branch": outline.branch_name,
        "version": outline.version,
        "slug": outline.slug,
        "tag": outline.tag or None,
        "started": format_timestamp(outline.started) if outline.started else None,
        "ended": format_timestamp(outline.when),
        "bytes": outline.file.size,
        "path": outline.file.location,
        "resume": shell_quoting.join_command(shell_quoting.resume_arguments(outline.id)),
        "when": outline.when,
    }


def _projects(options: Namespace, fence: ErrorCollector) -> Iterator[JsonView]:
    place = open_tree(options)
    chosen = [find_project(place, options.project)] if options.project else place.projects()
    for project in chosen[: options.limit]:
        row: JsonView = {}
        with fence.catch(project.folder):
            row = _project(project)
        if row:
            yield row


def _project(project: Project) -> JsonView:
    where = project.path()
    files = project.sessions()
    full = [f for f in files if not f.is_empty]
    return {
        "kind": "project",
        "name": project.name,
        "project": where.path,
        "path_from": where.source,
        "sessions": len(full),
        "empty": len(files) - len(full),
        "agents": sum(not agent.is_warmup for agent in project.agents()),
        "bytes": sum(f.size for f in files),
        "memory": str(project.memory) if project.memory else None,
    }


def _agents(options: Namespace, fence: ErrorCollector) -> Iterator[JsonView]:
    place = open_tree(options)
    chosen = [find_project(place, options.project)] if options.project else place.projects()
    shown = 0
    linked: dict[Path, dict[str, Agent]] = {}
    for agent in newest_first(a for p in chosen for a in p.agents()):
        if options.limit is not None and shown >= options.limit:
            return
        row: JsonView = {}
        with fence.catch(agent.path):
            row = {} if agent.is_warmup else _agent(agent, linked, fence)
        if row and is_within(agent, options.since, options.until):
            shown += 1
            yield row


def _agent(agent: AgentFile, linked: dict[Path, dict[str, Agent]], fence: ErrorCollector) -> JsonView:
    meta = agent.meta()
    outline = Outline(agent)
    kind, title = (meta.agent_type, meta.description) if meta else (None, None)
    if not kind and (linked_agent := _linked_agent(agent, linked, fence)):
        kind, title = linked_agent.kind or None, title or linked_agent.description
    return {
        "kind": "agent",
        "id": agent.id,
        "session": agent.session_id,
        "layout": agent.layout,
        "type": kind,
        "title": title or outline.first_prompt,
        "ended": format_timestamp(outline.when),
        "bytes": agent.size,
        "path": str(agent.path),
        "when": outline.when,
    }


def _linked_agent(file: AgentFile, linked: dict[Path, dict[str, Agent]], fence: ErrorCollector) -> Agent | None:
    """Return the agent with the call that started it, which names its type. Versions before 2.1.80 write no meta file."""
    from clew.conversation.session import Session

    path = file.project_folder / f"{file.session_id}.jsonl"
    if path not in linked:
        linked[path] = {}
        with fence.catch(path):
            agents = Session(path, file=session_at(path)).agents if path.is_file() else ()
            linked[path] = {agent.id: agent for agent in agents}
    return linked[path].get(file.id)


def _prompts(options: Namespace, fence: ErrorCollector) -> Iterator[JsonView]:
    path = open_tree(options).history
    typed: list[HistoryPrompt] = []
    with fence.catch(path):
        typed = list(prompts(read_history(path)))
    newest_first = sorted(typed, key=lambda p: -p.time.timestamp() if p.time else 0)
    is_here = _here(options)
    rounds = None
    if options.json:  # a table has no column for them
        from clew.cli.read.prompt_rounds import PromptRounds

        rounds = PromptRounds(open_tree(options), fence)
    wanted = (p for p in newest_first if is_here(p.project or "") and _within({"when": p.time}, options))
    for prompt in islice(wanted, options.limit):
        yield {
            "kind": "prompt",
            "session": prompt.session_id,
            "project": prompt.project,
            "time": format_timestamp(prompt.time) if prompt.time else None,
            "title": prompt.text,
            **(rounds.fields(prompt) if rounds else {}),
            "when": prompt.time,
        }


def _here(options: Namespace) -> Callable[[str], bool]:
    """Return whether a path is the project asked for. The history outlives sessions: then a part of the path will do."""
    if not options.project:
        return lambda path: True
    try:
        project = find_project(open_tree(options), options.project)
    except NotFound:
        part = options.project.lower()
        return lambda path: part in path.lower()
    return lambda path: project.name in slugs(path)


def _within(row: JsonView, options: Namespace, started: datetime | None = None) -> bool:
    """Return whether a row is of the time asked for, by its last time and where it `started`; one without a time is of
    none.
    """
    when = row["when"]
    if when is None:
        return not options.since and not options.until
    late = options.since is None or when >= options.since
    return late and (options.until is None or (started or when) < options.until)


def _titled(row: JsonView) -> str:
    """Return the title, with the tag and where the session is kept before it."""
    kept, tag = row.get("kept"), row.get("tag")
    return (f"({kept}) " if kept else "") + (f"#{tag} " if tag else "") + (row["title"] or "(no prompt)")


def _short(path: str | None) -> str:
    parts = (path or "").replace("\\", "/").rstrip("/").split("/")
    return parts[-1] or "/"


_KINDS: dict[str, tuple[Callable[[Namespace, ErrorCollector], Iterable[JsonView]], Sequence[Column]]] = {
    "sessions": (
        _sessions,
        (
            ("ID", lambda r: r["id"][:8]),
            ("WHEN", lambda r: format_age(r["when"])),
            ("SIZE", lambda r: format_size(r["bytes"])),
            ("PROJECT", lambda r: _short(r["project"])),
            ("BRANCH", lambda r: one_line(r["branch"] or "", 18)),
            ("TITLE", _titled),
        ),
    ),
    "projects": (
        _projects,
        (
            ("SESSIONS", lambda r: str(r["sessions"])),
            ("AGENTS", lambda r: str(r["agents"])),
            ("SIZE", lambda r: format_size(r["bytes"])),
            ("PROJECT", lambda r: r["project"] + ("  (a guess)" if r["path_from"] == "guess" else "")),
        ),
    ),
    "agents": (
        _agents,
        (
            ("ID", lambda r: one_line(r["id"], 17)),
            ("SESSION", lambda r: (r["session"] or "?")[:8]),
            ("WHEN", lambda r: format_age(r["when"])),
            ("SIZE", lambda r: format_size(r["bytes"])),
            ("TYPE", lambda r: one_line(r["type"] or "unknown", 24)),
            ("TITLE", lambda r: r["title"] or ""),
        ),
    ),
    "prompts": (
        _prompts,
        (
            ("SESSION", lambda r: (r["session"] or "?")[:8]),
            ("WHEN", lambda r: format_age(r["when"])),
            ("PROJECT", lambda r: _short(r["project"])),
            ("PROMPT", lambda r: r["title"]),
        ),
    ),
    "todos": (
        list_todos,
        (
            ("SESSION", lambda r: r["session"][:8]),
            ("WHEN", lambda r: format_age(r["when"])),
            ("DONE", lambda r: f"{r['done']}/{r['total']}"),
            ("AGENT", lambda r: one_line(r["agent"] or "", 8)),
            ("CURRENT", lambda r: r["title"]),
        ),
    ),
    "plans": (
        list_plans,
        (
            ("SESSION", lambda r: (r["session"] or "?")[:8]),
            ("WHEN", lambda r: format_age(r["when"])),
            ("SIZE", lambda r: format_size(r["bytes"])),
            ("NAME", lambda r: one_line(r["name"], 40)),
            ("TITLE", lambda r: r["title"]),
        ),
    ),
}
