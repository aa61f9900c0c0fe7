"""Find and mask secrets in text and in decoded JSON: the one engine behind every way out.

Whatever is found is replaced by a wall that no rule can match across, and the rest is looked at again until
nothing more is found; that is what makes masking masked text change nothing.
"""

from __future__ import annotations

from collections import Counter

from clew.facts.secrets.secret_formats import (
    ASSIGNED_RANK,
    FIRST_CONTEXT,
    Claim,
    base64_claim,
    base64_runs,
    caseless,
    caseless_in,
    exact,
    unquoted,
    utf8,
)
from clew.facts.secrets.secret_names import assigned, keywords_in
from clew.facts.secrets.secret_rules import WALL, Expression, Telling, is_kept, telling

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, NamedTuple, TypeVar

    _Data = TypeVar("_Data")

    class Secret(NamedTuple):
        """Where a secret's value stands in the text, without the name in front of it."""

        rule: str
        start: int
        end: int
else:
    from collections import namedtuple

    Secret = namedtuple("Secret", "rule start end")

RULES_VERSION = 2
"""Raised with every change of the rules, so that what was masked by older ones can be masked again."""

_MARK_START = "[REDACTED:"
MARK = Expression(r"\[REDACTED:[a-z0-9-]+(?::[0-9a-f]{8})?\]")
_SHORTEST_TEXT = 8  # a name, a sign and four characters
_SHORTEST_KEY = 15  # of the known formats
_READ_AROUND = 12  # characters; so many of noise are hardly ever all letters
_SPACES_AS_LETTERS = str.maketrans("\r\n\t", "___")


def find(text: str) -> tuple[Secret, ...]:
    """The secrets in a text, in order; where rules overlap, all they cover is one secret of the most specific."""
    if len(text) < _SHORTEST_KEY and (len(text) < _SHORTEST_TEXT or text.isidentifier()):
        return ()
    canvas = _canvas(text)
    found: list[Secret] = []
    while claims := _claims(canvas):
        secrets = _merge(claims)
        found += secrets
        canvas = _replace(canvas, secrets, [WALL * (secret.end - secret.start) for secret in secrets])
    return tuple(sorted(found, key=lambda secret: secret.start))


def mask(text: str, key: bytes | None = None) -> tuple[str, tuple[Secret, ...]]:
    """The text with each secret replaced by its mark; with a key, equal secrets get equal marks."""
    secrets = find(text)
    if not secrets:
        return text, ()
    marks = [_mark(secret.rule, text[secret.start : secret.end], key) for secret in secrets]
    return _replace(text, secrets, marks), secrets


def mask_data(value: _Data, key: bytes | None = None) -> tuple[_Data, int]:
    """Decoded JSON with the secrets in its strings and names masked, and how many there were.

    The shape stays, the input is not changed, and whatever holds no secret is returned as the same object.
    """
    texts, told = _gather(value)
    suspects = _suspects(list(texts))
    if not suspects and not told:
        return value, 0
    nodes = [_Node([value], None, 0, None)]
    count = 0
    for node in nodes:
        count += _mask_children(node, nodes, suspects, key)
    for node in reversed(nodes):
        if node.parent is not None and (node.values or node.names):
            node.parent.values[node.slot] = node.rebuilt()
    masked: _Data = nodes[0].values.get(0, value)
    return masked, count


def may_hold(values: Sequence[Any]) -> list[bool]:
    """Of each of many values, whether it could hold anything for `mask_data` to mask; asked together, it costs least."""
    gathered = [_gather(value) for value in values]
    suspects = _suspects(list(set().union(*(texts for texts, _ in gathered))))
    return [told or not suspects.isdisjoint(texts) for texts, told in gathered]


def _replace(text: str, secrets: tuple[Secret, ...], substitutes: list[str]) -> str:
    pieces: list[str] = []
    at = 0
    for secret, substitute in zip(secrets, substitutes, strict=True):
        pieces += (text[at : secret.start], substitute)
        at = secret.end
    return "".join((*pieces, text[at:]))


def _mark(rule: str, value: str, key: bytes | None) -> str:
    if key is None:
        return f"{_MARK_START}{rule}]"
    import hmac  # loads OpenSSL, which callers without a key never need

    digest = hmac.digest(key, value.encode("utf-8", "surrogatepass"), "sha256").hex()
    return f"{_MARK_START}{rule}:{digest[:8]}]"


def _canvas(text: str) -> str:
    """The text with a wall for each mark in it."""
    return MARK.compiled.sub(lambda mark: WALL * len(mark[0]), text) if _MARK_START in text else text


def _claims(canvas: str) -> list[Claim]:
    data = utf8(canvas)
    return [*_plain_claims(canvas, data), *_percent_claims(canvas), *_base64_claims(canvas, data)]


def _plain_claims(canvas: str, data: bytes) -> list[Claim]:
    claims = list(exact(canvas, data))
    if " " in canvas or "=" in canvas or ":" in canvas or ">" in canvas:  # no name is given a value without one
        lower = data.lower()  # of ASCII alone, as are the names; so all stays at its place
        ranks, keywords = caseless_in(lower), keywords_in(lower)
        folded = lower.decode("utf-8", "surrogatepass") if ranks or keywords else ""
        for rank in ranks:
            claims += caseless(rank, canvas, folded)
        for keyword in keywords:
            claims += (Claim(at, end, ASSIGNED_RANK, rule) for at, end, rule in assigned(canvas, folded, keyword))
    return claims


def _percent_claims(canvas: str) -> Iterator[Claim]:
    said, places = unquoted(canvas)
    for claim in _plain_claims(said, utf8(said)) if said else ():
        yield Claim(places[claim.start], places[claim.end], claim.rank, claim.rule)


def _base64_claims(canvas: str, data: bytes) -> Iterator[Claim]:
    """Runs of base64 that hide a secret. All is first looked through as one, because most runs are nothing but noise."""
    groups = list(base64_runs(canvas, data))
    if groups and _hides_secret(WALL.encode().join(run.said for group in groups for run in group)):
        for whole, *lines in groups:
            hiding = [whole] if _hides_secret(whole.said) else [line for line in lines if _hides_secret(line.said)]
            yield from map(base64_claim, hiding)


def _hides_secret(said: bytes) -> bool:
    """Whether decoded base64 holds a known format or, where it reads as text, a secret of any kind."""
    text = said.decode("latin-1")
    claims = _plain_claims(text, utf8(text))
    return any(claim.rank < FIRST_CONTEXT or _reads_as_text(text, claim) for claim in claims)


def _reads_as_text(text: str, claim: Claim) -> bool:
    before = text[max(0, claim.start - _READ_AROUND) : claim.start].rpartition(WALL)[2]
    around = before + text[claim.start : claim.end]
    return around.isascii() and around.translate(_SPACES_AS_LETTERS).isprintable()


def _merge(claims: list[Claim]) -> tuple[Secret, ...]:
    """Overlapping claims become one that covers them all, so that no end of a secret is left standing."""
    merged: list[Claim] = []
    for claim in sorted(claims):
        if merged and claim.start < merged[-1].end:
            last = merged.pop()
            best = min(last, claim, key=lambda one: one.rank)
            claim = Claim(last.start, max(last.end, claim.end), best.rank, best.rule)
        merged.append(claim)
    return tuple(Secret(claim.rule, claim.start, claim.end) for claim in merged)


# --- decoded JSON -------------------------------------------------------------------------------------------

_SCHEME = Expression(r"(?:bearer|basic|token|digest|bot|apikey|negotiate)\s+", "i")


_PLAIN: set[str] = set()  # names that announce nothing and hold nothing: the same few stand in every line
_MOST_PLAIN = 4096


_SCALARS = frozenset((int, float, bool, type(None)))


def _gather(value: Any) -> tuple[set[str], bool]:
    """The different texts in decoded JSON, but for plain names, and whether a name tells of a secret."""
    texts: set[str] = set()
    told = False
    nodes: list[Any] = [[value]]
    for node in nodes:
        children = node
        if isinstance(node, dict):
            children = node.values()
            if not _PLAIN.issuperset(node):
                names = [name for name in node if name not in _PLAIN and isinstance(name, str)]
                texts.update(names)
                told = told or any(_announces(node, name) for name in names)
        for child in children:
            kind = type(child)
            if kind is str:
                texts.add(child)
            elif kind not in _SCALARS:
                if isinstance(child, dict | list):
                    nodes.append(child)
                elif isinstance(child, str):
                    texts.add(child)
    return texts, told


def _announces(node: dict[Any, Any], name: str) -> bool:
    """Whether a name in an object tells that its text is a secret; it is remembered if it says nothing at all."""
    if name == "value":
        label = node.get("name", node.get("key"))
        return isinstance(label, str) and telling(label) is not None
    if telling(name):
        return isinstance(node[name], str | list)
    if len(_PLAIN) < _MOST_PLAIN and not find(name):
        _PLAIN.add(name)
    return False


def _suspects(texts: list[str]) -> set[str]:
    """Those of the texts that hold a secret.

    They are looked through as one, with walls between them, which costs a fraction of a look at each.
    """
    claims = sorted(_claims(_canvas(WALL.join(texts))))
    found: set[str] = set()
    if claims:
        starts = [claim.start for claim in reversed(claims)]
        end = -1
        for text in texts:
            end += len(text) + 1
            while starts and starts[-1] < end:
                starts.pop()
                found.add(text)
    return found


class _Node:
    """A container on the way through the data, and what is to be different in its copy."""

    __slots__ = ("container", "kind", "names", "parent", "slot", "values")

    def __init__(
        self, container: list[Any] | dict[Any, Any], parent: _Node | None, slot: Any, kind: Telling | None
    ) -> None:
        self.container, self.parent, self.slot, self.kind = container, parent, slot, kind
        self.values: dict[Any, Any] = {}
        self.names: dict[str, str] = {}

    def children(self) -> Iterator[tuple[Any, Any, Telling | None]]:
        """Each slot with its value and what the name before it announces; a list passes its own name on."""
        if isinstance(self.container, list):
            yield from ((slot, child, self.kind) for slot, child in enumerate(self.container))
            return
        label = self.container.get("name", self.container.get("key"))
        for slot, child in self.container.items():
            name = label if slot == "value" else slot
            yield slot, child, telling(name) if isinstance(name, str) else None

    def rebuilt(self) -> list[Any] | dict[Any, Any]:
        """The copy, in the old order and with as many items: names that became equal are numbered."""
        if isinstance(self.container, list):
            return [self.values.get(slot, child) for slot, child in enumerate(self.container)]
        taken = set(self.container)
        uses: Counter[str] = Counter()
        copy: dict[Any, Any] = {}
        for slot, child in self.container.items():
            name = masked = self.names.get(slot, slot)
            while slot in self.names and name in taken:
                uses[masked] += 1
                name = f"{masked}#{uses[masked] + 1}"
            taken.add(name)
            copy[name] = self.values.get(slot, child)
        return copy


def _mask_children(node: _Node, nodes: list[_Node], suspects: set[str], key: bytes | None) -> int:
    count = 0
    for slot, child, kind in node.children():
        if slot in suspects:
            name, secrets = mask(slot, key)
            if secrets:
                node.names[slot] = name
                count += len(secrets)
        if isinstance(child, str):
            masked, found = _mask_leaf(child, kind, key) if kind or child in suspects else (child, 0)
            if found:
                node.values[slot] = masked
                count += found
        elif isinstance(child, list | dict) and child:
            nodes.append(_Node(child, node, slot, kind if isinstance(child, list) else None))
    return count


def _mask_leaf(text: str, kind: Telling | None, key: bytes | None) -> tuple[str, int]:
    """A string masked whole if its name tells that it is a secret, else the secrets found in it."""
    if kind and _MARK_START not in text:
        scheme = _SCHEME.compiled.match(text) if kind.rule == "authorization" else None
        start = scheme.end() if scheme else 0
        value = text[start:]
        if is_kept(value, kind):
            whole = find(value)
            known = len(whole) == 1 and (whole[0].start, whole[0].end) == (0, len(value))
            return text[:start] + _mark(whole[0].rule if known else kind.rule, value, key), 1
    masked, secrets = mask(text, key)
    return masked, len(secrets)
