"""Filters: the conditions of a query in SQL. They are part of the match, so that a limit counts real hits."""

from __future__ import annotations

import os

from clew.index.query import Query, Term
from clew.index.schema import FIELDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_NUMBER = {name: number for number, name in enumerate(FIELDS)}


def conditions(query: Query) -> tuple[str, list[Any]]:
    """A condition over `piece p` and `file f`, with its values."""
    parts: list[str] = []
    values: list[Any] = []

    def add(part: str, *given: Any) -> None:
        parts.append(part)
        values.extend(given)

    places = query.places
    add(f"p.field IN ({','.join('?' * len(places))})", *(_NUMBER[place] for place in places))
    for name, asked in query.filters.items():
        plain = name.removeprefix("-")
        made = [one for value in asked if (one := _one(plain, value))]
        if made:
            either = " OR ".join(condition for condition, _ in made)
            add(f"{'NOT ' if name != plain else ''}({either})", *(v for _, given in made for v in given))
    return " AND ".join(parts), values


def _one(name: str, value: str) -> tuple[str, list[Any]] | None:
    if name in ("since", "until"):
        from clew.wire.time import moment

        return f"p.time {'>=' if name == 'since' else '<'} ?", [int(moment(value).timestamp())]
    if name == "project":
        return _project(value)
    if name == "branch":
        return r"char(10) || f.branches || char(10) LIKE ? ESCAPE '\'", [f"%\n{_like(value)}\n%"]
    if name == "model":
        return r"f.models LIKE ? ESCAPE '\'", [f"%{_like(value)}%"]
    if name == "tool":
        return "p.tool IN (SELECT id FROM tool WHERE name LIKE ? ESCAPE '\\')", [_like(value).replace("*", "%")]
    if name == "file":
        return _file(value)
    if name == "id":
        return r"f.session LIKE ? ESCAPE '\'", [f"{_like(value)}%"]
    if name == "is":
        return ("p.failed=1", []) if value == "error" else ("f.agent<>''", [])
    if name == "has":
        return "f.session IN (SELECT session FROM file WHERE agent<>'')", []
    return None


def _project(value: str) -> tuple[str, list[Any]]:
    """A path for the project in it or below it; anything else is a part of one."""
    if value.startswith((".", "~", "/")) or value[1:2] == ":":
        path = os.path.realpath(os.path.expanduser(value))
        return r"(f.cwd=? OR f.cwd LIKE ? ESCAPE '\')", [path, f"{_like(path)}/%"]
    return r"(f.cwd LIKE ? ESCAPE '\' OR f.folder LIKE ? ESCAPE '\')", [f"%{_like(value)}%"] * 2


def _file(value: str) -> tuple[str, list[Any]]:
    """Calls that were given a file, by its name or a part of its path."""
    term = Term(value)
    if not term.words:
        return "0", []
    return f"(p.field={_NUMBER['input']} AND p.id IN (SELECT rowid FROM done WHERE done MATCH ?))", [term.match]


def _like(value: str) -> str:
    """Literal text for LIKE."""
    return value.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
