"""Get the API key from a program of the user (`apiKeyHelper`), and again when it is old or refused.

Commands that only check a request import this too, so `asyncio`, which takes longer than they do, is imported when a
helper is created.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from clew.errors import ApiError
from clew.system.environment import child_environment, positive_number

_SECONDS = 60.0  # that the program may take
_LIFETIME = 300.0  # seconds after which it is run again


class KeyHelper:
    """Runs the program, and keeps the key that it printed for some time."""

    def __init__(self, command: str, cwd: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self.command = command
        self._cwd = cwd
        self._clock = clock
        self._key = ""
        self._since = 0.0
        import asyncio

        self._lock = asyncio.Lock()

    @property
    def lifetime(self) -> float:
        """Seconds that a key is used: `CLAUDE_CODE_API_KEY_HELPER_TTL_MS`, else five minutes."""
        return positive_number("CLAUDE_CODE_API_KEY_HELPER_TTL_MS") / 1000 or _LIFETIME

    async def key(self, refused: str = "") -> str:
        """Return the key; a new one if it is old, or if it is the one that the server refused. Raises ApiError."""
        async with self._lock:
            is_old = self._clock() - self._since >= self.lifetime
            if not self._key or is_old or self._key == refused:
                self._key, self._since = await self._run(), self._clock()
            return self._key

    async def _run(self) -> str:
        import asyncio

        process = await asyncio.create_subprocess_shell(
            self.command,
            cwd=self._cwd,
            env=child_environment(),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            stdout, stderr = await asyncio.wait_for(process.communicate(), _SECONDS)
        except TimeoutError:
            process.kill()
            await process.wait()
            raise self._error(f"took longer than {_SECONDS:g} seconds") from None
        key = stdout.decode("utf-8", "replace").strip()
        if process.returncode:
            said = stderr.decode("utf-8", "replace").strip()[:200]
            raise self._error(f"failed with exit code {process.returncode}{f': {said}' if said else ''}")
        if not key or not key.isprintable() or not key.isascii():
            raise self._error("did not print a key")
        return key

    def _error(self, what: str) -> ApiError:
        return ApiError(f"The apiKeyHelper of your settings {what}.", "endpoint", hint=f"It is: {self.command}")
