"""Result types of refreshing, embedding and searching."""

from __future__ import annotations

from clew.index.snippet import Passage
from clew.system import shell_quoting
from clew.system.plural import plural

_MAX_COPIES = 3  # named in the text of a result


class Refreshed:
    """The result of a refresh: files read, passages added, and whether the index is complete now.

    `rebuilt` says that an existing index had to be rebuilt, and `reason` why; `left` counts the files not read yet, and
    `skipped` has the paths of unreadable ones.
    """

    __slots__ = ("files", "is_complete", "left", "pieces", "reason", "rebuilt", "skipped")

    def __init__(self, files: int = 0, pieces: int = 0, is_complete: bool = True, left: int = 0) -> None:
        self.files, self.pieces, self.is_complete, self.left = files, pieces, is_complete, left
        self.rebuilt = False
        self.reason = ""
        self.skipped: list[str] = []


class Embedded:
    """The result of embedding: texts and passages added, and texts left; `is_elsewhere` if another process embeds.

    `reason` says why existing vectors had to be rebuilt.
    """

    __slots__ = ("is_elsewhere", "left", "passages", "reason", "texts")

    def __init__(self, left: int = 0, is_elsewhere: bool = False) -> None:
        self.texts = self.passages = 0
        self.left, self.is_elsewhere, self.reason = left, is_elsewhere, ""

    @property
    def is_complete(self) -> bool:
        return not self.left and not self.is_elsewhere


class SearchResult:
    """A session that matches a query, best passages first; `matches` counts the ranked passages.

    `gone` is the source of a session whose transcript is gone: index, history, archive or reconstructed; `gone_since` is
    when the transcript was first missing, if known, and `prompts` what the index or history has of its prompts.
    `grade` is how closely it matches (see graded_search); `missing` are the words that its best passage lacks, and
    `covered` is how much of the query it has, by the weight of the words.
    `copies` are sessions that match in the same messages only: forks and clones.
    `similarity` is that of its nearest passage, from 0 to 1, if it was found by a semantic search.
    """

    __slots__ = (
        *(
            "agents",
            "best",
            "branch",
            "copies",
            "covered",
            "cwd",
            "ended",
            "folder",
            "gone",
            "gone_since",
            "grade",
            "in_agents_only",
        ),
        *(
            "matches",
            "messages",
            "missing",
            "model",
            "passages",
            "path",
            "prompts",
            "score",
            "session",
            "similarity",
            "started",
        ),
        *("tag", "title", "titles"),
    )

    def __init__(self, session: str) -> None:
        self.session = session
        self.title = self.cwd = self.branch = self.folder = self.path = self.model = ""
        self.gone = self.prompts = self.tag = ""
        self.gone_since: int | None = None
        self.started: int | None = None
        self.ended: int | None = None
        self.messages = self.matches = 0
        self.best = self.score = 0.0
        self.similarity: float | None = None
        self.in_agents_only = False
        self.grade = "exact"
        self.missing: list[str] = []
        self.covered = 1.0
        self.copies: list[str] = []
        self.titles: list[tuple[str, str]] = []
        self.agents: set[str] = set()
        self.passages: list[Passage] = []

    @property
    def command(self) -> str:
        """The command that resumes it in the folder `cwd`; if its transcript is gone, the next step or ""."""
        return next_command(self.session, self.gone)

    @property
    def looseness(self) -> str:
        """How the session matches if not exactly, and its copies, in a few words; "" for the only exact match."""
        words = f"without: {', '.join(self.missing)}" if self.missing else LOOSENESS.get(self.grade, "")
        if not self.copies:
            return words
        ids = " ".join(id[:8] for id in self.copies[:_MAX_COPIES]) + (" …" if len(self.copies) > _MAX_COPIES else "")
        return f"{words and f'{words} · '}+{plural(len(self.copies), 'copy', 'copies')}: {ids}"

    def __repr__(self) -> str:
        return f"Result({self.session!r}, {self.title!r}, {plural(self.matches, 'match')})"


LOOSENESS = {
    "endings": "other forms of the words",
    "parts": "parts of names",
    "session": "in this project, branch or title",
    "most": "most of the words",
    "scattered": "not in one passage",
    "substring": "part of a word",
}


class SearchResults(list[SearchResult]):
    """Sessions, best first; `instead` is the corrected query if the original one has no matches.

    `unlisted` counts the sessions that only the prompt history knows and that a list without words omits. `total` counts
    all sessions that match if the search has a page size; unless `is_total_exact`, there are at least that many.
    """

    instead: str = ""
    unlisted: int = 0
    total: int = 0
    is_total_exact: bool = False


def next_command(session: str, gone: str) -> str:
    """Return the command that resumes a session; if it is gone, the one that restores or shows it, or ""."""
    if not gone:
        return shell_quoting.join_command(shell_quoting.resume_arguments(session))
    command = {"archive": "restore", "reconstructed": "show"}.get(gone)
    return shell_quoting.session_command(command, session, full_id=True) if command else ""
