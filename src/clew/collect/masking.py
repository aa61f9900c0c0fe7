"""Policies: what of a line may be kept or sent on. Without a key all of it may; with one, secrets become marks.

Masking fails closed. A line that cannot be looked through is not kept as it is: a mark stands in its place, and the line is
put in quarantine. Equal secrets get equal marks, which nobody without the key can check a guess against.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any, NamedTuple

from stringzilla import count

from clew.collect.split_secrets import mask_split
from clew.facts.secrets.mask_secrets import RULES_VERSION, mask, mask_data, may_hold
from clew.wire.json_codec import decode, encode

_FAILURES = (ValueError, TypeError, RecursionError, OverflowError, MemoryError)
_BATCH = 64 << 10  # bytes of lines


class MaskedBytes(NamedTuple):
    """The bytes that may be kept; by which version of the rules, how many secrets were masked, and why it was withheld."""

    data: bytes
    rules: int = 0
    masked: int = 0
    withheld: str = ""


class Policy(NamedTuple):
    """`key` is None for a place that may hold secrets, such as the archive on the same disk."""

    key: bytes | None = None

    def line(self, data: bytes) -> MaskedBytes:
        """One line without its newline: a JSON object, or what is left of one."""
        if self.key is None:
            return MaskedBytes(data)
        if not data.strip():
            return MaskedBytes(data, RULES_VERSION)
        try:
            value = decode(data)
            split = mask_split(value, self._mark) if _has_several_texts(data) else 0
            masked, secrets = mask_data(value, self.key)
            secrets += split
            if not secrets:
                return MaskedBytes(data, RULES_VERSION)
            made = encode(masked)
            if shape(decode(made)) != shape(decode(data)):
                return self.withhold(data, "masking changed the shape of the line")
        except _FAILURES as error:
            return self.withhold(data, f"it could not be looked through: {type(error).__name__}")
        return MaskedBytes(made + (b"\r" if data.endswith(b"\r") else b""), RULES_VERSION, secrets)

    def lines(self, lines: Sequence[bytes]) -> Iterator[MaskedBytes]:
        """Each of many lines: they are asked together whether they could hold a secret, and most could not."""
        if self.key is None:
            yield from map(MaskedBytes, lines)
            return
        for batch in _batches(lines):
            for line, is_plain in zip(batch, _are_plain(batch), strict=True):
                yield MaskedBytes(line, RULES_VERSION) if is_plain else self.line(line)

    def text(self, data: bytes) -> MaskedBytes:
        """A whole side file: JSON if it is that, else text, else bytes."""
        if self.key is None:
            return MaskedBytes(data)
        try:
            value = decode(data)
        except _FAILURES:
            return self._plain(data)
        return self.line(data) if isinstance(value, dict | list) else self._plain(data)

    def withhold(self, data: bytes, reason: str) -> MaskedBytes:
        """A mark in the place of the bytes."""
        mark = self._mark("withheld-line", data.decode("utf-8", "surrogateescape"))
        return MaskedBytes(mark.encode(), RULES_VERSION, 1, reason)

    def _mark(self, rule: str, secret: str) -> str:
        """As the engine marks what it finds itself."""
        digest = hmac.digest(self.key or b"", secret.encode("utf-8", "surrogateescape"), "sha256").hex()
        return f"[REDACTED:{rule}:{digest[:8]}]"

    def _plain(self, data: bytes) -> MaskedBytes:
        for encoding in ("utf-8", "latin-1"):
            try:
                text, secrets = mask(data.decode(encoding), self.key)
                return MaskedBytes(text.encode(encoding) if secrets else data, RULES_VERSION, len(secrets))
            except UnicodeDecodeError:
                continue
            except _FAILURES as error:
                return self.withhold(data, f"it could not be looked through: {type(error).__name__}")
        return self.withhold(data, "it is no text")


def _batches(lines: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    first = size = 0
    for number, line in enumerate(lines):
        size += len(line)
        if size >= _BATCH:
            yield lines[first : number + 1]
            first, size = number + 1, 0
    yield lines[first:]


def _are_plain(lines: Sequence[bytes]) -> Iterable[bool]:
    """Of each line, whether it is certain that it is whole and that no secret stands in it."""
    try:
        held = may_hold([decode(line) for line in lines])
    except _FAILURES:
        return repeat(False, len(lines))
    return (not (is_held or _has_several_texts(line)) for line, is_held in zip(lines, held, strict=True))


def _has_several_texts(line: bytes) -> bool:
    return bool(count(line, b'"text"') > 2)


def shape(value: Any) -> Any:
    """The shape of decoded JSON: how many members at each depth, of which kinds; masking changes texts and names alone."""
    found: list[Any] = []
    todo: list[Any] = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, dict):
            found.append(("object", len(item)))
            todo.extend(item.values())
        elif isinstance(item, list):
            found.append(("list", len(item)))
            todo.extend(item)
        else:
            found.append(str if isinstance(item, str) else item)
    return found
