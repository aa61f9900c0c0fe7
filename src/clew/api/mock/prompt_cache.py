"""Simulate the prompt cache: which prefix of a request was sent before, up to a mark.

A prefix that ends at a mark is cached. A later request reads the longest cached prefix that ends at one of its own
marks or at most twenty blocks before it; the blocks between that and its last mark are written.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from clew.api.mock.responses import input_usage
from clew.api.request_body import MIN_CACHED, remove_cache_marks
from clew.api.token_estimate import estimate_tokens
from clew.wire.json_codec import Json, encode

LOOK_BACK = 20


class Cache:
    """Remembers the marked prefixes."""

    def __init__(self) -> None:
        self._cached: set[bytes] = set()

    def usage(self, body: Mapping[str, Any]) -> Json:
        """Return the usage of a request's input, and cache its marked prefixes."""
        digest, total = hashlib.sha256(encode(body.get("model"))), 0
        prefixes: list[tuple[bytes, int, str]] = []  # each block: digest and tokens up to it, lifetime if marked
        for part, lifetime in _parts(body):
            digest.update(encode(part))
            total += estimate_tokens(part)
            prefixes.append((digest.digest(), total, lifetime if total >= MIN_CACHED else ""))
        marks = [i for i, prefix in enumerate(prefixes) if prefix[2]]
        if not marks:
            return input_usage(max(1, total))
        reach = {i for mark in marks for i in range(max(0, mark - LOOK_BACK), mark + 1)}
        read = max((prefixes[i][1] for i in reach if prefixes[i][0] in self._cached), default=0)
        self._cached |= {prefixes[i][0] for i in marks}
        _, end, lifetime = prefixes[marks[-1]]
        return input_usage(total, read, max(0, end - read), lifetime)


def _parts(body: Mapping[str, Any]) -> Iterator[tuple[Any, str]]:
    """Yield the blocks in the order in which the API reads them, unmarked, each with the lifetime of its mark."""
    system = body.get("system")
    content = [system] if isinstance(system, str) else list(system or ())
    yield from ((_unmarked_part(part), _lifetime(part)) for part in (*(body.get("tools") or ()), *content))
    for message in body.get("messages") or ():
        message_content = message.get("content")
        for part in [message_content] if isinstance(message_content, str) else message_content or ():
            block = {"type": "text", "text": part} if isinstance(part, str) else _unmarked_part(part)
            yield [message.get("role"), block], _lifetime(part)


def _unmarked_part(part: Any) -> Any:
    return remove_cache_marks({"system": [part]})["system"][0]


def _lifetime(part: Any) -> str:
    mark = part.get("cache_control") if isinstance(part, dict) else None
    return str(mark.get("ttl") or "5m") if isinstance(mark, dict) else ""
