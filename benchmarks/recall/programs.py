"""Ask clew and its peers: each answers queries with session ids, the best first, at most twenty.

The peers are installed as for `make bench`, and read the tree as `~/.claude` of a home of its own.
"""

from __future__ import annotations

import json
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peer import PATIENCE, PEERS, Peer, install, surroundings
from clew.errors import ClewError
from clew.index.session_index import Index

LIMIT = 20
HITS = 200  # messages to ask for, where a program answers with messages
START = 60  # seconds in which a server must answer

# Asked through its library, as its server does; the queries come as JSON.
_ASK_LOG = """
import json, sqlite3, sys
from pathlib import Path
from claude_code_log.cache import get_cache_db_path
from claude_code_log.search import search
database = sqlite3.connect(get_cache_db_path(Path.home() / ".claude" / "projects"))
answers = []
for query in json.load(sys.stdin):
    try:
        answers.append([hit.session_id for hit in search(database, query, limit=200)])
    except sqlite3.Error:
        answers.append([])
print(json.dumps(answers))
"""


@dataclass(frozen=True, slots=True)
class Place:
    """Where programs run: the home with the tree, and a folder for indexes and installed programs."""

    home: Path
    scratch: Path

    @property
    def root(self) -> Path:
        return self.home / ".claude"


Answers = list[list[str]]


def ask_clew(place: Place, queries: list[str]) -> tuple[str, Answers]:
    """Return the name of the program, and the sessions that it finds for each query."""
    with Index.open(place.root, place.scratch / "cache" / "clew") as index:
        index.refresh()
        return "clew", [_search_clew(index, query) for query in queries]


def ask_clew_by_meaning(place: Place, queries: list[str]) -> Answers:
    """Return the sessions that clew finds for each query with `--semantic`. Raises ClewError if it is not installed."""
    with Index.open(place.root, place.scratch / "cache" / "clew") as index:
        index.refresh()
        index.embed()
        return [_search_clew(index, query, semantic=True) for query in queries]


def _search_clew(index: Index, query: str, *, semantic: bool = False) -> list[str]:
    try:
        return [result.session for result in index.search(query, LIMIT, semantic=semantic)]
    except ClewError:
        return []


def ask_fast_resume(place: Place, queries: list[str]) -> tuple[str, Answers]:
    name = _build(place, "fast-resume")
    command = [str(place.scratch / "fast-resume" / "bin" / "fr"), "--no-refresh", "--json", "--limit", str(LIMIT), "--"]
    answers = []
    for query in queries:
        done = subprocess.run(
            [*command, query],
            env=surroundings(place.home),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        found = json.loads(done.stdout)["sessions"] if done.returncode == 0 else []
        answers.append([str(session["id"]) for session in found])
    return name, answers


def ask_agentsview(place: Place, queries: list[str]) -> tuple[str, Answers]:
    """Ask its server for messages by words (`--fts`); the sessions in the order of their best messages."""
    name = _build(place, "agentsview")
    with _serve_agentsview(place) as address:
        return f"{name} --fts", [_search_agentsview(address, query) for query in queries]


@contextmanager
def _serve_agentsview(place: Place) -> Iterator[str]:
    port = _free_port()
    command = [str(place.scratch / "agentsview" / "bin" / "agentsview"), "serve", "--port", str(port)]
    command += ["--no-browser", "--no-sync", "--no-update-check"]
    environment = {**surroundings(place.home), **_peer("agentsview").environment}
    address = f"http://127.0.0.1:{port}"
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            _wait_for(address, server)
            yield address
        finally:
            server.terminate()


def _search_agentsview(address: str, query: str) -> list[str]:
    asked = {"pattern": query, "mode": "fts", "limit": HITS, "include_one_shot": "true", "include_automated": "true"}
    try:
        with urllib.request.urlopen(f"{address}/api/v1/search/content?{urllib.parse.urlencode(asked)}") as answer:
            found = json.load(answer)
    except urllib.error.HTTPError:
        return []
    return _once(str(match["session_id"]) for match in found["matches"] or ())


def ask_claude_code_log(place: Place, queries: list[str]) -> tuple[str, Answers]:
    name = _build(place, "claude-code-log")
    python = str(place.scratch / "claude-code-log" / "bin" / "python")
    done = subprocess.run(
        [python, "-c", _ASK_LOG],
        input=json.dumps(queries),
        env=surroundings(place.home),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    return name, [_once(found) for found in json.loads(done.stdout)]


def _build(place: Place, name: str) -> str:
    """Install a peer and let it index the tree; its name and version."""
    peer, folder = _peer(name), place.scratch / name
    version = install(name, folder, place.home)
    command = [str(folder / "bin" / peer.build[0]), *peer.build[1:]]
    environment = {**surroundings(place.home), **peer.environment}
    subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=True)
    return f"{name} {version}"


def _peer(name: str) -> Peer:
    return next(peer for peer in PEERS if peer.name == name)


def _once(sessions: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(sessions))[:LIMIT]


def _free_port() -> int:
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return int(opened.getsockname()[1])


def _wait_for(address: str, server: subprocess.Popen[bytes]) -> None:
    """Wait until a server answers. Raises OSError if it does not."""
    end = time.monotonic() + START
    while True:
        try:
            urllib.request.urlopen(address, timeout=START).close()
            return
        except OSError:
            if time.monotonic() > end or server.poll() is not None:
                raise
            time.sleep(0.1)


PROGRAMS: dict[str, Callable[[Place, list[str]], tuple[str, Answers]]] = {
    "clew": ask_clew,
    "fast-resume": ask_fast_resume,
    "agentsview": ask_agentsview,
    "claude-code-log": ask_claude_code_log,
}
