"""What a command imports before it works: no library that it does not use."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from clew.cli.commands import COMMANDS

# Loading one of these takes as long as starting Python, or several times that.
HEAVY = {
    *("anyio", "asyncio", "httpx", "markdown_it", "mcp", "numpy", "polars", "prompt_toolkit", "psycopg", "pyarrow"),
    *("pydantic", "pygments", "rich", "ssl", "starlette", "textual", "typing_extensions", "uvicorn"),
}
# Loading one of these takes a quarter to all of the time in which Python starts: too long for a help text.
NOT_FOR_HELP = HEAVY | {
    *("apsw", "dataclasses", "decimal", "difflib", "email", "html", "http", "inspect", "json", "logging", "msgspec"),
    *("pathlib", "platform", "shutil", "sqlite3", "subprocess", "tempfile", "tokenize", "urllib", "uuid"),
}
# Imports the package once, and runs each line of its input in a child of its own, which reports what it imported.
SCRIPT = """
import os, sys
from clew.cli import main
for line in sys.stdin:
    arguments = line.split()
    sys.stdout.flush()
    child = os.fork()
    if not child:
        out = os.dup(1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        main(arguments)
        names = sorted({name.partition(".")[0] for name in sys.modules})
        os.write(out, f"{len(sys.modules)} {','.join(names)} {line}".encode())
        os._exit(0)
    os.waitpid(child, 0)
"""


def imported(commands: list[str], home: Path) -> dict[str, tuple[set[str], int]]:
    """Return for each command, by its words, the top-level modules that it has imported and the number of modules."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        input="".join(f"{command}\n" for command in commands),
        env={"HOME": str(home), "PATH": "/usr/bin:/bin", "CLAUDE_CONFIG_DIR": str(home / "claude")},
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [line.split(" ", 2) for line in done.stdout.splitlines()]
    assert len(lines) == len(commands), done.stderr
    return {command: (set(names.split(",")), int(count)) for count, names, command in lines}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    imported([f"demo {home / 'claude'}"], home)
    return home


def test_the_options_of_no_command_need_what_its_work_needs(demo: Path) -> None:
    """A command imports its machinery in the functions that run it: `--help`, errors of options and completion are quick."""
    found = imported([f"{name} --help" for name in COMMANDS], demo)
    assert {c: names & NOT_FOR_HELP for c, (names, _) in found.items() if names & NOT_FOR_HELP} == {}
    assert {command: count for command, (_, count) in found.items() if count > 100} == {}


def test_reading_and_editing_need_no_heavy_library(demo: Path) -> None:
    """Except for the colours of code and Markdown, which are shown on a terminal only."""
    session = next((demo / "claude" / "projects").rglob("*-*-*-*-*.jsonl")).stem
    of_all = ["ls", "ps", "usage", "search error", "files", "move /nowhere /elsewhere --dry-run"]
    of_one = ["show", "trace", "check", "lineage", "clone --dry-run", "trim --dry-run", "compress --dry-run"]
    work = [*of_all, *(f"{command} {session}" for command in of_one)]
    found = imported(work, demo)
    assert {command: names & HEAVY for command, (names, _) in found.items() if names & HEAVY} == {}


def test_the_commands_that_run_again_and_again_import_few_modules(demo: Path) -> None:
    """Each module costs a fraction of a millisecond; a new interpreter has about 35 of them."""
    imported(["search error", "usage"], demo)  # which create the caches
    found = imported(["--version", "search error", "usage", "statusline --help", "trust --help"], demo)
    limits = {"--version": 60, "search error": 140, "usage": 140, "statusline --help": 110, "trust --help": 110}
    assert {command: count for command, (_, count) in found.items() if count > limits[command]} == {}


# Uses what is postponed, of every library that is imported without it.
POSTPONED_USES = """
import sys
if sys.argv[1] == "light":
    from clew.cli import light_imports
    light_imports.install()
import argparse, dataclasses, msgspec, pathlib, uuid, urllib.parse
loaded = {"gettext", "inspect", "ipaddress", "platform", "textwrap", "msgspec.toml", "msgspec.inspect"} & set(sys.modules)
if sys.argv[1] == "light":
    assert not loaded, loaded
@dataclasses.dataclass
class Point:
    x: int
class Shape(msgspec.Struct):
    \"\"\"A shape.\"\"\"
    x: int
print(Point.__doc__, msgspec.json.schema(Shape), msgspec.inspect.type_info(int), msgspec.msgpack.encode(1))
print(msgspec.toml.decode(b"a = 1"), pathlib.Path("/a b").as_uri(), urllib.parse.urlsplit("http://[::1]/").hostname)
print(uuid._LINUX, argparse.ArgumentParser(prog="x").format_help())
import gettext, inspect, platform
print(gettext.gettext("a"), inspect.isclass(Point), platform.system(), sys.modules["inspect"] is inspect)
"""


def test_what_libraries_postpone_is_there_when_it_is_used() -> None:
    said = [
        subprocess.run([sys.executable, "-c", POSTPONED_USES, how], capture_output=True, text=True, check=True).stdout
        for how in ("light", "plain")
    ]
    assert said[0] == said[1] != ""
