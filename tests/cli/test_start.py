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
        os.write(out, f"{','.join(sorted(sys.modules))} {line}".encode())
        os._exit(0)
    os.waitpid(child, 0)
"""


def imported(commands: list[str], home: Path) -> dict[str, set[str]]:
    """Return for each command, by its words, the modules that it has imported."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        input="".join(f"{command}\n" for command in commands),
        env={"HOME": str(home), "PATH": "/usr/bin:/bin", "CLAUDE_CONFIG_DIR": str(home / "claude")},
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [line.split(" ", 1) for line in done.stdout.splitlines()]
    assert len(lines) == len(commands), done.stderr
    return {command: set(names.split(",")) for names, command in lines}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    imported([f"demo {home / 'claude'}"], home)
    return home


def test_the_options_of_no_command_need_what_its_work_needs(demo: Path) -> None:
    """A command imports its machinery in the functions that run it: `--help`, errors of options and completion are quick."""
    found = imported([f"{name} --help" for name in COMMANDS], demo)
    assert {command: names & NOT_FOR_HELP for command, names in found.items() if names & NOT_FOR_HELP} == {}
    assert {command: len(names) for command, names in found.items() if len(names) > 100} == {}


def test_reading_and_editing_need_no_heavy_library(demo: Path) -> None:
    """Except for the colours of code and Markdown, which are shown on a terminal only."""
    session = next((demo / "claude" / "projects").rglob("*-*-*-*-*.jsonl")).stem
    of_all = ["ls", "ps", "usage", "search error", "files", "move /nowhere /elsewhere --dry-run"]
    of_one = ["show", "trace", "check", "lineage", "clone --dry-run", "trim --dry-run", "compress --dry-run"]
    work = [*of_all, *(f"{command} {session}" for command in of_one)]
    found = imported(work, demo)
    assert {command: names & HEAVY for command, names in found.items() if names & HEAVY} == {}


def test_the_commands_that_run_again_and_again_import_few_modules(demo: Path) -> None:
    """Each module costs a fraction of a millisecond; a new interpreter has about 35 of them."""
    imported(["search error", "usage"], demo)  # which create the caches
    found = imported(["--version", "search error", "usage", "statusline --help", "trust --help"], demo)
    limits = {"--version": 60, "search error": 140, "usage": 140, "statusline --help": 110, "trust --help": 110}
    assert {command: len(names) for command, names in found.items() if len(names) > limits[command]} == {}


# What a command does not need for this work: modules of ours that only other functions use, and libraries that they load.
UNUSED = {
    "ps": "clew.conversation.session clew.wire.entry clew.collect.archive.archive_view platform json",
    "prune --dry-run": "clew.conversation.session clew.wire.entry clew.wire.side_files",
    "undo --dry-run": "clew.conversation.load clew.conversation.resume_request hashlib re enum uuid decimal",
    "restore": "secrets hmac random msgspec apsw re enum pathlib",
    "sql SELECT": "apsw.ext http email inspect dataclasses",
    "rewind ID --dry-run": "asyncio ssl",
    "search rounding -nothing -n 3": "re enum json pathlib clew.conversation.session",
    "recall": "json clew.facts.secrets.mask_secrets clew.index.results clew.wire.session_writer",
    "retitle ID title --dry-run": "re enum uuid decimal clew.conversation.resume_request clew.wire.side_files hashlib",
    "tag ID word --dry-run": "clew.conversation.resume_request clew.wire.side_files clew.wire.overflow_files hashlib",
    "show ID": "clew.view.diff_html clew.view.syntax html threading difflib",
    "trace ID": "clew.wire.side_files difflib shutil",
    "check ID": "clew.facts.secrets.mask_secrets clew.system.worker_processes inspect",
    "clone ID --dry-run": "clew.api.endpoint clew.edit.plan_diff clew.edit.drop_turns json urllib",
    "compare ID ID": "clew.view.diff_html clew.view.syntax inspect threading",
    "files": "subprocess inspect clew.chat.config.repository",
    "lineage ID": "clew.conversation.resume_request inspect hashlib",
    "ls": "clew.conversation.resume_request clew.conversation.rounds",
}


def test_a_command_imports_nothing_for_what_it_does_not_do(demo: Path) -> None:
    """A module with many functions, as that of sessions, loads what each of them needs when it is called."""
    session = max((demo / "claude" / "projects").rglob("*-*-*-*-*.jsonl"), key=lambda path: path.stat().st_size).stem
    words = {command.replace("ID", session): unused.split() for command, unused in UNUSED.items()}
    found = imported(list(words), demo)
    assert {
        command: names & set(words[command]) for command, names in found.items() if names & set(words[command])
    } == {}


def test_few_values_are_dataclasses(demo: Path) -> None:
    """Defining one takes 25 times as long as a Struct; only what needs fields that are not arguments is one."""
    session = next((demo / "claude" / "projects").rglob("*-*-*-*-*.jsonl")).stem
    commands = ["lineage", "check", "compress --dry-run", "redact --dry-run", "clone --dry-run", "repair --dry-run"]
    found = imported([f"{command} {session}" for command in commands] + ["undo --dry-run", "ls", "usage"], demo)
    assert {command for command, names in found.items() if "dataclasses" in names} == set()


# Stops a command when it first opens or lists something in the folder of Claude Code, as the benchmark does.
STOPPED = """
import os, sys
def stop(event, arguments):
    if event in ("open", "os.scandir", "os.listdir") and str(arguments[0]).startswith(os.environ["CLAUDE_CONFIG_DIR"]):
        print(",".join(sorted(sys.modules)), flush=True)
        os._exit(0)
sys.addaudithook(stop)
from clew.cli import main
main(sys.argv[1:])
"""
FINDS_ITS_SESSION_FIRST = "check clone compress delete drop export lineage redact repair retitle rewind show trace trim"


@pytest.mark.parametrize("name", FINDS_ITS_SESSION_FIRST.split())
def test_a_command_looks_for_its_session_before_it_loads_what_works_on_it(demo: Path, name: str) -> None:
    further = {"drop": ["--turn", "1"], "retitle": ["title"]}.get(name, [])
    done = subprocess.run(
        [sys.executable, "-c", STOPPED, name, "f67460eb", *further],
        env={"HOME": str(demo), "PATH": "/usr/bin:/bin", "CLAUDE_CONFIG_DIR": str(demo / "claude")},
        capture_output=True,
        text=True,
        check=True,
    )
    names = set(done.stdout.strip().split(","))
    assert "clew.wire.layout" in names, done.stderr
    assert names & {"msgspec", "clew.wire.entry", "clew.conversation.session", "apsw", "datetime"} == set()


def test_an_expression_is_compiled_when_it_is_first_used() -> None:
    from clew.cli.light_imports import Expression

    digits = Expression("[0-9]+")
    assert digits.sub("n", "a1b22") == "anbn" and digits.pattern == "[0-9]+"
    broken = Expression("(")
    with pytest.raises(Exception, match="missing"):
        broken.match("")


THREADS = """
import re, sys, threading
from clew.cli import light_imports
light_imports.install()
def kind(name):
    __import__(name)
    return type(next(value for name, value in vars(sys.modules[name]).items() if hasattr(value, "groupindex"))).__name__
alone = kind("clew.wire.overflow_files")
end = threading.Event()
threading.Thread(target=end.wait).start()
print(alone, kind("clew.wire.salvage"))
end.set()
"""


def test_nothing_is_replaced_while_other_threads_run() -> None:
    """They would get the stand-in of `re` as well, and third parties compare types of expressions."""
    done = subprocess.run([sys.executable, "-c", THREADS], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["Expression", "Pattern"]


@pytest.mark.parametrize("text", ["", "A", "AA", "AAA", "AOA", "OA", "AAO"])
@pytest.mark.parametrize(
    "pattern",
    [
        "(-*A-*)",
        "(-*A?-*)",
        "(-*[A-]*)",
        "(-*A[A-]*)",
        "(-*A-*)(-*A?-*)",
        "(A)",
        "()",
        "(-*A[A-]*)(-*A-*)",
        "(-*[A-]*)(-*A-*)",
        "(-*A?-*)(-*[A-]*)",
        "(AA)",
        "(A[A]*)",
        "(-*-*)",
        "(-*)",
    ],
)
def test_arguments_are_assigned_as_by_the_expressions_of_argparse(pattern: str, text: str) -> None:
    import re

    from clew.cli.light_imports import _match_arguments

    expected, found = re.match(pattern, text), _match_arguments(pattern, text)
    assert (found is None) == (expected is None)
    assert found is None or expected is None or list(found.groups()) == list(expected.groups())


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
import datetime, decimal, enum, re
print(re.compile("a").match("a").group(), isinstance(re.compile("a"), re.Pattern), enum.Enum.__name__, decimal.Decimal(1))
print(datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC).isoformat(), datetime.datetime.strptime("2026", "%Y"))
print(gettext.gettext("a"), inspect.isclass(Point), platform.system(), sys.modules["inspect"] is inspect)
"""


def test_what_libraries_postpone_is_there_when_it_is_used() -> None:
    said = [
        subprocess.run([sys.executable, "-c", POSTPONED_USES, how], capture_output=True, text=True, check=True).stdout
        for how in ("light", "plain")
    ]
    assert said[0] == said[1] != ""
