"""Authenticate requests with the key of a helper program."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import httpx

from clew.api.key_helper import KeyHelper

_UNAUTHORIZED = 401


class HelperAuth(httpx.Auth):
    """Adds the key of a helper to requests that have no key or no token, and asks for a new one if it is refused."""

    def __init__(self, helper: KeyHelper) -> None:
        self._helper = helper

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        missing = [name for name in ("x-api-key", "authorization") if name not in request.headers]
        key = await self._helper.key()
        _set(request, missing, key)
        response = yield request
        if response.status_code == _UNAUTHORIZED and missing:
            _set(request, missing, await self._helper.key(refused=key))
            yield request


def _set(request: httpx.Request, names: list[str], key: str) -> None:
    for name in names:
        request.headers[name] = key if name == "x-api-key" else f"Bearer {key}"
