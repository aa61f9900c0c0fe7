"""Run a search command of the user: the query goes to its stdin, the results come from its stdout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from clew.chat.tools.builtin.web_search import SearchFailed, WebHit
from clew.chat.tools.process import MAX_OUTPUT_BYTES, run_shell

SECONDS = 60.0


class SearchCommand:
    """Runs the command for each query, with `{"query": …, "allowed_domains": […], "blocked_domains": […]}` on its
    stdin.

    The command prints a JSON array of objects with `title`, `url` and optionally `text`. A non-zero exit code is a
    failure.
    """

    def __init__(self, command: str, cwd: Path, variables: Mapping[str, str], seconds: float = SECONDS) -> None:
        self._command = command
        self._cwd = cwd
        self._variables = variables
        self._seconds = seconds

    async def find(self, query: str, allowed: Sequence[str], blocked: Sequence[str]) -> Sequence[WebHit]:
        request = {"query": query, "allowed_domains": list(allowed), "blocked_domains": list(blocked)}
        ended = await run_shell(
            self._command, self._cwd, self._variables, msgspec.json.encode(request) + b"\n", self._seconds
        )
        if ended.is_late:
            raise SearchFailed(f"the search command did not end within {self._seconds:g} seconds.")
        if ended.code:
            output = ended.stderr.strip() or ended.stdout.strip()
            why = f": {output.splitlines()[-1][:500]}" if output else "."
            raise SearchFailed(f"the search command ended with code {ended.code}{why}")
        if len(ended.stdout) >= MAX_OUTPUT_BYTES:
            raise SearchFailed("the search command printed more than 1 MB.")
        try:
            return msgspec.json.decode(ended.stdout, type=list[WebHit])
        except (msgspec.MsgspecError, UnicodeError) as error:
            raise SearchFailed(
                f'the search command did not print a JSON array of {{"title", "url", "text"}}: {error}.'
            ) from None
