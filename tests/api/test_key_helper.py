"""The program that prints the API key: when it is run, and what becomes of one that fails."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from clew.api.helper_auth import HelperAuth
from clew.api.key_helper import KeyHelper
from clew.errors import ApiError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the helpers are written for a POSIX shell")
COUNT = "n=$(cat n 2>/dev/null || echo 0); n=$((n+1)); echo $n > n; echo key-$n"


def helper(folder: Path, command: str = COUNT, clock: Callable[[], float] = lambda: 0.0) -> KeyHelper:
    return KeyHelper(command, folder, clock)


def test_a_key_is_kept_for_its_lifetime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([0.0, 0.0, 4.9, 5.0, 5.0, 6.0])
    monkeypatch.setenv("CLAUDE_CODE_API_KEY_HELPER_TTL_MS", "5000")

    async def ask() -> list[str]:
        asked = helper(tmp_path, clock=lambda: next(times))
        return [await asked.key() for _ in range(3)]

    assert asyncio.run(ask()) == ["key-1", "key-1", "key-2"]


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("echo lost >&2; exit 3", "exit code 3: lost"),
        ("true", "did not print a key"),
        ("printf 'a\\tb'", "did not print"),
    ],
)
def test_a_helper_that_fails_is_an_error_that_names_it(tmp_path: Path, command: str, why: str) -> None:
    with pytest.raises(ApiError, match="apiKeyHelper") as failed:
        asyncio.run(helper(tmp_path, command).key())
    assert why in str(failed.value) and command in failed.value.hint


def _send(folder: Path, statuses: list[int], **headers: str) -> list[httpx.Headers]:
    """Send one request; the headers of each try."""
    seen: list[httpx.Headers] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers.copy())
        return httpx.Response(statuses[len(seen) - 1])

    async def run() -> None:
        auth = HelperAuth(helper(folder))
        async with httpx.AsyncClient(transport=httpx.MockTransport(answer), auth=auth) as client:
            await client.post("https://api.example/v1/messages", headers=headers)

    asyncio.run(run())
    return seen


def test_a_refused_key_is_asked_for_once_more(tmp_path: Path) -> None:
    seen = _send(tmp_path, [401, 401])
    assert [headers["x-api-key"] for headers in seen] == ["key-1", "key-2"]
    assert [headers["authorization"] for headers in seen] == ["Bearer key-1", "Bearer key-2"]


def test_a_key_of_the_user_is_not_replaced(tmp_path: Path) -> None:
    [headers] = _send(tmp_path, [200], **{"x-api-key": "own"})
    assert (headers["x-api-key"], headers["authorization"]) == ("own", "Bearer key-1")
