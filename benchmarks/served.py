"""`clew serve` as it is typed, in a process of its own, and ways to ask it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx

PATIENCE = 120  # seconds until a server that prints nothing is ended


@dataclass
class Served:
    """A server that runs; `entrance` is the address that it printed."""

    process: subprocess.Popen[str]
    entrance: str

    @property
    def base(self) -> str:
        return self.entrance.partition("/enter")[0]

    @property
    def port(self) -> int:
        return urlsplit(self.entrance).port or 0

    @property
    def token(self) -> str:
        return self.entrance.partition("token=")[2]

    def next_entrance(self) -> str:
        """The address that took the place of the one that was used."""
        assert self.process.stderr is not None
        impatient = threading.Timer(PATIENCE, self.process.kill)  # so that the loop ends
        impatient.start()
        printed = []
        try:
            for line in self.process.stderr:
                if line.startswith("Opened."):
                    return line.split()[-1]
                printed.append(line)
        finally:
            impatient.cancel()
        raise AssertionError(f"the server printed no further address, but: {''.join(printed)}")

    @contextmanager
    def client(self) -> Iterator[httpx.Client]:
        """A client that has been let in."""
        with httpx.Client(base_url=self.base, trust_env=False, timeout=60) as found:
            answer = found.get(self.entrance)
            assert answer.status_code == 303, answer.text
            self.entrance = self.next_entrance()
            yield found


@contextmanager
def serving(claude: Path, cache: Path, *words: str) -> Iterator[Served]:
    """A server on a free port, or on one of `words`, ended with Ctrl-C. Its key and settings are beside the cache."""
    port = () if "--port" in words else ("--port", "0")
    command = [sys.executable, "-m", "clew", "serve", "--json", "--claude-dir", str(claude), *port, *words]
    surroundings = {**os.environ, "XDG_CACHE_HOME": str(cache), "XDG_STATE_HOME": str(cache / "state")}
    process = subprocess.Popen(
        command, env=surroundings, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
    )
    try:
        assert process.stdout is not None and process.stderr is not None
        line = process.stdout.readline()
        assert line, process.stderr.read()
        yield Served(process, json.loads(line)["url"])
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
