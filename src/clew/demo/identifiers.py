"""Deterministic identifiers in the forms that session files contain."""

from __future__ import annotations

import base64
from hashlib import sha256
from uuid import UUID

NIL = "00000000-0000-0000-0000-000000000000"
_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def uuid(*parts: object) -> str:
    """Return a version-4 shaped UUID."""
    return str(UUID(bytes=_digest(*parts)[:16], version=4))


def message_id(*parts: object) -> str:
    return "msg_01" + _base58(22, "message", *parts)


def request_id(message: str) -> str:
    """Return the id of the request that a message answers; the same for all lines of one message."""
    return "req_011C" + _base58(20, "request", message)


def call_id(*parts: object) -> str:
    return "toolu_01" + _base58(22, "call", *parts)


def hexadecimal(length: int, *parts: object) -> str:
    return _digest(*parts).hex()[:length]


def signature(*parts: object) -> str:
    """Return the signature of a thinking block: opaque base64, here without meaning."""
    return base64.b64encode(b"".join(_digest(i, *parts) for i in range(5))).decode()


def backup_name(path: str, version: int) -> str:
    """Return the name in file-history/ of a saved state of a file."""
    return f"{sha256(path.encode()).hexdigest()[:16]}@v{version}"


def _digest(*parts: object) -> bytes:
    return sha256("\x1f".join(map(str, parts)).encode()).digest()


def _base58(length: int, *parts: object) -> str:
    number = int.from_bytes(_digest(*parts), "big")
    digits = []
    for _ in range(length):
        number, digit = divmod(number, 58)
        digits.append(_BASE58[digit])
    return "".join(digits)
