"""Find and mask secrets in text and in decoded JSON: the one engine behind every way out.

Whatever is found is replaced by a wall that no rule can match across, and the rest is looked at again until
nothing more is found; that is what makes masking masked text change nothing.
"""

from __future__ import annotations

import binascii
from collections import Counter

from clew.facts.secret_name import NAME_CHARACTERS, assigned, positions
from clew.facts.secret_rules import (
    CONTEXT_RULES,
    KEYWORDS,
    RULES,
    WALL,
    Expression,
    Telling,
    entropy,
    is_kept,
    is_placeholder,
    is_wordlike,
    telling,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from re import Match, Pattern
    from typing import Any, NamedTuple, TypeVar

    _Data = TypeVar("_Data")

    class Secret(NamedTuple):
        """Where a secret's value stands in the text, without the name in front of it."""

        rule: str
        start: int
        end: int

    class _Claim(NamedTuple):
        start: int
        end: int
        rank: int
        rule: str
else:
    from collections import namedtuple

    Secret = namedtuple("Secret", "rule start end")
    _Claim = namedtuple("_Claim", "start end rank rule")

RULES_VERSION = 1
"""Raised with every change of the rules, so that what was masked by older ones can be masked again."""

BASE64_RULE = "base64-secret"
_MARK_START = "[REDACTED:"
MARK = Expression(r"\[REDACTED:[a-z0-9-]+(?::[0-9a-f]{8})?\]")
_SHORTEST_TEXT = 8  # a name, a sign and four characters
_SHORTEST_KEY = 15  # of the known formats
_SHORTEST_BASE64 = 40


def find(text: str) -> tuple[Secret, ...]:
    """The secrets in a text, in order; where rules overlap, all they cover is one secret of the most specific."""
    if len(text) < _SHORTEST_KEY and (len(text) < _SHORTEST_TEXT or text.isidentifier()):
        return ()
    canvas = MARK.compiled.sub(lambda mark: WALL * len(mark[0]), text) if _MARK_START in text else text
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
    nodes = [_Node([value], None, 0, None)]
    count = 0
    for node in nodes:
        count += _mask_children(node, nodes, key)
    for node in reversed(nodes):
        if node.parent is not None and (node.values or node.names):
            node.parent.values[node.slot] = node.rebuilt()
    masked: _Data = nodes[0].values.get(0, value)
    return masked, count


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


def _merge(claims: list[_Claim]) -> tuple[Secret, ...]:
    """Overlapping claims become one that covers them all, so that no end of a secret is left standing."""
    merged: list[_Claim] = []
    for claim in sorted(claims):
        if merged and claim.start < merged[-1].end:
            last = merged.pop()
            best = min(last, claim, key=lambda one: one.rank)
            claim = _Claim(last.start, max(last.end, claim.end), best.rank, best.rule)
        merged.append(claim)
    return tuple(Secret(claim.rule, claim.start, claim.end) for claim in merged)


# --- looking through one text -------------------------------------------------------------------------------

_ALL = RULES + CONTEXT_RULES
_EXACT = tuple((literal, rank) for rank, rule in enumerate(_ALL) if not rule.folded for literal in rule.literals)
_FOLDED = tuple((literal, rank) for rank, rule in enumerate(_ALL) if rule.folded for literal in rule.literals)
_ASSIGNED_RANK = len(_ALL)
_BASE64_RANK = len(_ALL) + 1
_SIGNS = ("sk-", "_v1_", "_", "-", ".", "")

# Literals by the first of these pieces that they hold: a text without the piece is asked for none of them.
_GATES = tuple(
    (sign, tuple(gate for gate in _EXACT if next(piece for piece in _SIGNS if piece in gate[0]) == sign))
    for sign in _SIGNS
)


def _claims(canvas: str) -> list[_Claim]:
    claims: list[_Claim] = []
    for rank in _present(canvas):
        claims += _matches(rank, _ALL[rank].expression.compiled.finditer(canvas))
    if " " in canvas or "=" in canvas or ":" in canvas or ">" in canvas:  # no name is given a value without one
        folded = _fold(canvas)
        for literal, rank in _FOLDED:
            if literal in folded:
                claims += _matches(rank, _matches_at(_ALL[rank].expression.compiled, canvas, folded, literal))
        for keyword in KEYWORDS:
            if keyword in folded:
                claims += (
                    _Claim(start, end, _ASSIGNED_RANK, rule) for start, end, rule in assigned(canvas, folded, keyword)
                )
    if len(canvas) >= _SHORTEST_BASE64:
        claims += _base64_secrets(canvas)
    return claims


def _present(text: str) -> set[int]:
    """The rules, by rank, that have a literal in the text; the others cannot match."""
    return {
        rank
        for sign, gates in _GATES
        if sign in text
        for literal, rank in gates
        if literal in text and _ALL[rank].also in text
    }


def _fold(text: str) -> str:
    """Lower case at the same offsets; one letter of Unicode grows when lowered and is kept instead."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else text.replace("\u0130", "I").lower()


def _matches_at(pattern: Pattern[str], canvas: str, folded: str, literal: str) -> Iterator[Match[str]]:
    end = 0
    for at in positions(folded, literal):
        if at >= end and (match := pattern.match(canvas, at)):
            end = match.end()
            yield match


def _matches(rank: int, matches: Iterator[Match[str]]) -> Iterator[_Claim]:
    """The values that pass the rule's own doubts; the groups that matched are the value."""
    rule = _ALL[rank]
    for match in matches:
        spans = [span for span in match.regs[1:] if span[0] >= 0] or [match.span()]
        start, end = spans[0][0], spans[-1][1]
        value = match.string[start:end]
        if is_placeholder(value) or (rule.judged and is_wordlike(value)):
            continue
        if not rule.floor or entropy(value) >= rule.floor:
            yield _Claim(start, end, rank, rule.name)


# --- base64, one level deep ---------------------------------------------------------------------------------

_BASE64_RUN = Expression(r"[A-Za-z0-9+/_-]{40,}+(?:\r?\n[A-Za-z0-9+/_-]{4,}+(?=[\r\n=]|\Z))*+={0,2}")
_URL_SAFE = str.maketrans("-_", "+/", "\r\n=")
_OUTLINE = bytes(ord("b" if chr(code) in f"{NAME_CHARACTERS}+/" else " ") for code in range(256))


def _base64_runs(canvas: str) -> Iterator[Match[str]]:
    """Long runs of base64 letters, found in an outline of the text because a regex takes ten times as long."""
    outline = canvas.encode("ascii", "replace").translate(_OUTLINE)
    at = outline.find(b"b" * _SHORTEST_BASE64)
    while at >= 0 and (run := _BASE64_RUN.compiled.match(canvas, at)):
        yield run
        at = outline.find(b"b" * _SHORTEST_BASE64, run.end())


def _base64_secrets(canvas: str) -> Iterator[_Claim]:
    """Runs that hide a known format; a run is looked at line by line too, in case its lines are separate."""
    for run in _base64_runs(canvas):
        start = run.start()
        if _hides_secret(run[0]):
            yield _Claim(start, run.end(), _BASE64_RANK, BASE64_RULE)
        elif "\n" in run[0]:
            for line in run[0].splitlines(keepends=True):
                if _hides_secret(line):
                    yield _Claim(start, start + len(line.rstrip()), _BASE64_RANK, BASE64_RULE)
                start += len(line)


def _hides_secret(run: str) -> bool:
    body = run.translate(_URL_SAFE)
    body = body[:-1] if len(body) % 4 == 1 else body
    text = binascii.a2b_base64(body + "=" * (-len(body) % 4)).decode("latin-1")
    specific = (rank for rank in _present(text) if rank < len(RULES))
    return any(any(_matches(rank, _ALL[rank].expression.compiled.finditer(text))) for rank in specific)


# --- decoded JSON -------------------------------------------------------------------------------------------

_SCHEME = Expression(r"(?:bearer|basic|token|digest|bot|apikey|negotiate)\s+", "i")


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


def _mask_children(node: _Node, nodes: list[_Node], key: bytes | None) -> int:
    count = 0
    for slot, child, kind in node.children():
        if isinstance(slot, str):
            name, secrets = mask(slot, key)
            if secrets:
                node.names[slot] = name
                count += len(secrets)
        if isinstance(child, str):
            masked, found = _mask_leaf(child, kind, key)
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
