"""Find secrets by format: a known prefix or scheme; plain, escaped, split over literals or base64-encoded once."""

from __future__ import annotations

import binascii
from operator import contains as contains_short

from clew.facts.secrets.context_rules import CONTEXT_RULES
from clew.facts.secrets.secret_rules import RULES, WALL, Expression, entropy, is_placeholder, is_wordlike

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from re import Match, Pattern
    from typing import Any, NamedTuple, TypeVar

    _Item = TypeVar("_Item")

    class Claim(NamedTuple):
        """A span that a rule considers a secret; of two that overlap, the one with the lower rank names it."""

        start: int
        end: int
        rank: int
        rule: str
else:
    from collections import namedtuple

    Claim = namedtuple("Claim", "start end rank rule")

BASE64_RULE = "base64-secret"
NAME_CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
_ALL = RULES + CONTEXT_RULES
_BASE64_RANK = len(_ALL) + 1
ASSIGNED_RANK = len(_ALL)
FIRST_CONTEXT = len(RULES)
"""The rank of the first rule that reads the text before a value."""
_SHORTEST_BASE64 = 40
_SHORT = 256  # bytes


def utf8(text: str) -> bytes:
    """Encode the text, because literals are found ten times as fast in bytes; lone surrogates pass."""
    return text.encode("utf-8", "surrogatepass")


def contains_in(data: bytes) -> Callable[[bytes, bytes], bool]:
    """Return the fastest test whether these bytes contain a literal: for short ones, calls cost more than the search."""
    if len(data) < _SHORT:
        return contains_short
    from stringzilla import contains

    contains_long: Callable[[bytes, bytes], bool] = contains
    return contains_long


def searchable(text: str, data: bytes) -> str | bytes:
    """Return a text as its bytes if these have the same positions, so that literals are found sooner: see `positions`."""
    return data if len(data) == len(text) else text


def positions(text: str | bytes, literal: str) -> Iterator[int]:
    """Yield where a literal occurs, without overlaps, in a text or in the bytes of one in ASCII."""
    find: Any = type(text).find
    sought: str | bytes = literal
    if isinstance(text, bytes):
        sought = literal.encode()
        if len(text) >= _SHORT:
            from stringzilla import find as find_long

            find = find_long
    at = find(text, sought, 0)
    while at >= 0:
        yield at
        at = find(text, sought, at + len(sought))


# --- plain --------------------------------------------------------------------------------------------------


# Parts that several literals share and that most texts lack: where one is missing, none of its literals is searched.
_CORES = ("sk-", "shp", "_v1", "dp.", "psca", "webh", "$2", "1$", "sntr", "sq0", "432:", "at_", "K-", "hoo", "pass")
_CORES_BYTES = tuple(core.encode() for core in (*_CORES, "rase", "ogin ", "segr", "cook", "secr", "lav", "sql"))


def group_by_core(items: Sequence[_Item], literal: Callable[[_Item], bytes]) -> tuple[tuple[bytes, list[_Item]], ...]:
    """Return items by the part that their literals share with others; else each by its literal."""
    groups: dict[bytes, list[_Item]] = {}
    for item in items:
        core = next((core for core in _CORES_BYTES if core in literal(item)), literal(item))
        groups.setdefault(core, []).append(item)
    return tuple(groups.items())


def _rank_literals(*, folded: bool) -> tuple[tuple[bytes, list[tuple[bytes, int]]], ...]:
    rules = ((rank, rule) for rank, rule in enumerate(_ALL) if rule.folded == folded)
    return group_by_core([(utf8(text), rank) for rank, rule in rules for text in rule.literals], lambda row: row[0])


_EXACT = _rank_literals(folded=False)
_FOLDED = _rank_literals(folded=True)


def exact_claims(canvas: str, data: bytes) -> Iterator[Claim]:
    """Yield the claims of the case-sensitive rules; `data` is the same text as bytes."""
    for rank in _present(data, _EXACT):
        rule = _ALL[rank]
        if rule.also not in canvas:
            continue
        if rule.anchored:
            text = searchable(canvas, data)
            for literal in rule.literals:
                yield from _matches(rank, _matches_at(rule.expression.compiled, canvas, text, literal))
        else:
            yield from _matches(rank, rule.expression.compiled.finditer(canvas))


def caseless_ranks(lower: bytes) -> set[int]:
    """Return the ranks of the case-insensitive rules that have a literal in these lower-case bytes."""
    return _present(lower, _FOLDED)


def caseless_claims(rank: int, canvas: str, folded: str | bytes) -> Iterator[Claim]:
    """Yield the claims of one case-insensitive rule; `folded` is the text in lower case, which `positions` searches."""
    for literal in _ALL[rank].literals:
        yield from _matches(rank, _matches_at(_ALL[rank].expression.compiled, canvas, folded, literal))


def _present(data: bytes, groups: tuple[tuple[bytes, list[tuple[bytes, int]]], ...]) -> set[int]:
    """Return the ranks of the rules that have a literal in the text; the others cannot match."""
    contains = contains_in(data)
    return {
        rank
        for core, literals in groups
        if contains(data, core)
        for literal, rank in literals
        if literal == core or contains(data, literal)
    }


def _matches_at(pattern: Pattern[str], canvas: str, folded: str | bytes, literal: str) -> Iterator[Match[str]]:
    end = 0
    for at in positions(folded, literal):
        if at >= end and (match := pattern.match(canvas, at)):
            end = match.end()
            yield match


def _matches(rank: int, matches: Iterator[Match[str]]) -> Iterator[Claim]:
    """Yield the values that pass the rule's own checks; the matched groups are the value."""
    rule = _ALL[rank]
    for match in matches:
        spans = [span for span in match.regs[1:] if span[0] >= 0] or [match.span()]
        start, end = spans[0][0], spans[-1][1]
        value = match.string[start:end]
        if is_placeholder(value) or (rule.judged and is_wordlike(value)):
            continue
        if not rule.floor or entropy(value) >= rule.floor:
            yield Claim(start, end, rank, rule.name)


# --- in base64 ----------------------------------------------------------------------------------------------

# A line of the run can also end at the end of the text, or at a wall.
_BASE64_RUN = Expression(r"[A-Za-z0-9+/_-]{40,}+(?:\r?\n[A-Za-z0-9+/_-]{4,}+(?=[\r\n=\0]|\Z))*+={0,2}")
_URL_SAFE = str.maketrans("-_", "+/", "\r\n=")
_OUTLINE = bytes(ord("b" if chr(code) in f"{NAME_CHARACTERS}+/" else " ") for code in range(256))
_LONG_RUN = b"b" * _SHORTEST_BASE64
_HARMLESS_RUNS: set[str] = set()
_MAX_HARMLESS_RUNS = 20_000
_LONGEST_HARMLESS = 300  # characters


class Base64Run:
    """Base64 in a text, and its decoded bytes."""

    __slots__ = ("end", "said", "start")

    def __init__(self, start: int, letters: str) -> None:
        self.start, self.end, self.said = start, start + len(letters), _decode_base64(letters)


def base64_runs(canvas: str, data: bytes) -> Iterator[tuple[Base64Run, ...]]:
    """Yield each run of base64 followed by its lines, in case these are separate values; without harmless ones."""
    for run in _long_runs(canvas, data):
        if run[0] in _HARMLESS_RUNS:
            continue
        start = run.start()
        runs = [Base64Run(start, run[0])]
        if "\n" in run[0]:
            for line in run[0].splitlines(keepends=True):
                runs.append(Base64Run(start, line.rstrip()))
                start += len(line)
        yield tuple(runs)


def save_harmless(canvas: str, groups: Iterable[tuple[Base64Run, ...]]) -> None:
    """Remember runs that hide nothing: most are paths, which occur in every line."""
    if len(_HARMLESS_RUNS) > _MAX_HARMLESS_RUNS:
        _HARMLESS_RUNS.clear()
    runs = (canvas[run.start : run.end] for run, *_ in groups)
    _HARMLESS_RUNS.update(run for run in runs if len(run) <= _LONGEST_HARMLESS)


def base64_claim(run: Base64Run) -> Claim:
    return Claim(run.start, run.end, _BASE64_RANK, BASE64_RULE)


def _long_runs(canvas: str, data: bytes) -> Iterator[Match[str]]:
    """Yield long runs of base64 characters, found in an outline of the text because a regex takes ten times as long.

    The outline has `b` for each base64 character and a space for any other: a run is forty `b` in a row.
    """
    ascii = data if len(data) == len(canvas) else canvas.encode("ascii", "replace")
    if len(ascii) < _SHORTEST_BASE64:
        return
    from stringzilla import find, translate

    outline = translate(ascii, _OUTLINE)
    at = find(outline, _LONG_RUN)
    while at >= 0 and (run := _BASE64_RUN.compiled.match(canvas, at)):
        yield run
        at = find(outline, _LONG_RUN, run.end())


def _decode_base64(run: str) -> bytes:
    body = run.translate(_URL_SAFE)
    body = body[:-1] if len(body) % 4 == 1 else body
    return binascii.a2b_base64(body + "=" * (-len(body) % 4))


# --- percent signs ------------------------------------------------------------------------------------------

_HEX = frozenset("0123456789ABCDEFabcdef")
_IN_ADDRESS = f"{NAME_CHARACTERS}.~:/?#@!$&()*+,;=[]"
_PERCENT_RUN = Expression(r"(?:%[0-9A-Fa-f]{2}|[A-Za-z0-9_.~:/?#@!$&()*+,;=\[\]-])++")
_READ_BEFORE = 200


def decode_percent(canvas: str) -> tuple[str, list[int]]:
    """Return the decoded text of percent-encoded addresses, with walls between them, and the position of each
    character.
    """
    characters: list[str] = []
    offsets: list[int] = []
    end = 0
    for sign in positions(canvas, "%"):
        code = canvas[sign + 1 : sign + 3]
        if sign < end or len(code) < 2 or not _HEX.issuperset(code):
            continue
        before = canvas[max(end, sign - _READ_BEFORE) : sign]
        at = sign - len(before) + len(before.rstrip(_IN_ADDRESS))
        run = _PERCENT_RUN.compiled.match(canvas, at)
        end = run.end() if run else sign + 3
        while at < end:
            is_sign = canvas[at] == "%"
            characters.append(chr(int(canvas[at + 1 : at + 3], 16)) if is_sign else canvas[at])
            offsets.append(at)
            at += 3 if is_sign else 1
        characters.append(WALL)
        offsets.append(end)
    return "".join(characters), offsets


# --- in string literals ---------------------------------------------------------------------------------------

_LITERAL_SIGNS = tuple((sign, sign.encode()) for sign in ("\\u00", "\\x", "&#", '" +', "' +", '"+', "'+", '" .', "' ."))
_FOLD = Expression(
    r"\\{1,4}u00([2-7][0-9a-f])|\\{1,4}x([2-7][0-9a-f])|&#x([2-7][0-9a-f]);|&#(\d{2,3});"
    r"|\\{0,4}[\"'`]\s{0,40}(?:\+|\.{1,2})\s{0,40}\\{0,4}[\"'`]",
    "ai",
)
_READ_AFTER = 600
_DECIMAL_GROUP = 4


def decode_literals(canvas: str, data: bytes) -> tuple[str, list[int], list[int]]:
    """Return the text around escapes (`\\u0073k-ant`) and joined literals (`"sk-" + "ant-…"`) as a program reads it.

    There are walls between the parts. Also returns the position of each character, and where something was decoded.
    """
    contains = contains_in(data)
    signs = [sign for sign, literal in _LITERAL_SIGNS if contains(data, literal)]
    if not signs:
        return "", [], []
    characters: list[str] = []
    offsets: list[int] = []
    seams: list[int] = []
    end = -1

    def copy(first: int, last: int) -> None:
        characters.extend(canvas[first:last])
        offsets.extend(range(first, last))

    def copy_wall(at: int) -> None:
        characters.append(WALL)
        offsets.append(at)

    for fold in _folds(canvas, searchable(canvas, data), signs):
        start = fold.start()
        if end < 0 or start - end > _READ_BEFORE + _READ_AFTER:
            if end >= 0:
                copy(end, end + _READ_AFTER)
                copy_wall(end + _READ_AFTER)
            before = canvas[max(0, end, start - _READ_BEFORE) : start]
            end = start - len(before)
            if len(before) == _READ_BEFORE:  # begin at a word, because rules look at the character before a value
                end += len(before) - len(before.lstrip(_IN_ADDRESS))
        copy(end, start)
        end = fold.end()
        seams.append(len(characters))
        if code := next(filter(None, fold.groups()), ""):
            characters.append(chr(int(code, 10 if fold[_DECIMAL_GROUP] else 16)))
            offsets.append(start)
    if end >= 0:
        copy(end, min(len(canvas), end + _READ_AFTER))
        copy_wall(min(len(canvas), end + _READ_AFTER))
    return "".join(characters), offsets, seams


def _folds(canvas: str, text: str | bytes, signs: list[str]) -> Iterator[Match[str]]:
    """Yield the escapes and joints, in order; they are matched only where a sign occurs."""
    end = 0
    for at in sorted({at for sign in signs for at in positions(text, sign)}):
        start = at - 3 + len(canvas[max(0, at - 3) : at].rstrip("\\")) if at >= 3 else at
        if start >= end and (fold := _FOLD.compiled.match(canvas, start)):
            end = fold.end()
            yield fold
