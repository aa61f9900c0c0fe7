"""What is run on each mutated file: every command that reads, the library, the pages, the tools for models."""

from __future__ import annotations

import contextlib
import io
import itertools
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import clew
from clew.cli import main
from clew.cli.commands import COMMANDS
from clew.errors import ClewError
from tests.fuzz.world import HEALTHY, Case

ALLOWED = (0, 1, 2)
_FAILED = re.compile(r"Traceback|Internal error|something unexpected")

FOREIGN = ("import {foreign} --list", "import {foreign} --all --dry-run --json", "import {foreign} --all --again")
# {foreign}: a folder with a mutated log of another program
# {id}: the session, {path}: its file, {out}: a new file, {mutated}: the file that was changed
WORDS: dict[str, tuple[str, ...]] = {
    "ls": ("ls", "ls --json", "ls projects", "ls agents --json", "ls prompts", "ls --since 900d --reveal"),
    "search": (
        "search pears",
        "search --json the",
        "search --substring e --context 1",
        "search --regex [a-z]+ --limit 3",
        "search the is:error OR tool:Bash since:900d --reveal",
    ),
    "show": (
        "show {id}",
        "show {id} --full --reveal",
        "show {path} --json",
        "show {id} --depth prompts --last 2 --meta",
    ),
    "trace": ("trace {id}", "trace {id} --json", "trace {id} --entries", "trace {id} --full --ascii --active"),
    "compare": (
        "compare {id}",
        f"compare {{id}} {HEALTHY}",
        "compare {id} --json --files",
        "compare {id}@1 {id}@2 --depth full",
    ),
    "check": (
        "check {id}",
        "check --all",
        "check --all --json",
        "check {id} --json",
        "check --drift",
        "check {path} --as 2.0.50",
    ),
    "usage": (
        *(
            "usage",
            "usage --json --breakdown",
            "usage session",
            "usage project --csv",
            "usage branch --plot",
            "usage tool",
        ),
        *("usage agent", "usage blocks", "usage context {id}", "usage turns {id} --json", "usage waste {id}"),
        *("usage model --plot {out}.svg", "usage --reconcile", "usage hourly --estimate --tz Asia/Kathmandu"),
    ),
    "statusline": ("statusline --no-refresh",),
    "follow": ("follow {id} --once --last 3 --results --thinking", "follow {id} --once --json"),
    "resume": ("resume --print {id}", "resume --print --json {id}"),
    "replay": (
        "replay {id} --speed 1000000 --max-idle 0 --quiet",
        "replay {id} --record {out}.cast",
        "replay {id} --record {out}.html",
    ),
    "rewind": (
        "rewind {id} --dry-run",
        "rewind {id} --to 1 --code --diff",
        "rewind {id} --conversation --dry-run --json",
    ),
    "recall": ("recall save pears --dry-run", "recall list"),
    "collect": (
        "collect --quiet",
        "collect --redact --to {out}.jsonl",
        "collect --dry-run",
        "collect status",
        "collect verify",
    ),
    "restore": ("restore {id} --dry-run",),
    "delete": ("delete {id} --dry-run",),
    "prune": ("prune --older-than 1d --dry-run --json", "prune --empty --dry-run"),
    "ps": ("ps", "ps --json"),
    "files": ("files", "files {id} --json"),
    "blame": ("blame {path} --no-git", "blame {path}:1-3 --json --no-git --was /home/ada/a.py"),
    "sync": ("sync {out}", "sync --inventory"),
    "sql": (
        "sql --views",
        "sql SELECT*FROM/**/sessions --json",
        "sql SELECT*FROM/**/usage",
        "sql SELECT*FROM/**/calls",
    ),
    "clone": ("clone {id} --dry-run", "clone {id} --diff --at 1", "clone {id}", "clone {id} --to {out}"),
    "trim": (
        "trim {id} --preset heavy --dry-run",
        "trim {id} --preset fit --diff",
        "trim {id} --tools truncate --keep-last 1",
    ),
    "drop": ("drop {id} --turn 1 --dry-run", "drop {id} --keep -1 --diff", "drop {id} --turn 1"),
    "compact": ("compact {id} --extractive --dry-run", "compact {id} --extractive --keep-last 1 --diff"),
    "compress": (
        "compress {id} --extractive --bands 1:brief --dry-run",
        "compress {id} --extractive --diff --tools keep",
    ),
    "redact": ("redact {id} --dry-run", "redact {id} --diff --pattern e.", "redact {id} --json"),
    "merge": ("merge {id} {path} --dry-run", f"merge {{id}} {HEALTHY} --diff"),
    "retitle": ("retitle {id} pears --dry-run", "retitle {id} pears"),
    "tag": ("tag {id} pears --dry-run", "tag {id} --clear"),
    "move": ("move /home/ada {out} --dry-run", "move orchard {out} --dry-run --json"),
    "undo": ("undo --list", "undo --dry-run"),
    "lineage": ("lineage {id}", "lineage {id} --json"),
    "export": (
        *("export {id} -o {out}.html", "export {id} --format markdown --front-matter --thinking", "export {id} --json"),
        *(
            "export --format html --since 900d -o {out}",
            "export {id} --format jsonl",
            "export {id} --to codex -o {out}.jsonl",
            "export {id} --format markdown --depth full",
        ),
    ),
    "repair": (
        "repair {id} --dry-run",
        "repair {id} --diff",
        "repair {id} --json",
        "repair --index --project orchard --dry-run",
    ),
    "pack": ("pack {id} -o {out}.zip", "pack {id} -o {out}.2.zip --redact --json"),
    "unpack": ("unpack {mutated} --dry-run",),
    "import": ("import {mutated} --dry-run", "import --list", *FOREIGN),
    "mock": ("mock --lint {mutated}", "mock --script {mutated} --ask pears"),
    "skill": ("skill install --dry-run",),
    "trust": ("trust --list", "trust {out} --dry-run"),
    "completion": ("completion --complete --claude-dir {root} show ",),
}
ELSEWHERE = {
    "browse": "it needs a terminal: tests/tui drives it",
    "serve": "its pages are asked by `pages`",
    "mcp": "its tools are called by `tools`",
    "chat": "it resumes by `resumed`",
    "acp": "it resumes sessions as chat does",
    "race": "it sends a request that `library` builds",
    "demo": "it reads nothing",
    "help": "it reads nothing",
}
RUNS = tuple(words for each in WORDS.values() for words in each)
assert not set(WORDS) & set(ELSEWHERE)

_NUMBER = itertools.count()


class Hangs(BaseException):
    """A run took longer than anyone would wait."""


def missing_commands() -> set[str]:
    return set(COMMANDS) - set(WORDS) - set(ELSEWHERE)


def command(case: Case, words: str) -> str:
    """Run a command in this process: what went wrong, or nothing."""
    out = case.root.parent / f"out{next(_NUMBER)}"
    values = {"id": case.id, "path": str(case.session), "out": str(out), "mutated": str(case.mutated)}
    values |= {"foreign": str(case.foreign), "root": str(case.root)}
    arguments = [word.format(**values).replace("/**/", " ") for word in words.split(" ")]
    if arguments[0] not in ("import", "mock", "skill", "trust", "restore", "sql", "completion"):
        arguments += ["--claude-dir", str(case.root)]
    stdout, stderr = _stream(), _stream()
    try:
        with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr), _input(case):
            code = main(arguments)
    except (KeyboardInterrupt, Hangs):
        raise
    except BaseException:  # noqa: BLE001 - whatever gets out of a command is what is looked for
        return traceback.format_exc()
    said, told = _written(stdout), _written(stderr)
    if _FAILED.search(told) and not _is_explained(told):
        return told
    if code not in ALLOWED:
        return f"exit code {code}"
    if (
        arguments[0] == "ls"
        and len(arguments) <= 4
        and arguments[1] in ("--json", "--claude-dir")
        and HEALTHY[:8] not in said
    ):
        return f"the healthy session is not listed\n{said}\n{told}"
    return ""


def _is_explained(told: str) -> bool:
    """Whether the only error was raised on purpose, with a sentence for the user."""
    lines = told.splitlines()
    last = max((i for i, line in enumerate(lines) if line.startswith("  File ")), default=0)
    return "Internal error" not in told and "unexpected" not in told and "raise ValueError(" in lines[last + 1]


def _stream() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)


def _written(stream: io.TextIOWrapper) -> str:
    assert isinstance(stream.buffer, io.BytesIO)
    return stream.buffer.getvalue().decode("utf-8", "replace")


@contextlib.contextmanager
def _input(case: Case) -> Iterator[None]:
    old = sys.stdin
    data = case.data if case.mutated.suffix == ".json" else b'{"session_id":"x","cwd":"."}'
    sys.stdin = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", errors="surrogateescape")
    try:
        yield
    finally:
        sys.stdin = old


# -- everything else


def library(case: Case) -> None:
    """Every public name that takes a session, on every session."""
    for session in clew.sessions(claude=case.root):
        _touch(
            session, ("id", "title", "cwd", "branch_name", "versions", "models", "started", "ended", "leaf", "graph")
        )
        _touch(session, ("damage", "prompts", "branches", "compactions", "agents", "replies", "calls", "active"))
        for turn in session.turns:
            _touch(turn, ("text", "kind", "images", "replies", "calls", "answer", "time", "seconds", "state"))
        for call in session.calls:
            clew.label(call)
            _touch(call, [name for name in dir(call) if not name.startswith("_")])
        for entry in session.entries:
            clew.detail(entry)
            list(clew.words(entry))
            _touch(entry, ("data", "time", "blocks", "text", "results", "uses", "raw"))
        clew.usage(session.entries)
        for version in ("1.0.24", "2.0.0", "2.1.29", "2.1.100"):
            clew.request(session, version, "And now?")
        clew.request(session)
        with contextlib.suppress(clew.Refused):
            clew.plan(session).trim("heavy")


def _touch(value: Any, names: Any) -> None:
    for name in names:
        getattr(value, name)


def pages(case: Case) -> None:
    """The pages of `clew serve`."""
    from starlette.testclient import TestClient

    from clew.web.access_control import EntryToken
    from clew.web.routes import make_app

    door = EntryToken(8080, lambda address: None)
    base = f"/session/{case.id}"
    parts = (
        "",
        "/outline",
        "/page/1",
        "/turn/1",
        "/turn/1/markdown",
        "/at/100",
        "/find?q=e",
        "/charts",
        "/export/html",
        "/export/markdown",
    )
    with TestClient(make_app(str(case.root), door), base_url="http://127.0.0.1:8080") as client:
        client.get(door.address, follow_redirects=False)
        for path in (
            "/",
            "/sessions/rows",
            "/search/hits?q=pears",
            "/files",
            "/usage/body?by=session",
            f"/sessions/preview/{case.id}",
            f"/compare?left={case.id}&right={HEALTHY}",
            *(base + part for part in parts),
        ):
            answer = client.get(path)
            if answer.status_code >= 500:
                raise AssertionError(f"{path}: {answer.status_code} {answer.text[:300]}")
            if path == "/sessions/rows" and HEALTHY[:8] not in answer.text:
                raise AssertionError("the healthy session is not in the list")


def tools(case: Case) -> None:
    """The tools of `clew mcp`."""
    from clew.mcp.session_tools import McpToolError, call
    from clew.wire.layout import Tree

    questions: tuple[tuple[str, dict[str, Any]], ...] = (
        ("list_sessions", {}),
        ("read_session", {"id": case.id, "depth": "full"}),
        ("read_turn", {"id": case.id, "number": 1}),
        ("context", {"id": case.id, "offset": 10}),
        ("usage", {}),
        ("search_sessions", {"query": "pears"}),
    )
    for name, asked in questions:
        with contextlib.suppress(McpToolError):
            call(Tree(case.root), name, asked)


def resumed(case: Case) -> None:
    """What a chat reads before it resumes a session."""
    from clew.chat.store.resume_session import find, resume
    from clew.wire.layout import Tree

    resume(find(Tree(case.root), case.id).path)


OTHERS: dict[str, Callable[[Case], None]] = {"library": library, "pages": pages, "tools": tools, "resumed": resumed}


def other(case: Case, name: str) -> str:
    told = _stream()
    try:
        with contextlib.redirect_stdout(_stream()), contextlib.redirect_stderr(told):
            OTHERS[name](case)
    except ClewError:
        return ""
    except (KeyboardInterrupt, Hangs):
        raise
    except BaseException:  # noqa: BLE001
        return traceback.format_exc()
    return _written(told) if _FAILED.search(_written(told)) else ""


def run(case: Case, what: str) -> str:
    return other(case, what) if what in OTHERS else command(case, what)


def place(report: str) -> str:
    """Where in clew something was raised: the last of its frames, and the kind of error."""
    frames = re.findall(r'File "[^"]*?/clew/((?:\w+/)*\w+\.py)", line (\d+)', report)
    lines = [line for line in report.strip().splitlines() if re.match(r"[\w.]+(Error|Exception|Iteration)\b", line)]
    last = ":".join(frames[-1]) if frames else Path(report.strip().splitlines()[-1][:80]).name
    return f"{last} {lines[-1][:100] if lines else ''}".strip()
