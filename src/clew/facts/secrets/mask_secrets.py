"""Find and mask secrets in text and in decoded JSON, for every output of clew.

Each secret is replaced by a wall (NUL characters of the same length) that no rule can match across, and the
remaining text is searched again until nothing is found. Therefore masking masked text changes nothing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter

from clew.facts.secrets.secret_formats import (
    ASSIGNED_RANK,
    FIRST_CONTEXT,
    Claim,
    base64_claim,
    base64_runs,
    caseless_claims,
    caseless_ranks,
    decode_literals,
    decode_percent,
    exact_claims,
    save_harmless,
    utf8,
)
from clew.facts.secrets.secret_names import find_assigned, keywords_in
from clew.facts.secrets.secret_rules import WALL, Expression, SecretName, is_secret_in_data
from clew.facts.secrets.secret_rules import classify_name as classify_english_name
from clew.facts.secrets.secret_words import classify_foreign_name, find_stated, words_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any, NamedTuple, TypeVar

    _Data = TypeVar("_Data")

    class Secret(NamedTuple):
        """The position of a secret's value in the text, without the name before it."""

        rule: str
        start: int
        end: int
else:
    from collections import namedtuple

    Secret = namedtuple("Secret", "rule start end")

RULES_VERSION = 4
"""Incremented with every change of the rules, so that text masked by older rules can be masked again."""

_MARK_START = "[REDACTED:"
MARK = Expression(r"\[REDACTED:[a-z0-9-]+(?::[0-9a-f]{8})?\]")
_SHORTEST_TEXT = 8  # a name, an operator and four characters
_SHORTEST_KEY = 15  # characters of the shortest known format
_READ_AROUND = 12  # characters; noise of this length is hardly ever all printable
_SPACES_AS_LETTERS = str.maketrans("\r\n\t", "___")


def find(text: str) -> tuple[Secret, ...]:
    """Return the secrets in a text, in order; overlapping matches become one secret of the most specific rule."""
    if len(text) < _SHORTEST_KEY and (len(text) < _SHORTEST_TEXT or text.isidentifier()):
        return ()
    canvas = _canvas(text)
    all_secrets: list[Secret] = []
    while claims := _claims(canvas):
        secrets = _merge(claims)
        all_secrets += secrets
        canvas = _replace(canvas, secrets, [WALL * (secret.end - secret.start) for secret in secrets])
    return tuple(sorted(all_secrets, key=lambda secret: secret.start))


def mask(text: str, key: bytes | None = None) -> tuple[str, tuple[Secret, ...]]:
    """Return the text with each secret replaced by its mark, and the secrets; with a key, equal secrets get equal
    marks.
    """
    secrets = find(text)
    if not secrets:
        return text, ()
    marks = [_format_mark(secret.rule, text[secret.start : secret.end], key) for secret in secrets]
    return _replace(text, secrets, marks), secrets


def mask_lines(lines: Sequence[str]) -> list[str]:
    """Return lines of one text with the secrets masked; a secret of several lines leaves as many, the later ones empty."""
    text, parts, at = "\n".join(lines), [], 0
    for secret in find(text):
        breaks = "\n" * text.count("\n", secret.start, secret.end)
        parts += [text[at : secret.start], _format_mark(secret.rule, text[secret.start : secret.end], None), breaks]
        at = secret.end
    return "".join((*parts, text[at:])).split("\n")


def mask_data(value: _Data, key: bytes | None = None, suspects: set[str] | None = None) -> tuple[_Data, int]:
    """Return decoded JSON with the secrets in its strings and keys masked, and their number.

    The structure stays, the input is not changed, and parts without a secret are returned as the same objects.
    `suspects` are the texts with a secret, if they are known from `find_suspects`.
    """
    if suspects is None:
        texts, is_named = _gather(value)
        suspects = _suspects(set(texts))
        if not suspects and not is_named:
            return value, 0
    nodes = [_Node([value], None, 0, None)]
    count = 0
    for node in nodes:
        count += _mask_children(node, nodes, suspects, key)
    for node in reversed(nodes):
        if node.parent is not None and (node.values or node.names):
            node.parent.values[node.slot] = node.rebuild()
    masked: _Data = nodes[0].values.get(0, value)
    return masked, count


def find_suspects(values: Iterable[Any]) -> tuple[list[bool], set[str]]:
    """Return for each value whether `mask_data` could mask anything in it, and the texts that contain a secret; to search
    many values together is cheapest.
    """
    gathered = [_gather(value) for value in values]
    suspects = _suspects(set().union(*(texts for texts, _ in gathered)))
    return [is_named or not suspects.isdisjoint(texts) for texts, is_named in gathered], suspects


def may_contain_secrets(values: Iterable[Any]) -> list[bool]:
    """Return for each value whether `mask_data` could mask anything in it."""
    return find_suspects(values)[0]


def _replace(text: str, secrets: tuple[Secret, ...], substitutes: list[str]) -> str:
    pieces: list[str] = []
    at = 0
    for secret, substitute in zip(secrets, substitutes, strict=True):
        pieces += (text[at : secret.start], substitute)
        at = secret.end
    return "".join((*pieces, text[at:]))


def _format_mark(rule: str, value: str, key: bytes | None) -> str:
    if key is None:
        return f"{_MARK_START}{rule}]"
    import hmac  # loads OpenSSL, which is needed with a key only

    digest = hmac.digest(key, value.encode("utf-8", "surrogatepass"), "sha256").hex()
    return f"{_MARK_START}{rule}:{digest[:8]}]"


def _canvas(text: str) -> str:
    """Return the text with each mark in it replaced by a wall."""
    return MARK.compiled.sub(lambda mark: WALL * len(mark[0]), text) if _MARK_START in text else text


def _claims(canvas: str) -> list[Claim]:
    data = utf8(canvas)
    return [
        *_plain_claims(canvas, data),
        *_percent_claims(canvas),
        *_literal_claims(canvas, data),
        *_base64_claims(canvas, data),
    ]


def _plain_claims(canvas: str, data: bytes) -> list[Claim]:
    claims = list(exact_claims(canvas, data))
    is_ascii = len(data) == len(canvas)
    if not is_ascii or " " in canvas or "=" in canvas or ":" in canvas or ">" in canvas:  # every assignment has one
        lower = data.lower()  # lowers ASCII only, like the names, so offsets stay the same
        ranks, keywords, words = caseless_ranks(lower), keywords_in(lower), words_in(lower, is_ascii)
        folded = lower if is_ascii else lower.decode("utf-8", "surrogatepass")
        for rank in ranks:
            claims += caseless_claims(rank, canvas, folded)
        for keyword in keywords:
            claims += (Claim(at, end, ASSIGNED_RANK, rule) for at, end, rule in find_assigned(canvas, folded, keyword))
        for word in words:
            claims += (Claim(at, end, ASSIGNED_RANK, rule) for at, end, rule in find_stated(canvas, folded, word))
    return claims


def _percent_claims(canvas: str) -> Iterator[Claim]:
    decoded, positions = decode_percent(canvas)
    for claim in _plain_claims(decoded, utf8(decoded)) if decoded else ():
        yield Claim(positions[claim.start], positions[claim.end], claim.rank, claim.rule)


def _literal_claims(canvas: str, data: bytes) -> Iterator[Claim]:
    """Yield secrets that contain an escape or a joint of literals, or begin at one; the others are in plain sight."""
    decoded, positions, seams = decode_literals(canvas, data)
    for claim in _plain_claims(decoded, utf8(decoded)) if decoded else ():
        first = bisect_left(seams, claim.start)
        if first < len(seams) and seams[first] < claim.end:
            yield Claim(positions[claim.start], positions[claim.end - 1] + 1, claim.rank, claim.rule)


def _base64_claims(canvas: str, data: bytes) -> Iterator[Claim]:
    """Yield runs of base64 that hide a secret. All are first searched together, because most runs are noise."""
    groups = list(base64_runs(canvas, data))
    if groups and _hides_secret(WALL.encode().join(run.said for group in groups for run in group)):
        for full_run, *lines in groups:
            hiding = (
                [full_run] if _hides_secret(full_run.said) else [line for line in lines if _hides_secret(line.said)]
            )
            yield from map(base64_claim, hiding)
    else:
        save_harmless(canvas, groups)


def _hides_secret(decoded: bytes) -> bool:
    """Return True if decoded base64 contains a known format or, where it reads as text, any kind of secret."""
    text = decoded.decode("latin-1")
    claims = _plain_claims(text, utf8(text))
    return any(claim.rank < FIRST_CONTEXT or _reads_as_text(text, claim) for claim in claims)


def _reads_as_text(text: str, claim: Claim) -> bool:
    before = text[max(0, claim.start - _READ_AROUND) : claim.start].rpartition(WALL)[2]
    around = before + text[claim.start : claim.end]
    return around.isascii() and around.translate(_SPACES_AS_LETTERS).isprintable()


def _merge(claims: list[Claim]) -> tuple[Secret, ...]:
    """Merge overlapping claims into one that covers them all, so that no part of a secret remains."""
    merged: list[Claim] = []
    for claim in sorted(claims):
        if merged and claim.start < merged[-1].end:
            last = merged.pop()
            best = min(last, claim, key=lambda one: one.rank)
            claim = Claim(last.start, max(last.end, claim.end), best.rank, best.rule)
        merged.append(claim)
    return tuple(Secret(claim.rule, claim.start, claim.end) for claim in merged)


# --- decoded JSON -------------------------------------------------------------------------------------------

_SCHEME = Expression(r"(?:bearer|basic|token|digest|bot|apikey|negotiate|ssws|geniekey)\s+", "i")


def classify_name(name: str) -> SecretName | None:
    """Return what a key announces, in any language that clew knows."""
    return classify_english_name(name) or classify_foreign_name(name)


_HARMLESS_NAMES: set[str] = set()  # keys without a secret: the same few occur in every line
_MAX_HARMLESS_NAMES = 4096
_HARMLESS_TEXTS: set[str] = set()
_MAX_HARMLESS_TEXTS = 10_000
_LONGEST_HARMLESS = 2_000  # characters


_SCALARS = frozenset((int, float, bool, type(None)))


def _gather(value: Any) -> tuple[list[str], bool]:
    """Return the texts in decoded JSON without harmless keys, and whether a key announces a secret."""
    texts: list[str] = []
    is_named = False
    nodes: list[Any] = [[value]]
    add_text, add_node = texts.append, nodes.append
    for node in nodes:
        children = node
        if isinstance(node, dict):
            children = node.values()
            if not _HARMLESS_NAMES.issuperset(node):
                names = [name for name in node if name not in _HARMLESS_NAMES and isinstance(name, str)]
                texts += names
                is_named = is_named or any(_announces(node, name) for name in names)
        for child in children:
            kind = type(child)
            if kind is str:
                add_text(child)
            elif kind is dict or kind is list:
                add_node(child)
            elif kind not in _SCALARS:
                if isinstance(child, dict | list):
                    add_node(child)
                elif isinstance(child, str):
                    add_text(child)
    return texts, is_named


def _announces(node: dict[Any, Any], name: str) -> bool:
    """Return True if a key in an object says that its text is a secret; harmless keys are cached."""
    if name == "value":
        label = node.get("name", node.get("key"))
        return isinstance(label, str) and classify_name(label) is not None
    if classify_name(name):
        return isinstance(node[name], str | list)
    if len(_HARMLESS_NAMES) < _MAX_HARMLESS_NAMES and not find(name):
        _HARMLESS_NAMES.add(name)
    return False


def _suspects(texts: set[str]) -> set[str]:
    """Return the texts that contain a secret.

    Texts without one are remembered: folders, names and results occur again and again. ASCII texts are searched apart
    from the others, because Python stores them with one byte for each character.
    """
    new = texts - _HARMLESS_TEXTS
    suspects = _search_together([text for text in new if text.isascii()])
    suspects |= _search_together([text for text in new if not text.isascii()])
    if len(_HARMLESS_TEXTS) > _MAX_HARMLESS_TEXTS:
        _HARMLESS_TEXTS.clear()
    _HARMLESS_TEXTS.update([text for text in new if len(text) <= _LONGEST_HARMLESS and text not in suspects])
    return suspects


def _search_together(texts: list[str]) -> set[str]:
    """Return the texts that contain a secret, searched as one text with walls between them, which costs a fraction of
    separate searches.
    """
    suspects: set[str] = set()
    claims = sorted(_claims(_canvas(WALL.join(texts)))) if texts else []
    if claims:
        starts = [claim.start for claim in reversed(claims)]
        end = -1
        for text in texts:
            end += len(text) + 1
            while starts and starts[-1] < end:
                starts.pop()
                suspects.add(text)
    return suspects


class _Node:
    """A container during the traversal, and the changes for its copy."""

    __slots__ = ("container", "kind", "names", "parent", "slot", "values")

    def __init__(
        self, container: list[Any] | dict[Any, Any], parent: _Node | None, slot: Any, kind: SecretName | None
    ) -> None:
        self.container, self.parent, self.slot, self.kind = container, parent, slot, kind
        self.values: dict[Any, Any] = {}
        self.names: dict[str, str] = {}

    def children(self) -> Iterator[tuple[Any, Any, SecretName | None]]:
        """Yield each slot with its value and what the key before it announces; a list inherits its own key."""
        if isinstance(self.container, list):
            yield from ((slot, child, self.kind) for slot, child in enumerate(self.container))
            return
        label = self.container.get("name", self.container.get("key"))
        for slot, child in self.container.items():
            name = label if slot == "value" else slot
            yield slot, child, classify_name(name) if isinstance(name, str) else None

    def rebuild(self) -> list[Any] | dict[Any, Any]:
        """Return the copy, in the same order and with as many items: keys that became equal are numbered."""
        if isinstance(self.container, list):
            return [self.values.get(slot, child) for slot, child in enumerate(self.container)]
        used_names = set(self.container)
        uses: Counter[str] = Counter()
        copy: dict[Any, Any] = {}
        for slot, child in self.container.items():
            name = masked = self.names.get(slot, slot)
            while slot in self.names and name in used_names:
                uses[masked] += 1
                name = f"{masked}#{uses[masked] + 1}"
            used_names.add(name)
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
            masked, secret_count = _mask_leaf(child, kind, key) if kind or child in suspects else (child, 0)
            if secret_count:
                node.values[slot] = masked
                count += secret_count
        elif isinstance(child, list | dict) and child:
            nodes.append(_Node(child, node, slot, kind if isinstance(child, list) else None))
    return count


def _mask_leaf(text: str, kind: SecretName | None, key: bytes | None) -> tuple[str, int]:
    """Mask a complete string if its key says that it is a secret, else the secrets found in it."""
    if kind and _MARK_START not in text:
        scheme = _SCHEME.compiled.match(text) if kind.rule == "authorization" else None
        start = scheme.end() if scheme else 0
        value = text[start:]
        if is_secret_in_data(value, kind):
            secrets_in_value = find(value)
            known = len(secrets_in_value) == 1 and (secrets_in_value[0].start, secrets_in_value[0].end) == (
                0,
                len(value),
            )
            return text[:start] + _format_mark(secrets_in_value[0].rule if known else kind.rule, value, key), 1
    masked, secrets = mask(text, key)
    return masked, len(secrets)
