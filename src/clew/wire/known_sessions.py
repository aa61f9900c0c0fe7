"""Sessions in Claude Code's own lists: `sessions-index.json` of each project and the prompt history."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from clew.system.file_errors import ErrorCollector
from clew.wire.layout import Tree
from clew.wire.prompt_history import HistoryPrompt, prompts, read_history
from clew.wire.side_files import IndexEntry, read_index

INDEX, HISTORY = "index", "history"
SOURCE_NAMES = {INDEX: "the index", HISTORY: "the prompt history", "archive": "the archive"}


class ListedSession(NamedTuple):
    """A session in one of the lists; `has_file` says whether its transcript exists."""

    session: str
    source: str
    title: str
    first_prompt: str
    project: str
    branch: str
    started: datetime | None
    ended: datetime | None
    messages: int
    has_file: bool

    @property
    def sentence(self) -> str:
        """Describe a session whose transcript is gone."""
        return f"only in {SOURCE_NAMES[self.source]}: the transcript is gone"


def list_known_sessions(tree: Tree, fence: ErrorCollector | None = None) -> list[ListedSession]:
    """Return every session of the lists; those of the history only if neither a file nor an index has them.

    Lists that cannot be read are skipped and reported by the fence.
    """
    fence = fence or ErrorCollector()
    files = {id for project in tree.projects() for id in project.session_ids()}
    indexed = {}
    for project in tree.projects():
        with fence.catch(project.folder):
            index = read_index(project.index) if project.index else None
            for entry in index.entries if index else ():
                if not entry.is_sidechain:
                    indexed[entry.session_id.lower()] = _from_index(entry, entry.session_id.lower() in files)
    history: dict[str, list[HistoryPrompt]] = {}
    with fence.catch(tree.history):
        skip = files | indexed.keys()
        for prompt in prompts(read_history(tree.history, skip)):
            id = (prompt.session_id or "").lower()
            if id and id not in skip:
                history.setdefault(id, []).append(prompt)
    return [*indexed.values(), *map(_from_history, history.values())]


def list_gone_sessions(tree: Tree, fence: ErrorCollector | None = None) -> list[ListedSession]:
    """Return the sessions whose transcript is gone, newest first."""
    missing = [known for known in list_known_sessions(tree, fence) if not known.has_file]
    return sorted(missing, key=lambda known: -known.ended.timestamp() if known.ended else 0.0)


def _from_index(entry: IndexEntry, has_file: bool) -> ListedSession:
    title = entry.custom_title or entry.summary or ""
    names = (title, entry.first_prompt, entry.project_path, entry.git_branch)
    return ListedSession(entry.session_id, INDEX, *names, entry.created, entry.modified, entry.message_count, has_file)


def _from_history(history: Sequence[HistoryPrompt]) -> ListedSession:
    times = sorted(prompt.time for prompt in history if prompt.time)
    text = "\n".join(prompt.text for prompt in history)
    first, last = (times[0], times[-1]) if times else (None, None)
    return ListedSession(
        history[0].session_id or "", HISTORY, "", text, history[0].project or "", "", first, last, len(history), False
    )
