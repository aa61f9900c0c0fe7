"""Record what the results of calls say beyond the conversation: pull requests and todo lists."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct, field

from clew.chat.store import journal_lines
from clew.chat.store.journal import Journal
from clew.chat.tools.tool import CallResult, text_of
from clew.wire.json_codec import Json, encode
from clew.wire.session_writer import replace

_PULL_REQUEST = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+)/pull/(\d+)")


class ResultRecords(Struct):
    """The records of one session, shared by its subagents."""

    pull_requests: set[str] = field(default_factory=set)  # URLs that are already in the file
    todo_folder: Path | None = None  # folder of the todo lists; None to write none

    def add(self, result: CallResult, journal: Journal, todos: Sequence[Json]) -> None:
        """Record a result that a conversation received; `todos` is its todo list now."""
        if not journal.is_agent:
            self._link(result, journal)
        if self.todo_folder is not None and isinstance(result.detail, dict) and "newTodos" in result.detail:
            self._save_todos(self.todo_folder, journal, todos)

    def _link(self, result: CallResult, journal: Journal) -> None:
        """Record the pull requests that a result names, such as the one that `gh pr create` prints."""
        for match in _PULL_REQUEST.finditer(text_of(result.content)):
            url, repository, number = match[0], match[1], int(match[2])
            if url not in self.pull_requests:
                self.pull_requests.add(url)
                session_id, time = journal.envelope.session_id, journal.time()
                journal.beside(journal_lines.pull_request(number, url, repository, session_id, time))

    @staticmethod
    def _save_todos(folder: Path, journal: Journal, todos: Sequence[Json]) -> None:
        """Save the todo list to its side file, where older versions look for it; a completed list is saved empty."""
        is_open = any(todo.get("status") != "completed" for todo in todos)
        session_id = journal.envelope.session_id
        owner = journal.envelope.agent_id or session_id
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace(folder / f"{session_id}-agent-{owner}.json", encode(list(todos) if is_open else []))
