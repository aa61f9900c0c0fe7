"""The page of a session whose transcript is gone: where it is known from, what is left of it, and the next step."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from clew.collect.archive.archived_sessions import ArchivedSessions
from clew.conversation.session_listing import Outline
from clew.index.gone_sessions import describe_gone
from clew.index.results import SearchResult
from clew.system.file_errors import ErrorCollector
from clew.system.plural import plural
from clew.web.app_state import AppState
from clew.wire.known_sessions import ListedSession, list_gone_sessions
from clew.wire.layout import SessionFile, Tree

MAX_PROMPTS = 200  # lines of prompts


class GonePage:
    """Describes sessions that only the index, the prompt history or the archive of a Claude folder knows."""

    def __init__(self, state: AppState, claude: str | None) -> None:
        self._state, self._claude = state, claude

    async def full_page(self, request: Request, session: str) -> Response | None:
        """Return the page of a session that is gone; None if nothing knows it."""
        values = await asyncio.to_thread(self._values, session)
        if values is None:
            return None
        return self._state.renderer.page(request, "gone", values["name"], 410, **values)

    def _values(self, session: str) -> dict[str, Any] | None:
        archive = ArchivedSessions(self._claude)
        listed = next((each for each in list_gone_sessions(self._state.shelf.tree) if each.session == session), None)
        result = SearchResult(session)
        result.gone, result.gone_since = archive.find(session)
        result.gone = result.gone or (listed.source if listed else "")
        if not result.gone:
            return None
        outline = _archived_outline(archive.folder, session)
        sentence = describe_gone(result)
        clean = self._state.clean_text
        facts = _facts(listed, outline)
        return {
            "name": clean(_title(listed, outline), 160) or "(no prompt)",
            "sentence": clean(f"{sentence[0].upper()}{sentence[1:]}."),
            "facts": [clean(fact) for fact in facts if fact],
            "command": result.command,
            "prompts": [clean(line) for line in _prompt_lines(listed)],
        }


def _archived_outline(folder: str, session: str) -> Outline | None:
    """Return the outline of the archived copy of a session, if it can be read."""
    if not folder:
        return None
    files = (file for project in Tree(Path(folder)).projects() for file in project.sessions() if file.id == session)
    file: SessionFile | None = next(files, None)
    with ErrorCollector().catch(folder):
        return Outline(file) if file else None
    return None


def _title(listed: ListedSession | None, outline: Outline | None) -> str:
    if outline and outline.title:
        return outline.title
    return (listed.title or listed.first_prompt) if listed else ""


def _facts(listed: ListedSession | None, outline: Outline | None) -> list[str]:
    """Return the folder, branch, last time and number of messages, as far as they are known."""
    folder = (outline.cwd if outline else None) or (listed.project if listed else "")
    branch = (outline.branch_name if outline else None) or (listed.branch if listed else "")
    when = (outline.when if outline else None) or (listed.ended if listed else None)
    count = listed.messages if listed else 0
    messages = plural(count, "prompt" if listed and listed.source == "history" else "message")
    return [folder, branch, f"{when:%Y-%m-%d %H:%M} UTC" if when else "", messages if count else ""]


def _prompt_lines(listed: ListedSession | None) -> list[str]:
    lines = [line for line in listed.first_prompt.splitlines() if line.strip()] if listed else []
    return lines[:MAX_PROMPTS]
