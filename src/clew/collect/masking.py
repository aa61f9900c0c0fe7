"""Decide what part of a line may be stored or sent; with a key, secrets are replaced by marks.

Masking fails closed: a line that cannot be inspected is replaced by a mark and put in quarantine. Equal secrets get
equal marks, which cannot be used to test guesses without the key.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from stringzilla import count

from clew.collect.split_secrets import mask_split_secrets
from clew.facts.secrets.mask_secrets import RULES_VERSION, find_suspects, mask, mask_data
from clew.wire.json_codec import decode, encode

_DECODE_ERRORS = (ValueError, TypeError, RecursionError, OverflowError, MemoryError)
_BATCH_BYTES = 64 << 10  # bytes of lines
ERASED = b"[ERASED]"
"""What is stored instead of a line that was erased."""


class MaskedBytes(NamedTuple):
    """Bytes that may be stored, the version of the rules, the number of masked secrets, and why it was withheld."""

    data: bytes
    rules: int = 0
    masked: int = 0
    withheld: str = ""


class Policy(NamedTuple):
    """What a destination may contain. `key` is None if it may contain secrets, such as the archive on the same disk."""

    key: bytes | None = None

    def mask_line(self, data: bytes) -> MaskedBytes:
        """Mask one line without its newline: a JSON object, or what is left of one."""
        if self.key is None:
            return MaskedBytes(data)
        if not data.strip():
            return MaskedBytes(data, RULES_VERSION)
        try:
            value = decode(data)
            split = mask_split_secrets(value, self._mark) if _has_several_texts(data) else 0
            return self._mask_value(data, value, split)
        except _DECODE_ERRORS as error:
            return self.withhold(data, f"it could not be inspected: {type(error).__name__}")

    def _mask_value(self, data: bytes, value: Any, split: int, suspects: set[str] | None = None) -> MaskedBytes:
        """Mask a decoded line, of which `split` secrets are masked. `suspects` are its texts with a secret, if known."""
        masked, secrets = mask_data(value, self.key, suspects)
        secrets += split
        if not secrets:
            return MaskedBytes(data, RULES_VERSION)
        encoded = encode(masked)
        if json_shape(decode(encoded)) != json_shape(decode(data)):
            return self.withhold(data, "masking changed the shape of the line")
        return MaskedBytes(encoded + (b"\r" if data.endswith(b"\r") else b""), RULES_VERSION, secrets)

    def mask_lines(self, lines: Sequence[bytes]) -> Iterator[MaskedBytes]:
        """Mask many lines. They are searched together, and those without a secret are left as they are."""
        if self.key is None:
            yield from map(MaskedBytes, lines)
            return
        for batch in _split_batches(lines):
            values = [_decode_or_none(line) for line in batch]
            suspicious, suspects = find_suspects(values)
            for line, value, is_suspicious in zip(batch, values, suspicious, strict=True):
                if value is None:
                    yield self.mask_line(line)
                else:
                    yield self._mask_suspect(line, value, suspects if is_suspicious else None)

    def _mask_suspect(self, line: bytes, value: Any, suspects: set[str] | None) -> MaskedBytes:
        """Mask a line of a batch; without `suspects` only a secret across the border of two texts can be in it."""
        if _has_several_texts(line):
            is_split = suspects is None and mask_split_secrets(value, self._mark) > 0
            return self.mask_line(line) if suspects is not None or is_split else MaskedBytes(line, RULES_VERSION)
        if suspects is None:
            return MaskedBytes(line, RULES_VERSION)
        try:
            return self._mask_value(line, value, 0, suspects)
        except _DECODE_ERRORS as error:
            return self.withhold(line, f"it could not be inspected: {type(error).__name__}")

    def mask_document(self, data: bytes) -> MaskedBytes:
        """Mask a whole side file: as JSON if it is JSON, else as text, else as bytes."""
        if self.key is None:
            return MaskedBytes(data)
        try:
            value = decode(data)
        except _DECODE_ERRORS:
            return self._mask_text(data)
        return self.mask_line(data) if isinstance(value, dict | list) else self._mask_text(data)

    def withhold(self, data: bytes, reason: str) -> MaskedBytes:
        """Return a mark that replaces the bytes completely."""
        mark = self._mark("withheld-line", data.decode("utf-8", "surrogateescape"))
        return MaskedBytes(mark.encode(), RULES_VERSION, 1, reason)

    def _mark(self, rule: str, secret: str) -> str:
        """Return the mark for a secret, in the format of `clew.facts.secrets`."""
        digest = hmac.digest(self.key or b"", secret.encode("utf-8", "surrogateescape"), "sha256").hex()
        return f"[REDACTED:{rule}:{digest[:8]}]"

    def _mask_text(self, data: bytes) -> MaskedBytes:
        for encoding in ("utf-8", "latin-1"):
            try:
                text, secrets = mask(data.decode(encoding), self.key)
                return MaskedBytes(text.encode(encoding) if secrets else data, RULES_VERSION, len(secrets))
            except UnicodeDecodeError:
                continue
            except _DECODE_ERRORS as error:
                return self.withhold(data, f"it could not be inspected: {type(error).__name__}")
        return self.withhold(data, "it is not text")


def _split_batches(lines: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    first = size = 0
    for number, line in enumerate(lines):
        size += len(line)
        if size >= _BATCH_BYTES:
            yield lines[first : number + 1]
            first, size = number + 1, 0
    yield lines[first:]


def _decode_or_none(line: bytes) -> Any:
    """Return a decoded line; None if it cannot be decoded."""
    try:
        return decode(line)
    except _DECODE_ERRORS:
        return None


def _has_several_texts(line: bytes) -> bool:
    return bool(count(line, b'"text"') > 2)


def json_shape(value: Any) -> Any:
    """Return the shape of decoded JSON: the number of members of each container and all values but strings.

    Masking may only change strings and keys, so the shape before and after must be equal.
    """
    members: list[Any] = []
    todo: list[Any] = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, dict):
            members.append(("object", len(item)))
            todo.extend(item.values())
        elif isinstance(item, list):
            members.append(("list", len(item)))
            todo.extend(item)
        else:
            members.append(str if isinstance(item, str) else item)
    return members
