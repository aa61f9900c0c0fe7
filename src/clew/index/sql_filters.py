"""Filters: the conditions of a query in SQL. They are part of the match, so that a limit counts real hits."""

from __future__ import annotations

import os

from clew.index.index_schema import FIELDS
from clew.index.query_syntax import COMPLEXITIES, INPUTS, ROUND_KINDS, Term, round_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from clew.index.query_syntax import Query

_NUMBER = {name: number for number, name in enumerate(FIELDS)}
_WHEN = "coalesce(p.time, (SELECT ended FROM file WHERE id=p.file))"


class Conditions:
    """What must hold of a file `f` and of a piece `p`, each with its values."""

    __slots__ = ("file", "file_values", "piece", "piece_values")

    def __init__(self) -> None:
        self.file: list[str] = []
        self.file_values: list[Any] = []
        self.piece: list[str] = []
        self.piece_values: list[Any] = []

    @property
    def on_files(self) -> str:
        return " AND ".join(self.file) or "1"

    @property
    def on_pieces(self) -> tuple[str, list[Any]]:
        """All of them as one condition on pieces."""
        if not self.file:
            return " AND ".join(self.piece), self.piece_values
        inside = f"p.file IN (SELECT f.id FROM file f WHERE {self.on_files})"
        return " AND ".join([inside, *self.piece]), [*self.file_values, *self.piece_values]


def conditions(query: Query, parents: Callable[[], Iterable[str]]) -> Conditions:
    """The conditions of a query; `parents` are the sessions that have agents, asked for when needed."""
    made = Conditions()
    numbers = ",".join(str(_NUMBER[place]) for place in query.places)
    made.piece.append(f"p.field IN ({numbers})")
    is_listing = not query.clauses and not query.is_about_pieces
    for name, asked in query.filters.items():
        plain = name.removeprefix("-")
        if plain in ("in", "role"):
            continue
        each = [_one(plain, value, query, parents, is_listing) for value in asked]
        for group in [[one] for one in each] if plain in ("since", "until", "is") else [each]:
            joined = " OR ".join(part for part, _, _ in group)
            parts, kept = (made.file, made.file_values) if group[0][2] else (made.piece, made.piece_values)
            parts.append(f"{'NOT ' if name != plain else ''}({joined})")
            kept.extend(value for _, given, _ in group for value in given)
    return made


def _one(
    name: str, value: str, query: Query, parents: Callable[[], Iterable[str]], is_listing: bool
) -> tuple[str, list[Any], bool]:
    """A condition, its values, and whether it is one on files."""
    if name in ("since", "until"):
        from clew.wire.timestamps import moment

        when = [int(moment(value).timestamp())]
        if is_listing:
            return ("f.ended >= ?" if name == "since" else "f.started < ?"), when, True
        return f"{_WHEN} {'>=' if name == 'since' else '<'} ?", when, False
    if name == "tool":
        names = [_like(value).replace("*", "%")]
        return "p.tool IN (SELECT id FROM tool WHERE name LIKE ? ESCAPE '\\')", names, False
    if name == "is" and value == "error":
        is_open = query.clauses or query.filters.keys() & {"in", "role"}
        return "p.failed=1" if is_open else f"p.failed=1 AND p.field={_NUMBER['result']}", [], False
    if name == "input":
        return "p.input=?", [INPUTS.index(value) + 1], False
    if name == "round":
        return *_round(value), False
    if name == "file":
        return _file(value, bool(query.clauses))
    return *_on_file(name, value, parents), True


def _round(value: str) -> tuple[str, list[Any]]:
    """Passages in a round of a number, a kind or a complexity. `class` holds the last two, as `learn` notes them."""
    if value in ROUND_KINDS:
        return "p.class/4=?", [ROUND_KINDS.index(value) + 1]
    if value in COMPLEXITIES:
        return "p.class%4=?", [COMPLEXITIES.index(value) + 1]
    return "p.round BETWEEN ? AND ?", list(round_range(value) or (0, 0))


def _on_file(name: str, value: str, parents: Callable[[], Iterable[str]]) -> tuple[str, list[Any]]:
    if name == "project":
        return _project(value)
    if name == "branch":
        return r"char(10) || f.branches || char(10) LIKE ? ESCAPE '\'", [f"%\n{_like(value).replace('*', '%')}\n%"]
    if name == "model":
        return r"f.models LIKE ? ESCAPE '\'", [f"%{_like(value)}%"]
    if name == "id":
        return r"f.session LIKE ? ESCAPE '\'", [f"{_like(value)}%"]
    if name == "has":
        known = ",".join(f'"{session}"' for session in parents() if session.replace("-", "").isalnum())
        return "f.session IN (SELECT value FROM json_each(?))", [f"[{known}]"]
    return "f.agent<>''", []


def _project(value: str) -> tuple[str, list[Any]]:
    """A path for the project in it or below it; anything else is a part of one."""
    cwd = "coalesce(f.cwd, '')"
    if value.startswith((".", "~", "/")) or value[1:2] == ":":
        path = value if value[1:2] == ":" else os.path.abspath(os.path.expanduser(value))
        both = list(dict.fromkeys((path, os.path.realpath(path))))
        either = " OR ".join(rf"{cwd}=? OR {cwd} LIKE ? ESCAPE '\'" for _ in both)
        return f"({either})", [given for one in both for given in (one, f"{_like(one.rstrip('/'))}/%")]
    return rf"({cwd} LIKE ? ESCAPE '\' OR f.folder LIKE ? ESCAPE '\')", [f"%{_like(value)}%"] * 2


def _file(value: str, has_words: bool) -> tuple[str, list[Any], bool]:
    """Calls that were given a file, by its name or a part of its path; beside words the transcripts with such calls."""
    term = Term(value.rstrip("*"), value.endswith("*"))
    field = _NUMBER["input"]
    if not term.words:
        return "0", [], False
    if has_words:
        calls = f"SELECT c.file FROM done JOIN piece c ON c.id=done.rowid WHERE done MATCH ? AND c.field={field}"
        return f"f.id IN ({calls})", [term.match], True
    return f"p.field={field} AND p.id IN (SELECT rowid FROM done WHERE done MATCH ?)", [term.match], False


def _like(value: str) -> str:
    """Literal text for LIKE."""
    return value.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
