"""Split a search query into its parts: words, phrases, filters, operators and brackets."""

from __future__ import annotations

from clew.errors import BadQuery

FILTER_NAMES = (
    *("project", "branch", "model", "tool", "file", "role", "since", "until", "in", "is", "has", "id"),
    *("input", "round", "tag"),
)


class Piece:
    """A part of a query: an operator (OR, AND, NOT or a bracket), a filter, a word or a phrase."""

    __slots__ = ("name", "negated", "operator", "position", "quoted", "value")

    def __init__(self, position: int, operator: str = "", negated: bool = False) -> None:
        self.position, self.operator, self.negated = position, operator, negated
        self.name = self.value = ""
        self.quoted = False


def split_query(text: str, typing: bool) -> list[Piece]:
    """Split a query into its parts. Brackets count only in pairs: `(` before a word and `)` after one."""
    pieces: list[Piece] = []
    open_groups: list[int] = []
    position, size = 0, len(text)
    while position < size:
        if text[position].isspace():
            position += 1
            continue
        after = text[position + 1 : position + 2]
        negated = text[position] == "-" and bool(after) and not after.isspace() and after != "-"
        start, position = position, position + negated
        if text[position] == "(" and text[position + 1 : position + 2].strip():
            open_groups.append(len(pieces))
            pieces.append(Piece(start, "(", negated))
            position += 1
            continue
        piece = Piece(start, negated=negated)
        piece.name = _filter_name(text, position)
        position += len(piece.name) + 1 if piece.name else 0
        piece.value, position, piece.quoted = _read_value(text, position, typing)
        closing = _closing_brackets(piece, len(open_groups))
        if closing:
            piece.value = piece.value[:-closing]
        if piece.value in _OPERATORS and not (piece.quoted or piece.name or negated):
            piece.operator, piece.value = piece.value, ""
        if piece.value or piece.operator or piece.name or not closing:
            pieces.append(piece)
        if piece.quoted:
            closing = min(len(open_groups), len(text[position:]) - len(text[position:].lstrip(")")))
            position += closing
        for _ in range(closing):
            open_groups.pop()
            pieces.append(Piece(position, ")"))
    for index in reversed(open_groups):  # a bracket that is not closed means nothing
        del pieces[index]
    return pieces


_OPERATORS = ("OR", "AND", "NOT")


def _closing_brackets(piece: Piece, open_groups: int) -> int:
    """Return how many groups end with a word: those of its last brackets that are not opened inside it."""
    if piece.quoted:
        return 0
    trailing = len(piece.value) - len(piece.value.rstrip(")"))
    return max(0, min(trailing, open_groups, piece.value.count(")") - piece.value.count("(")))


def _filter_name(text: str, position: int) -> str:
    lowered = text[position : position + 10].lower()
    return next((name for name in FILTER_NAMES if lowered.startswith(name + ":")), "")


def _read_value(text: str, position: int, typing: bool) -> tuple[str, int, bool]:
    if text.startswith('"', position):
        end = text.find('"', position + 1)
        if end < 0 and not typing:
            raise BadQuery(text, position, "The quotation mark is not closed")
        end = len(text) if end < 0 else end
        return text[position + 1 : end], end + 1, True
    end = position
    while end < len(text) and not text[end].isspace():
        end += 1
    return text[position:end], end, False
