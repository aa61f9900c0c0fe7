"""The files that sessions changed, and which prompt wrote each line of one of them.

A client can only name a file that a session changed. Its content is reconstructed from the transcripts; the file
itself, and everything else on the disk, is never read.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from itertools import groupby
from typing import Any, NamedTuple

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from clew.browse.summary_thread import SummarySnapshot
from clew.conversation.session import Session
from clew.errors import READ_ERRORS, NotFound
from clew.facts.file_changes import WRITING_TOOLS
from clew.facts.secrets.mask_secrets import mask_lines
from clew.provenance.line_blame import Blame, BlamedLine, blame_records
from clew.provenance.recorded_changes import RecordedChange, changes_of, normalize_path, relative_path, sort_changes
from clew.report.session_summary import SessionSummary
from clew.system.plural import plural
from clew.view.sanitize import clean
from clew.view.syntax import file_language, plain_lines, render_line, token_lines
from clew.web.app_state import AppState
from clew.web.parameters import as_time, parse_number
from clew.web.turn_html import session_url

PAGE_SIZE = 200  # files
LINES_PER_PAGE = 2000
SESSIONS = 30  # sessions listed below a file
COLOURS = 8
HASH_LENGTH = 64
FIRST_SECONDS = 3.0


class FileItem(NamedTuple):
    """A file, and the sessions that changed it with the number of edits, the newest first."""

    path: str
    edits: list[tuple[SessionSummary, int]]

    @property
    def sessions(self) -> list[SessionSummary]:
        return [summary for summary, _ in self.edits]


def list_changed_files(summaries: Iterable[SessionSummary]) -> dict[str, FileItem]:
    """Return the files that sessions changed by normalized path, the one changed last first."""
    files: dict[str, FileItem] = {}
    for summary in sorted(summaries, key=lambda each: -each.ended):
        counts: dict[str, int] = {}
        for path, count in summary.edited.items():
            key = normalize_path(path)
            counts[key] = counts.get(key, 0) + count
            files.setdefault(key, FileItem(path, []))
        for key, count in counts.items():
            files[key].edits.append((summary, count))
    return files


class FilesPage:
    def __init__(self, state: AppState) -> None:
        self._state = state
        self._known: tuple[int, dict[str, FileItem]] = (0, {})  # the version of the summaries, and their files

    def routes(self) -> list[Route]:
        return [Route("/files", self.full_page), Route("/blame", self.blame)]

    async def full_page(self, request: Request) -> Response:
        """List the files whose paths contain all words of `?q=`, or those of one `?session=`."""
        values = await asyncio.to_thread(self._files, request.query_params.get)
        return self._state.renderer.page(request, "files", "Files", **values)

    async def blame(self, request: Request) -> Response:
        """Show the lines of `?file=` with the prompts that wrote them."""
        path, first = request.query_params.get("file", "")[:4096], parse_number(request.query_params.get("from", ""))
        values = await asyncio.to_thread(self._blame, path, max(1, first))
        return self._state.renderer.page(request, "blame", f"Lines of {values['name']}", **values)

    # -- the list

    def _files(self, given: Callable[[str, str], str]) -> dict[str, Any]:
        snapshot = self._snapshot()
        query, session = given("q", "")[:500], given("session", "")[:100]
        limit = max(PAGE_SIZE, min(parse_number(given("limit", "")), 100_000))
        words = query.lower().split()
        found = [
            file
            for file in self._changed_files(snapshot).values()
            if all(word in file.path.lower() for word in words)
            and (not session or any(each.session == session for each in file.sessions))
        ]
        projects: dict[str, list[dict[str, Any]]] = {}
        for file in found[:limit]:
            projects.setdefault(file.edits[0][0].cwd, []).append(self._file(file))
        return {
            "q": query,
            "session": session,
            "count": plural(len(found), "file"),
            "shown": min(limit, len(found)),
            "more": limit * 4 if len(found) > limit else 0,
            "percent": None if snapshot.is_complete else snapshot.percent,
            "projects": [
                (self._clean(_base(cwd)) or "(unknown project)", self._clean(cwd), files)
                for cwd, files in projects.items()
            ],
        }

    def _file(self, file: FileItem) -> dict[str, Any]:
        newest = file.edits[0][0]
        folder, name = _split(relative_path(file.path, newest.cwd))
        return {
            "key": self._key(file.path),
            "folder": self._clean(folder),
            "name": self._clean(name),
            "when": as_time(newest.ended),
            "count": plural(len(file.edits), "session"),
            "sessions": [
                {
                    "link": session_url(each.session),
                    "title": self._clean(each.title or each.first_prompt, 100) or "(no prompt)",
                    "when": as_time(each.ended),
                    "edits": plural(count, "edit"),
                }
                for each, count in file.edits[:SESSIONS]
            ],
        }

    def _changed_files(self, snapshot: SummarySnapshot) -> dict[str, FileItem]:
        if self._known[0] != snapshot.version:
            self._known = snapshot.version, list_changed_files(snapshot.summaries.values())
        return self._known[1]

    def _snapshot(self) -> SummarySnapshot:
        """Return the summaries of the sessions; the first time that takes longer."""
        summaries = self._state.summaries
        return summaries.current(0.1 if summaries.snapshot.is_loaded else FIRST_SECONDS)

    def _key(self, path: str) -> str:
        """Return what an address names a file by: its path, or a hash if the path contains a secret."""
        return path if self._clean(path) == path else sha256(path.encode("utf-8", "replace")).hexdigest()

    def _clean(self, text: str, width: int = 0) -> str:
        return self._state.clean_text(text, width)

    # -- one file

    def _blame(self, path: str, first: int) -> dict[str, Any]:
        files = self._changed_files(self._snapshot())
        file = files.get(normalize_path(path)) if path else None
        if file is None and len(path) == HASH_LENGTH:
            file = next((each for each in files.values() if self._key(each.path) == path), None)
        if file is None:
            raise NotFound(path, "changed file", hint="The list of files has those that sessions changed.")
        wanted = normalize_path(file.path)
        calls = [
            call for call in sort_changes(self._calls(file)) if not call.failed and normalize_path(call.path) == wanted
        ]
        found = blame_records(file.path, calls)
        colours: dict[str, int] = {}
        for call in calls:
            colours.setdefault(call.session, len(colours) % COLOURS + 1)
        titles = {
            each.session: self._clean(each.title or each.first_prompt, 80) or "(no prompt)" for each in file.sessions
        }
        lines = self._lines(found, first, colours) if found else []
        folder, name = _split(relative_path(file.path, file.sessions[0].cwd))
        count = len(found.lines) if found else 0
        return {
            "key": self._key(file.path),
            "path": self._clean(file.path),
            "name": self._clean(name),
            "folder": self._clean(folder),
            "project": self._clean(_base(file.sessions[0].cwd)),
            "runs": lines,
            "count": count,
            "summary": _summarize(found) if found else "",
            "sessions": [(number, session_url(each), titles.get(each, "")) for each, number in colours.items()],
            "changes": [self._change(call, colours) for call in reversed(calls) if call.tool != "Read"],
            "earlier": max(1, first - LINES_PER_PAGE) if first > 1 else 0,
            "later": first + LINES_PER_PAGE if first + LINES_PER_PAGE <= count else 0,
        }

    def _calls(self, file: FileItem) -> Iterator[RecordedChange]:
        """Yield what the sessions recorded about a file; sessions that cannot be read any more are left out."""
        names = [os.path.basename(file.path.replace("\\", "/"))]
        for summary in file.sessions:
            try:
                found = self._state.shelf.find(summary.session)
                yield from changes_of(Session(found.path, file=found), tools=(*WRITING_TOOLS, "Read"), names=names)
            except (NotFound, *READ_ERRORS):
                continue

    def _lines(self, found: Blame, first: int, colours: dict[str, int]) -> list[dict[str, Any]]:
        """Return the lines of a page in runs that the same change wrote."""
        texts = [clean(line.text).replace("\n", " ") for line in found.lines]
        if not self._state.is_revealed:
            texts = mask_lines(texts)
        text = "\n".join(texts)
        html = [Markup(render_line(line)) for line in token_lines(text, file_language(found.path)) or plain_lines(text)]
        stop = min(len(texts), first - 1 + LINES_PER_PAGE)
        runs = []
        for _, group in groupby(found.lines[first - 1 : stop], key=_author):
            lines = list(group)
            change = lines[0].change
            shown = self._change(change, colours) if change else {"reason": lines[0].reason}
            runs.append({**shown, "lines": [(line.number, html[line.number - 1]) for line in lines]})
        return runs

    def _change(self, change: RecordedChange, colours: dict[str, int]) -> dict[str, Any]:
        base = session_url(change.session)
        return {
            "colour": colours[change.session],
            "link": f"{base}/turn/{change.turn}" if change.turn else base,
            "turn": f"turn {change.turn}" if change.turn else "turn unknown",
            "prompt": self._clean(change.prompt, 120) or "(no text)",
            "when": change.time,
            "by": " (agent)" if change.agent else "",
            "added": change.added,
            "removed": change.removed,
            "tool": self._clean(change.tool),
            "reason": "",
        }


def _author(line: BlamedLine) -> tuple[str, int, str, str]:
    change = line.change
    return (change.session, change.turn, change.agent, "") if change else ("", 0, "", line.reason)


def _summarize(found: Blame) -> str:
    known = sum(line.change is not None for line in found.lines)
    sessions = len({line.change.session for line in found.lines if line.change})
    lines = plural(len(found.lines), "line")
    return (
        f"{lines}, {known} of them written in {plural(sessions, 'session')}"
        if known
        else f"{lines}, none of them written by a recorded change"
    )


def _split(path: str) -> tuple[str, str]:
    """Return the folder of a path with its separator, and the name."""
    end = max(path.rfind("/"), path.rfind("\\")) + 1
    return path[:end], path[end:]


def _base(path: str) -> str:
    return _split(path.rstrip("/\\"))[1]
