"""Find secrets by the name they are assigned to: `DB_PASSWORD=…`, `"api_key": "…"`, `--token …`."""

from __future__ import annotations

from clew.facts.secrets.secret_formats import NAME_CHARACTERS, contains_in, positions
from clew.facts.secrets.secret_rules import KEYWORDS, WALL, Expression, Style, classify_name, is_secret_in_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from re import Match

_LONGEST_NAME = 40
_LONGEST_QUOTED = 4096
_READ_BARE = 200  # enough to judge; the remainder is read only for a secret
_ASSIGN = Expression(
    r"(?P<tail>[\w-]{0,40}+)(?:(?P<gap>[ \t]{1,4}(?![ \t=:@$-]))|\\{0,4}[\"'`]?\]?[ \t]{0,8}(?:"
    r":[ \t]{0,4}[A-Za-z_][\w.\[\]| ]{0,40}?=(?!=)[ \t]{0,4}(?=\\{0,4}[\"'`])"
    r"|(?P<sign>:=|=>|={1,3}|:(?!:)|>)[ \t]{0,8}))",
    "a",
)
# <add key="ApiKey" value="…"/>, {"name": "DB_PASSWORD", "value": "…"}, and two lines of YAML
_PAIR = Expression(
    r"(?P<tail>[\w-]{0,40}+)(?P<gap>)\\{0,4}[\"'`]?[\s,;]{1,40}\\{0,4}[\"'`]?(?:value|val)\\{0,4}[\"'`]?"
    r"\s{0,4}(?P<sign>[:=])\s{0,4}",
    "ai",
)
_OPENING = Expression(r"(?:[bBfFrRuU]{1,2}(?=[\"'`\\]))?(?P<quote>\\{0,4}[\"'`])")
_BETWEEN = "\\\"'`] \t"
_BETWEEN_PAIR = "\\\"'`,; \t\r\n"
_BARE = Expression(r"[^\s\"'`\0]++")
_BARE_ENDS = {
    Style.BARE: Expression(r"\\+[nrt\"'`]|</|[,;&)}\]>]"),
    Style.PLAIN: Expression(r"\\+[nrt\"'`]"),
}


_KEYWORDS = tuple((keyword, keyword.encode()) for keyword in KEYWORDS)


def keywords_in(lower: bytes) -> list[str]:
    """Return the keywords that occur in a text, which is given as lower-case bytes."""
    contains = contains_in(lower)
    return [keyword for keyword, literal in _KEYWORDS if contains(lower, literal)]


def find_assigned(canvas: str, folded: str | bytes, keyword: str) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, rule) of the values assigned to secret names that contain a keyword.

    `done` skips keywords inside a value that was just found.
    """
    done = 0
    for at in positions(folded, keyword):
        if at < done:
            continue
        before = canvas[max(0, at - _LONGEST_NAME) : at]
        start = at - len(before) + len(before.rstrip(NAME_CHARACTERS))
        if not _may_be_assigned(canvas, start, at) or not (
            assign := _PAIR.compiled.match(canvas, at) or _ASSIGN.compiled.match(canvas, at)
        ):
            continue
        name = canvas[start : assign.end("tail")]
        if assign["gap"] and "_" not in name and not name.startswith("--"):
            continue
        if assign["sign"] == ">" and not _is_markup(canvas, start):
            continue
        if kind := classify_name(name.strip("-")):
            value = _value_after(canvas, start, name, assign)
            if value and is_secret_in_text(canvas[value.start : value.end], kind, value.style):
                done = _value_end(canvas, value)
                yield value.start, done, kind.rule


def _may_be_assigned(canvas: str, start: int, at: int) -> bool:
    """Return True if an operator can follow the name that begins at `start`, or a value the name of an option.

    `_ASSIGN` decides; this excludes most words, such as "keys" or "passed", without a regular expression.
    """
    window = canvas[at : at + _LONGEST_NAME + 24]
    following = window.lstrip(NAME_CHARACTERS)
    if following.lstrip(_BETWEEN)[:1] in (":", "=", ">") or following.lstrip(_BETWEEN_PAIR)[:3].lower() == "val":
        return True
    name = canvas[start:at] + window[: len(window) - len(following)]
    return following[:1] in (" ", "\t") and ("_" in name or name.startswith("--"))


def _is_markup(canvas: str, start: int) -> bool:
    """Return True if the name is an element (`<password>…`) or an attribute (`<entry key="db.password">…`)."""
    before = canvas[max(0, start - _LONGEST_NAME) : start]
    return before.endswith("<") or before.rstrip(f"{NAME_CHARACTERS}.").endswith(('="', "='", '=\\"'))


class _Value:
    __slots__ = ("end", "start", "style")

    def __init__(self, start: int, end: int, style: str) -> None:
        self.start, self.end, self.style = start, end, style


def _value_after(canvas: str, start: int, name: str, assign: Match[str]) -> _Value | None:
    at = assign.end()
    if opening := _OPENING.compiled.match(canvas, at):
        at = opening.end()
        end = _closing_quote(canvas, at, opening["quote"])
        if end >= 0:
            return _Value(at, end, Style.QUOTED) if end > at else None
    tight = assign[0].endswith("=") and " " not in assign[0]
    connection = tight and (canvas.endswith(";", 0, start) or name in ("Password", "Pwd"))
    style = Style.PLAIN if tight and (connection or name.isupper()) else Style.BARE
    end = _bare_end(canvas, at, at + _READ_BARE, style if name.isupper() else Style.BARE)
    return _Value(at, end, style) if end > at else None


def _bare_end(canvas: str, at: int, limit: int, style: str) -> int:
    bare = _BARE.compiled.match(canvas, at, limit)
    if not bare:
        return at
    end = _BARE_ENDS[style].compiled.search(canvas, at, bare.end())
    return end.start() if end else bare.end()


def _closing_quote(canvas: str, at: int, quote: str) -> int:
    """Return where a quoted value ends on its own line, or -1."""
    limit = at + _LONGEST_QUOTED
    end = canvas.find(quote, at, limit)
    while end > at and len(quote) == 1 and canvas[end - 1] == "\\":
        end = canvas.find(quote, end + 1, limit)
    broken = end >= 0 and any(stop in canvas[at:end] for stop in ("\n", "\r", WALL))
    return -1 if broken else end


def _value_end(canvas: str, value: _Value) -> int:
    """Return the end of a value of which only the start was read, without punctuation of the surrounding text."""
    end = value.end
    if value.style == Style.QUOTED:
        return end
    if end - value.start == _READ_BARE:
        end = _bare_end(canvas, end, len(canvas), value.style)
    return value.start + len(canvas[value.start : end].rstrip("\\;"))
