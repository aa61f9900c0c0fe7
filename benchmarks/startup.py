"""Measure the start of every command: its help, and its cheapest work on the demo tree, ÷ `python -c pass`.

Of the work two times count: until it first looks into the folder of Claude Code, and the whole. `python -c pass` runs
by turns with each of them.

python -m benchmarks.startup [COMMAND …]
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.measure import Line, Note, cpu_of
from clew.cli.commands import COMMANDS

LIMIT = 3.0
ROUNDS = 5
HEAVY_MS = 1.5  # an import that takes longer, with all that it imports itself, is named
NAMED = 4
# Of these only the help is measured: they start a server, a model or a screen, or another program.
WITHOUT_WORK = {
    "acp",
    "browse",
    "chat",
    "collect",
    "compact",
    "mcp",
    "mock",
    "race",
    "replay",
    "serve",
    "skill",
    "sync",
}
WORK: dict[str, Sequence[str]] = {
    "blame": ("FILE", "--no-git", "--was", "/home/ada/work/bakery-orders/src/orders/pricing.py"),
    "compare": ("ID", "ID"),
    "completion": ("bash",),
    "demo": ("FOLDER",),
    "drop": ("ID", "--turn", "1", "--dry-run"),
    "export": ("ID",),
    "follow": ("--help",),
    "help": ("ls",),
    "import": ("--help",),
    "merge": ("ID", "ID", "--dry-run"),
    "move": ("/nowhere", "/elsewhere", "--dry-run"),
    "pack": ("ID", "--output", "FOLDER"),
    "prune": ("--dry-run",),
    "recall": (),
    "restore": (),
    "resume": ("--help",),
    "retitle": ("ID", "title", "--dry-run"),
    "rewind": ("ID", "--dry-run"),
    "search": ("error",),
    "sql": ("SELECT 1",),
    "statusline": ("--help",),
    "tag": ("ID", "word", "--dry-run"),
    "trust": ("--help",),
    "undo": ("--dry-run",),
    "unpack": ("--help",),
}
_STOPPING = """import os, sys
TREE = os.environ["CLAUDE_CONFIG_DIR"]

def stop(event, arguments, names=("open", "os.scandir", "os.listdir")):
    if event in names and str(arguments[0]).startswith(TREE):
        os._exit(0)

sys.addaudithook(stop)
from clew.cli import main

sys.exit(main())
"""
ONE_SESSION = {"check", "clone", "compress", "lineage", "redact", "repair", "show", "trace", "trim", "delete"}
EDITS = {"clone", "compress", "redact", "repair", "trim", "delete"}


def measure(scratch: Path, names: Sequence[str] = ()) -> Iterator[Line | Note]:
    """Yield the ratio of each command, and which of its imports take longest."""
    clew, tree = str(_wrapper(scratch)), scratch / "demo"
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    given = {**kept, "HOME": str(scratch), "XDG_CACHE_HOME": str(scratch / "cache"), "CLAUDE_CONFIG_DIR": str(tree)}
    subprocess.run([clew, "demo", str(tree)], check=True, env=given, stdout=subprocess.DEVNULL)
    session = max((tree / "projects").rglob("*-*-*-*-*.jsonl"), key=lambda path: path.stat().st_size).stem
    stopping = str(_stopping_wrapper(scratch))
    for name in names or COMMANDS:
        commands = [("--help", [clew, name, "--help"])]
        if name not in WITHOUT_WORK:
            words = [name, *_work(name, session, scratch)]
            commands += [("until it reads", [stopping, *words]), ("work", [clew, *words])]
        for what, command in commands:
            ratio = _ratio(command, given)
            yield Line(f"clew {name}, {what} ÷ python -c pass", ratio, "×", f"≤ {LIMIT:.0f}", ratio <= LIMIT)
            if ratio > LIMIT and command[0] == clew:
                yield Note(f"    {_heaviest(command, given)}")


def _ratio(command: Sequence[str], environment: dict[str, str]) -> float:
    """Return the best CPU time of a command ÷ that of an interpreter that does nothing, taken by turns."""
    pair = (command, [sys.executable, "-c", "pass"])
    rounds = [[cpu_of(each, 1, environment) for each in pair] for _ in range(ROUNDS)]
    return min(ours for ours, _ in rounds) / min(nothing for _, nothing in rounds)


def _work(name: str, session: str, scratch: Path) -> list[str]:
    if name in ONE_SESSION:
        return [session, *(["--dry-run"] if name in EDITS else [])]
    given = {"ID": session, "FOLDER": str(scratch / name), "FILE": str(_wrapper(scratch))}
    return [given.get(word, word) for word in WORK.get(name, ())]


def _heaviest(command: Sequence[str], environment: dict[str, str]) -> str:
    """Return the slowest imports of a command, each with the milliseconds of all that it imports itself."""
    arguments = [sys.executable, "-X", "importtime", *command]
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=False)
    found = re.findall(r"import time: +\d+ \| +(\d+) \| ( *)(\S+)", done.stderr)
    times = sorted(((int(microseconds) / 1000, name) for microseconds, _, name in found), reverse=True)
    named = [f"{name} {spent:.1f} ms" for spent, name in times if spent > HEAVY_MS and not name.startswith("clew")]
    return f"{len(found)} modules; {', '.join(named[:NAMED])}"


def _wrapper(folder: Path) -> Path:
    """Write the command as uv and the newest pip install it, whatever was used here."""
    path = folder / "clew"
    path.write_text(f"#!{sys.executable}\nimport sys\nfrom clew.cli import main\n\nsys.exit(main())\n")
    path.chmod(0o755)
    return path


def _stopping_wrapper(folder: Path) -> Path:
    """Write the command with an end at the moment when it first opens or lists something in the folder of Claude Code."""
    path = folder / "stopping"
    path.write_text(f"#!{sys.executable}\n{_STOPPING}")
    path.chmod(0o755)
    return path


def main() -> int:
    is_met = True
    with tempfile.TemporaryDirectory() as scratch:
        for line in measure(Path(scratch), sys.argv[1:]):
            print(line, flush=True)
            is_met &= line.is_met
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
