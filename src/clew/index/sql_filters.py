"""Translate query filters into SQL conditions, so that a LIMIT counts only passages that pass them."""

from __future__ import annotations

import os

from clew.index.index_schema import CODE_BITS, CODES
from clew.index.query_syntax import COMPLEXITIES, INPUTS, ROUND_KINDS, SEARCH_FIELDS, Term, round_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from clew.index.query_syntax import Query

_FIELD_NUMBER = {name: number for number, name in enumerate(SEARCH_FIELDS)}
_PIECE_TIME = "coalesce(p.time, (SELECT ended FROM file WHERE id=p.file))"


class Conditions:
    """Conditions on a file `f`, on the field of a piece `p`, and on the piece, each with its values."""

    __slots__ = ("field", "file", "file_values", "piece", "piece_values")

    def __init__(self, field: str) -> None:
        self.field = field
        self.file: list[str] = []
        self.file_values: list[Any] = []
        self.piece: list[str] = []
        self.piece_values: list[Any] = []

    @property
    def on_files(self) -> str:
        return " AND ".join(self.file) or "1"

    @property
    def are_on_ids(self) -> bool:
        """Whether the id of a piece tells whether they hold."""
        return not self.file and not self.piece

    @property
    def on_pieces(self) -> tuple[str, list[Any]]:
        """All conditions as one on pieces, with its values."""
        where, values = self.on_spoken
        return f"{where} AND {self.field}", values

    @property
    def on_spoken(self) -> tuple[str, list[Any]]:
        """The same for pieces of the table `said`, whose columns are fields, so that a match is in the right field."""
        inside = [f"p.file IN (SELECT f.id FROM file f WHERE {self.on_files})"] if self.file else []
        return " AND ".join([*inside, *self.piece]) or "1", [*self.file_values, *self.piece_values]


def build_conditions(query: Query, parents: Callable[[], Iterable[str]]) -> Conditions:
    """Return the conditions of a query; `parents` yields the sessions that have agents, and is called if needed."""
    fields = set(query.fields)
    codes = ",".join(str(code) for code, (field, _) in enumerate(CODES) if field in fields)
    result = Conditions(f"(p.rowid&{(1 << CODE_BITS) - 1}) IN ({codes})")
    is_listing = not query.clauses and not query.filters_passages
    for name, values in query.filters.items():
        plain = name.removeprefix("-")
        if plain in ("in", "role"):
            continue
        parts_of_filter = [_condition(plain, value, query, parents, is_listing) for value in values]
        for group in (
            [[part_of_filter] for part_of_filter in parts_of_filter]
            if plain in ("since", "until", "is")
            else [parts_of_filter]
        ):
            joined = " OR ".join(part for part, _, _ in group)
            parts, part_values = (
                (result.file, result.file_values) if group[0][2] else (result.piece, result.piece_values)
            )
            parts.append(f"{'NOT ' if name != plain else ''}({joined})")
            part_values.extend(value for _, group_values, _ in group for value in group_values)
    return result


def _condition(
    name: str, value: str, query: Query, parents: Callable[[], Iterable[str]], is_listing: bool
) -> tuple[str, list[Any], bool]:
    """Return a condition, its values, and whether it is on files."""
    if name in ("since", "until"):
        from clew.wire.timestamps import parse_user_time

        when = [int(parse_user_time(value).timestamp())]
        if is_listing:
            column = "f.ended" if name == "since" else "f.started"  # the rule of `content_time.is_within`
            return f"coalesce({column}, f.mtime / 1000000000) {'>=' if name == 'since' else '<'} ?", when, True
        return f"{_PIECE_TIME} {'>=' if name == 'since' else '<'} ?", when, False
    if name == "tool":
        names = [_escape_like(value).replace("*", "%")]
        return "p.tool IN (SELECT id FROM tool WHERE name LIKE ? ESCAPE '\\')", names, False
    if name == "is" and value == "error":
        is_open = query.clauses or query.filters.keys() & {"in", "role"}
        return "p.failed=1" if is_open else f"p.failed=1 AND p.field={_FIELD_NUMBER['result']}", [], False
    if name == "input":
        return "p.input=?", [INPUTS.index(value) + 1], False
    if name == "round":
        return *_round_condition(value), False
    if name == "file":
        return _argument_condition(value, bool(query.clauses))
    return *_file_condition(name, value, parents), True


def _round_condition(value: str) -> tuple[str, list[Any]]:
    """Return the condition for a round number, kind or complexity. `class` has the last two, as `_round_class` packs
    them.
    """
    if value in ROUND_KINDS:
        return "p.class/4=?", [ROUND_KINDS.index(value) + 1]
    if value in COMPLEXITIES:
        return "p.class%4=?", [COMPLEXITIES.index(value) + 1]
    return "p.round BETWEEN ? AND ?", list(round_range(value) or (0, 0))


def _file_condition(name: str, value: str, parents: Callable[[], Iterable[str]]) -> tuple[str, list[Any]]:
    if name == "project":
        return _project_condition(value)
    if name == "branch":
        return r"char(10) || f.branches || char(10) LIKE ? ESCAPE '\'", [
            f"%\n{_escape_like(value).replace('*', '%')}\n%"
        ]
    if name == "model":
        return r"f.models LIKE ? ESCAPE '\'", [f"%{_escape_like(value)}%"]
    if name == "id":
        return r"f.session LIKE ? ESCAPE '\'", [f"{_escape_like(value)}%"]
    if name == "tag":
        return r"f.tag LIKE ? ESCAPE '\'", [_escape_like(value).replace("*", "%")]
    if name == "sessions":
        return "f.session IN (SELECT value FROM json_each(?))", [value]
    if name == "has":
        known = ",".join(f'"{session}"' for session in parents() if session.replace("-", "").isalnum())
        return "f.session IN (SELECT value FROM json_each(?))", [f"[{known}]"]
    return "f.agent<>''", []


def _project_condition(value: str) -> tuple[str, list[Any]]:
    """Match a path for projects at or below it; anything else as part of the project's path."""
    cwd = "coalesce(f.cwd, '')"
    if value.startswith((".", "~", "/")) or value[1:2] == ":":
        path = value if value[1:2] == ":" else os.path.abspath(os.path.expanduser(value))
        both = list(dict.fromkeys((path, os.path.realpath(path))))
        either = " OR ".join(rf"{cwd}=? OR {cwd} LIKE ? ESCAPE '\'" for _ in both)
        return f"({either})", [
            sql_value for folder in both for sql_value in (folder, f"{_escape_like(folder.rstrip('/'))}/%")
        ]
    return rf"({cwd} LIKE ? ESCAPE '\' OR f.folder LIKE ? ESCAPE '\')", [f"%{_escape_like(value)}%"] * 2


def _argument_condition(value: str, has_words: bool) -> tuple[str, list[Any], bool]:
    """Match calls with a file argument, by its name or part of its path; in a query with words, transcripts with
    such calls.
    """
    term = Term(value.rstrip("*"), value.endswith("*"))
    field = _FIELD_NUMBER["input"]
    if not term.words:
        return "0", [], False
    if has_words:
        calls = f"SELECT c.file FROM done JOIN piece c ON c.id=done.rowid WHERE done MATCH ? AND c.field={field}"
        return f"f.id IN ({calls})", [term.match], True
    return f"p.field={field} AND p.id IN (SELECT rowid FROM done WHERE done MATCH ?)", [term.match], False


def _escape_like(value: str) -> str:
    """Escape text for LIKE."""
    return value.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
