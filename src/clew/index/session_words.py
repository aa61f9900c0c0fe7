"""Find sessions by what describes them: project, branch, titles, tags, pull requests and id.

These words count for every passage of a session. `tide-gauge rounding` finds a passage about rounding in a session of
the project tide-gauge, although the passage does not name the project.
"""

from __future__ import annotations

from clew.index.query_syntax import Clause, Query
from clew.index.snippet import find_spans, lower_in_place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from clew.index.query_syntax import Term

MAX_SESSIONS = 500  # with a word; a word of more sessions does not tell them apart
MIN_ID = 8  # digits of an id
_ID_LETTERS = frozenset("0123456789abcdef-")
_COLUMNS = (
    "coalesce(cwd, '')",
    "branches",
    "labels",
    "coalesce(custom, '')",
    "coalesce(made, '')",
    "coalesce(summary, '')",
)


def is_id(query: Query) -> bool:
    """Return whether a query is a session id, or the beginning of one."""
    if len(query.clauses) != 1 or len(query.clauses[0].terms) != 1 or query.clauses[0].negated:
        return False
    text = query.clauses[0].terms[0].text.lower()
    return len(text) >= MIN_ID and _ID_LETTERS.issuperset(text) and any(map(str.isdigit, text))


def without_session_words(shards: Sequence[apsw.Connection], query: Query) -> Query | None:
    """Return the query without the words that describe sessions, restricted to these sessions.

    None if no word describes a session, or no other word is left.
    """
    remaining: list[Clause] = []
    common: set[str] | None = None
    for clause in query.clauses:
        sessions = set() if clause.negated else _find_sessions(shards, clause)
        together = sessions if common is None else sessions & common
        if not together:
            remaining.append(clause)
        else:
            common = together
    if common is None or not any(not clause.negated for clause in remaining):
        return None
    ids = ",".join(f'"{session}"' for session in common if session.replace("-", "").isalnum())
    return Query(query.text, remaining, {**query.filters, "sessions": [f"[{ids}]"]})


def _find_sessions(shards: Sequence[apsw.Connection], clause: Clause) -> set[str]:
    """Return the sessions that one of the terms of a clause describes; none if these are too many."""
    from clew.index.word_forms import stems

    first = clause.terms[0].words[0]
    start = min(first, stems([first])[0], key=len)  # a part of every other form, except for a final y
    pattern = f"%{start.rstrip('iy') or start}%"
    condition = " OR ".join(f"{column} LIKE ?" for column in _COLUMNS)
    statement = f"SELECT session, {', '.join(_COLUMNS)} FROM file WHERE agent='' AND side='' AND ({condition})"
    sessions = set()
    for shard in shards:
        for session, cwd, *texts in shard.execute(statement, (pattern,) * len(_COLUMNS)):
            if _describes([_project_name(cwd), *texts], clause.terms):
                sessions.add(session)
    return sessions if len(sessions) <= MAX_SESSIONS else set()


def _project_name(cwd: str) -> str:
    """Return the last two folders of a path, which are what people call a project."""
    return " ".join(cwd.replace("\\", "/").rstrip("/").split("/")[-2:])


def _describes(texts: list[str], terms: Sequence[Term]) -> bool:
    lowered = lower_in_place("\n".join(texts))
    return any(any(find_spans(lowered, term)) for term in terms)
