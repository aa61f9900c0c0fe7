"""Peers: other programs that index the same sessions, each run as its users run it, in a home of its own.

They are installed from the package index into a folder that is thrown away. One that cannot be had or does not run is told
as such, with the reason.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from benchmarks.corpus import generate
from benchmarks.measure import Line, Note, children_cpu, transcripts

ROUNDS = 2
LONG = 20  # CPU seconds of a round after which there is no second one: it would differ little
PATIENCE = 900  # seconds for one step of a peer
WORDS = ("error", "return", "file")

# Its command line makes pages as well, so the two steps behind its search are called by themselves.
_FILL = """
import sqlite3
from pathlib import Path
from claude_code_log.cache import CacheManager, get_cache_db_path, get_library_version
from claude_code_log.converter import ensure_fresh_cache
from claude_code_log.search import ensure_index
projects = Path.home() / ".claude" / "projects"
for project in sorted(path for path in projects.iterdir() if path.is_dir()):
    ensure_fresh_cache(project, CacheManager(project, get_library_version()), silent=True)
ensure_index(sqlite3.connect(get_cache_db_path(projects)))
"""
_ASK = """
import sqlite3, sys
from pathlib import Path
from claude_code_log.cache import get_cache_db_path
from claude_code_log.search import search
search(sqlite3.connect(get_cache_db_path(Path.home() / ".claude" / "projects")), sys.argv[1])
"""


@dataclass(frozen=True, slots=True)
class Peer:
    """A program: how it indexes, where the index then lies below the home, and how it is asked, if from a shell."""

    name: str
    build: tuple[str, ...]
    index: str
    ask: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    least: float | None = None
    is_store: bool = False  # it keeps what it read, as `clew collect` does
    remark: str = ""


PEERS = (
    Peer(
        "agentsview",
        ("agentsview", "sync"),
        ".agentsview",
        environment={"AGENTSVIEW_NO_DAEMON": "1", "DO_NOT_TRACK": "1"},
        least=8.0,
        is_store=True,
        remark="it answers through a server that stays, so its queries are not compared",
    ),
    Peer(
        "claude-code-log",
        ("python", "-c", _FILL),
        ".claude/projects/claude-code-log-cache.db",
        ("python", "-c", _ASK),
        least=4.0,
        remark="asked by its library, without the pages that its command would make first",
    ),
    Peer(
        "fast-resume",
        ("fr", "--rebuild", "--list", "--limit", "1"),
        ".cache/fast-resume",
        ("fr", "--no-refresh", "--json", "--limit", "10"),
        remark="it reads what people and the model said, neither tools nor agents",
    ),
)


def tree(scratch: Path, size: int) -> Path:
    """The tree that all are compared on, in a home of its own."""
    root = scratch / "peers" / ".claude"
    if not root.exists():
        generate(root, size, 2)
    return root


def compare(scratch: Path, size: int) -> Iterator[Line | Note]:
    """Clew and its peers on one tree: what a first index takes, how large it is, how long a query takes as a process."""
    home = tree(scratch, size).parent
    amount = sum(Path(path).stat().st_size for path in transcripts(home / ".claude"))
    build = "import sys; from clew.index.session_index import Index; Index.open(*sys.argv[1:]).refresh()"
    cache = home / ".cache" / "clew"
    ours = _built([sys.executable, "-c", build, str(home / ".claude"), str(cache)], home, cache, {})
    yield Line(f"{amount / 1e6:.0f} MB, clew: first index, CPU seconds for a GB", ours / amount * 1e9, "s")
    yield Line("clew: index ÷ transcripts", 100 * _size(cache) / amount, "%")
    clew = [str(Path(sys.executable).with_name("clew")), "search", "--no-refresh"]
    yield Line("clew: a query as a process", _asked(clew, home, {}), "ms")
    kept = home / "archive.db"
    collected = _built([clew[0], "collect", "--quiet", "--archive", str(kept)], home, kept, {})
    yield Line("clew collect: first poll, CPU seconds for a GB", collected / amount * 1e9, "s")
    for peer in PEERS:
        try:
            yield from _one(peer, scratch, (home, amount), (ours, collected))
        except (OSError, subprocess.SubprocessError) as error:
            yield Note(f"{peer.name}: not compared: {reason(error)}")


def _one(peer: Peer, scratch: Path, tree: tuple[Path, int], ours: tuple[float, float]) -> Iterator[Line | Note]:
    (home, amount), (indexed, collected) = tree, ours
    folder = scratch / peer.name
    version = install(peer.name, folder, home)
    build = [str(folder / "bin" / peer.build[0]), *peer.build[1:]]
    spent = _built(build, home, home / peer.index, peer.environment)
    made = _size(home / peer.index)
    if not made:
        yield Note(f"{peer.name} {version}: not compared: it ran, and left no index at ~/{peer.index}")
        return
    limit = f"≥ {peer.least:g}" if peer.least else ""
    ratio = spent / indexed
    yield Line(f"{peer.name} {version}: first index, CPU seconds for a GB", spent / amount * 1e9, "s")
    yield Line(f"{peer.name} ÷ clew: CPU for a first index", ratio, "×", limit, ratio >= (peer.least or 0))
    if peer.is_store:
        yield Line(f"{peer.name} ÷ clew collect: CPU for a first poll", spent / collected, "×")
    yield Line(f"{peer.name}: index ÷ transcripts", 100 * made / amount, "%")
    if peer.ask:
        asked = [str(folder / "bin" / peer.ask[0]), *peer.ask[1:]]
        yield Line(f"{peer.name}: a query as a process", _asked(asked, home, peer.environment), "ms")
    if peer.remark:
        yield Note(f"{peer.name}: {peer.remark}")
    shutil.rmtree(folder)


def install(name: str, folder: Path, home: Path) -> str:
    """Install a peer into a folder of its own; its version."""
    _run([sys.executable, "-m", "venv", "--without-pip", str(folder)], home, {})
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python")]
    _run([*pip, "install", "--quiet", name], Path.home(), {})
    return _run([*pip, "show", name], home, {}).partition("Version: ")[2].partition("\n")[0]


def _asked(command: Sequence[str], home: Path, environment: dict[str, str]) -> float:
    """The median wall time of some queries, in milliseconds."""
    spent = []
    for word in WORDS * 3:
        start = time.perf_counter()
        _run([*command, word], home, environment)
        spent.append(time.perf_counter() - start)
    return 1000 * median(spent)


def _built(command: Sequence[str], home: Path, index: Path, environment: dict[str, str]) -> float:
    """The CPU seconds of making an index from nothing, the best of some rounds."""
    best = float("inf")
    for number in range(ROUNDS):
        if number and best > LONG:
            break
        for path in (index, *index.parent.glob(f"{index.name}-*")):
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        before = children_cpu()
        _run(command, home, environment)
        best = min(best, children_cpu() - before)
    return best


def _run(command: Sequence[str], home: Path, environment: dict[str, str]) -> str:
    """What a command prints. It finds its sessions by its home alone."""
    given = {**surroundings(home), **environment}
    done = subprocess.run(command, env=given, capture_output=True, text=True, timeout=PATIENCE, check=True)
    return done.stdout


def surroundings(home: Path) -> dict[str, str]:
    """The environment of a peer: another home, and nothing that would lead it elsewhere."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "CLAUDE", "PYTHON"))}
    return {**kept, "HOME": str(home)}


def _size(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def reason(error: OSError | subprocess.SubprocessError) -> str:
    said = str(getattr(error, "stderr", "") or "").strip().splitlines()
    return said[-1] if said else str(error)
