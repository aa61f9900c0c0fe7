"""The prompt cache, played: which part of a request was sent before, up to a mark.

A beginning that ends at a mark is kept. A later request reads the longest kept beginning that ends at one of its own
marks or at most twenty blocks before it; what lies between that and its last mark is written.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from clew.api.mock.responses import usage
from clew.api.request_body import SHORTEST, unmarked
from clew.api.token_estimate import tokens
from clew.wire.json_codec import encode

Json = dict[str, Any]

LOOK_BACK = 20


class Cache:
    """Remembers the beginnings that were marked."""

    def __init__(self) -> None:
        self._kept: set[bytes] = set()

    def usage(self, body: Mapping[str, Any]) -> Json:
        """The usage of a request's input, which is from now on kept."""
        digest, total = hashlib.sha256(encode(body.get("model"))), 0
        places: list[tuple[bytes, int, str]] = []  # each block: digest and tokens up to it, lifetime if marked
        for part, lifetime in _parts(body):
            digest.update(encode(part))
            total += tokens(part)
            places.append((digest.digest(), total, lifetime if total >= SHORTEST else ""))
        marks = [i for i, place in enumerate(places) if place[2]]
        if not marks:
            return usage(max(1, total))
        reach = {i for mark in marks for i in range(max(0, mark - LOOK_BACK), mark + 1)}
        read = max((places[i][1] for i in reach if places[i][0] in self._kept), default=0)
        self._kept |= {places[i][0] for i in marks}
        _, end, lifetime = places[marks[-1]]
        return usage(total, read, max(0, end - read), lifetime)


def _parts(body: Mapping[str, Any]) -> Iterator[tuple[Any, str]]:
    """The blocks in the order in which the API reads them, unmarked, each with the lifetime of its mark."""
    system = body.get("system")
    content = [system] if isinstance(system, str) else list(system or ())
    yield from ((_plain(part), _lifetime(part)) for part in (*(body.get("tools") or ()), *content))
    for message in body.get("messages") or ():
        said = message.get("content")
        for part in [said] if isinstance(said, str) else said or ():
            whole = {"type": "text", "text": part} if isinstance(part, str) else _plain(part)
            yield [message.get("role"), whole], _lifetime(part)


def _plain(part: Any) -> Any:
    return unmarked({"system": [part]})["system"][0]


def _lifetime(part: Any) -> str:
    mark = part.get("cache_control") if isinstance(part, dict) else None
    return str(mark.get("ttl") or "5m") if isinstance(mark, dict) else ""
