"""Nothing from the working folder is imported or run: not by a command, not by a process that one starts."""

from __future__ import annotations

import json
import os
import select
import shlex
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import clew
from clew.api.mock.scripts import MockScript, ScriptRule
from clew.api.mock.server import MockServer, running
from clew.cli.commands import COMMANDS
from clew.conversation.load import sessions
from clew.demo.demo_tree import write_demo
from clew.demo.talk import talk
from tests.console.terminal import World as Terminal
from tests.security.hostile import HostileFolder, build

PROGRAM = str(Path(sys.executable).with_name("clew"))
AGENT = str(Path(sys.executable).with_name("clew-agent"))
MAIN = str(Path(clew.__file__).with_name("__main__.py"))
PATIENCE = 120  # seconds

SCRIPT = MockScript(
    rules=[
        ScriptRule(
            prompt="work",
            steps=[
                [{"tool": "Bash", "input": {"command": "ls; cat notes.txt; pwd"}}],
                [{"tool": "Grep", "input": {"pattern": "words", "output_mode": "content"}}],
                [{"tool": "Glob", "input": {"pattern": "*.txt"}}],
                [{"tool": "Read", "input": {"file_path": "notes.txt"}}],
                "Done.",
            ],
        ),
        ScriptRule(
            prompt="send",
            steps=[
                [
                    {
                        "tool": "Task",
                        "input": {"description": "Look", "prompt": "work", "subagent_type": "general-purpose"},
                    }
                ],
                "Sent.",
            ],
        ),
    ]
)


class Place:
    """A home, a hostile folder to work in, and a model that calls tools."""

    def __init__(self, root: Path, server: MockServer) -> None:
        self.root = root
        self.server = server
        self.folder: HostileFolder = build(root / "project", root / "TRIPPED")
        self.claude = root / "claude"
        write_demo(self.claude, datetime.now(UTC))
        made = talk(seed=7, cwd=str(self.folder.path)).user("Water the tulips").reply("Watered.")
        made = made.user("Once more").reply("Watered again.")
        self.session = made.write(self.claude).stem
        bins = root / "bin"
        bins.mkdir()
        program = bins / "claude"
        program.write_text("#!/usr/bin/env sh\necho real claude\n")
        program.chmod(0o755)
        self.bins = bins

    def environment(self, **more: str) -> dict[str, str]:
        left_out = ("ANTHROPIC_", "CLAUDE", "PYTHON", "XDG_", "GIT_", "COVERAGE")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
        homes = {f"XDG_{name}_HOME": str(self.root / name.lower()) for name in ("CACHE", "CONFIG", "DATA", "STATE")}
        return {
            **kept,
            **homes,
            "HOME": str(self.root / "home"),
            "CLAUDE_CONFIG_DIR": str(self.claude),
            "ANTHROPIC_BASE_URL": self.server.url,
            "ANTHROPIC_API_KEY": "sk-ant-test",
            "PATH": os.pathsep.join([".", "", str(self.bins), self.folder.search_path]),
            "LD_LIBRARY_PATH": f"{os.pathsep}.",
            "TERM": "dumb",
            **more,
        }

    def run(
        self, words: Sequence[str], given: str = "", variables: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words,
            input=given,
            capture_output=True,
            text=True,
            cwd=self.folder.path,
            env=self.environment(**(variables or {})),
            timeout=PATIENCE,
            check=False,
        )

    def until(self, is_so: Callable[[], bool], what: str) -> None:
        """Wait for something that a process in the background does, or for an alarm."""
        limit = time.monotonic() + PATIENCE
        while not is_so() and not self.folder.alarms:
            assert time.monotonic() < limit, f"never came: {what}"
            time.sleep(0.05)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with running(SCRIPT) as server:
        place = Place(tmp_path_factory.mktemp("hostile").resolve(), server)
        (place.root / "home").mkdir()
        yield place


@pytest.fixture
def place(whole: Place) -> Place:
    whole.folder.tripwire.unlink(missing_ok=True)
    return whole


# The first process as a user starts it; and one whose environment names the folder, which its children inherit.
STARTS = {"script": ([PROGRAM], False), "children": ([sys.executable, "-I", MAIN], True)}


@pytest.fixture(params=STARTS)
def start(request: pytest.FixtureRequest, place: Place) -> Callable[..., subprocess.CompletedProcess[str]]:
    command, is_named = STARTS[request.param]

    def started(*words: str, given: str = "", **more: str) -> subprocess.CompletedProcess[str]:
        named = {"PYTHONPATH": str(place.folder.path)} if is_named else {}
        return place.run([*command, *words], given, {**named, **more})

    return started


def request(number: int, method: str, **params: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n"


MCP = "".join(
    [
        request(
            1,
            "initialize",
            protocolVersion="2025-06-18",
            capabilities={},
            clientInfo={"name": "test", "version": "1"},
        ),
        '{"jsonrpc":"2.0","method":"notifications/initialized"}\n',
        request(2, "tools/list"),
        request(3, "tools/call", name="search", arguments={"query": "tulips"}),
    ]
)
ACP = request(1, "initialize", protocolVersion=1)
STATUS = json.dumps({"session_id": "x", "cwd": ".", "model": {"display_name": "Opus"}})
AIDER = "# aider chat started at 2026-06-01 12:00:00\n\n#### hello\n\nHello.\n"

# Every command, as often as it has ways to start processes or to load libraries: the arguments, and what is on stdin.
# ID is the session of the folder; OUT a new name.
CASES: dict[str, list[tuple[list[str], str]]] = {
    "ls": [(["ls"], ""), (["ls", "projects"], ""), (["ls", "agents", "--json"], "")],
    "search": [(["search", "tulips"], ""), (["search", "tul.ps", "--regex"], ""), (["search", "-n", "2", "x"], "")],
    "browse": [(["browse", "tulips"], "")],
    "show": [(["show", "ID"], ""), (["show"], "")],
    "trace": [(["trace", "ID"], "")],
    "compare": [(["compare", "ID", "ID"], "")],
    "race": [(["race", "ID", "--prompt", "work", "--model", "claude-a", "--model", "claude-b"], "")],
    "check": [(["check", "--all"], "")],
    "usage": [(["usage"], ""), (["usage", "model", "--plot"], "")],
    "statusline": [(["statusline"], STATUS), (["statusline", "--install"], "")],
    "follow": [(["follow", "ID", "--once"], "")],
    "resume": [(["resume", "ID"], ""), (["resume", "tulips", "--print"], "")],
    "chat": [
        (["chat", "-p", "work"], ""),
        (["chat", "-p", "send"], ""),
        (["chat", "-p", "hello", "--output-format", "stream-json"], ""),
    ],
    "replay": [(["replay", "ID", "--speed", "1000"], ""), (["replay", "ID", "--check"], "")],
    "acp": [(["acp"], ACP)],
    "rewind": [(["rewind", "ID", "--dry-run"], "")],
    "trust": [(["trust", "--dry-run"], ""), (["trust", "--list"], "")],
    "recall": [(["recall", "save", "tulips"], ""), (["recall", "list"], "")],
    "collect": [
        (["collect"], ""),
        (["collect", "status"], ""),
        (["collect", "verify"], ""),
        (["collect", "rejected"], ""),
        (["collect", "init", "--dry-run"], ""),
        (["collect", "test", "--to", "OUT/x.jsonl"], ""),
        (["collect", "install", "--dry-run"], ""),
    ],
    "restore": [(["restore", "ID", "--dry-run"], "")],
    "delete": [(["delete", "ID", "--dry-run"], "")],
    "prune": [(["prune", "--older-than", "1d", "--dry-run"], "")],
    "ps": [(["ps"], ""), (["ps", "--json"], "")],
    "files": [(["files"], ""), (["files", "ID", "--json"], "")],
    "blame": [(["blame", "notes.txt"], ""), (["blame", "notes.txt:1", "--json"], "")],
    "sync": [(["sync", "OUT"], ""), (["sync", "--inventory"], "")],
    "sql": [(["sql", "select 1"], "")],
    "skill": [(["skill", "show"], "")],
    "serve": [(["serve", "--help"], "")],
    "mcp": [(["mcp", "--tools"], ""), (["mcp"], MCP)],
    "clone": [(["clone", "ID", "--dry-run"], "")],
    "trim": [(["trim", "ID", "--dry-run", "--diff"], "")],
    "drop": [(["drop", "ID", "--turn", "1", "--dry-run"], "")],
    "compact": [(["compact", "ID", "--extractive", "--dry-run"], "")],
    "compress": [(["compress", "ID", "--extractive", "--dry-run"], "")],
    "redact": [(["redact", "ID", "--secrets", "--dry-run"], "")],
    "merge": [(["merge", "ID", "ID", "--dry-run"], "")],
    "retitle": [(["retitle", "ID", "Tulips"], "")],
    "tag": [(["tag", "ID", "garden"], "")],
    "move": [(["move", ".", "OUT", "--dry-run"], "")],
    "undo": [(["undo", "--list"], "")],
    "lineage": [(["lineage", "ID"], "")],
    "export": [
        (["export", "ID", "-o", "OUT.html"], ""),
        (["export", "ID", "-o", "OUT.md"], ""),
        (["export", "ID", "--to", "codex", "-o", "OUT.jsonl"], ""),
    ],
    "pack": [(["pack", "ID", "-o", "OUT.zip"], "")],
    "unpack": [(["unpack", "OUT.zip"], "")],
    "import": [(["import", "--list"], "")],
    "repair": [(["repair", "ID", "--dry-run"], "")],
    "mock": [(["mock", "--ask", "hello"], ""), (["mock", "--", "claude"], "")],
    "demo": [(["demo", "OUT"], "")],
    "help": [(["help", "ls"], "")],
    "completion": [(["completion", "--complete", "show", ""], "")],
}


def test_no_command_is_left_out() -> None:
    assert set(CASES) == set(COMMANDS)


@pytest.mark.parametrize("command", CASES)
def test_a_command_runs_nothing_from_the_folder(
    command: str, start: Callable[..., subprocess.CompletedProcess[str]], place: Place, tmp_path: Path
) -> None:
    for number, (words, given) in enumerate(CASES[command]):
        names = {"ID": place.session, "OUT": str(tmp_path / f"out{number}")}
        typed = [names.get(word, word.replace("OUT.", f"{tmp_path}/out{number}.")) for word in words]
        done = start(*typed, given=given)
        assert not place.folder.alarms
        assert "Traceback" not in done.stderr
        assert done.returncode in (0, 1, 2), done.stderr
    if command in ("resume", "mock"):
        assert (
            "real claude"
            in start(*[names.get(w, w) for w in CASES[command][0 if command == "resume" else 1][0]]).stdout
        )


def test_a_chat_calls_its_tools_in_the_folder(place: Place) -> None:
    """The cases above would prove nothing if the calls were refused."""
    done = place.run([PROGRAM, "chat", "-p", "work", "--output-format", "stream-json", "--verbose"])
    assert done.stdout.count('"type":"tool_result"') == 4 and "nothing but words" in done.stdout, done.stderr
    assert '"is_error":true' not in done.stdout.replace(" ", "")
    assert not place.folder.alarms


def test_an_agent_sdk_runs_nothing_from_the_folder(place: Place) -> None:
    message = {"type": "user", "message": {"role": "user", "content": "work"}}
    words = [AGENT, "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
    done = place.run(words, json.dumps(message) + "\n")
    assert '"subtype":"success"' in done.stdout.replace(" ", ""), done.stderr
    assert not place.folder.alarms


def test_the_status_line_updates_its_summary_in_an_isolated_process(
    start: Callable[..., subprocess.CompletedProcess[str]], place: Place, tmp_path: Path
) -> None:
    assert start("statusline", given=STATUS, XDG_CACHE_HOME=str(tmp_path)).returncode == 0
    place.until(lambda: any(tmp_path.rglob("summary")), "the summary")
    assert not place.folder.alarms


def test_the_printed_status_line_command_is_isolated(place: Place, tmp_path: Path) -> None:
    place.run([PROGRAM, "statusline", "--install", "--yes"])
    setting = json.loads((place.claude / "settings.json").read_bytes())["statusLine"]["command"]
    done = as_a_hook(place, setting, STATUS, XDG_CACHE_HOME=str(tmp_path))
    assert "Opus" in done.stdout
    place.until(lambda: any(tmp_path.rglob("summary")), "the summary")
    assert not place.folder.alarms


@pytest.mark.parametrize("variables", [{}, {"PYTHONPATH": "."}, {"PYTHONPATH": "", "PYTHONSAFEPATH": ""}])
def test_the_workers_of_a_large_index_are_isolated(place: Place, tmp_path: Path, variables: dict[str, str]) -> None:
    """A search starts a process for each shard when much is new; here, when anything is."""
    script = (
        "import sys; import clew.index.parallel_build as build; build.MIN_BYTES = 0\n"
        "from clew.index.session_index import Index\n"
        "with Index.open() as index: print(build._build_in_parallel(index, 1, None, None))\n"
    )
    done = place.run([sys.executable, "-I", "-c", script], "", {"XDG_CACHE_HOME": str(tmp_path), **variables})
    assert not place.folder.alarms
    assert done.stdout.rstrip().endswith("False)"), done.stdout + done.stderr  # none of the workers failed
    again = place.run([PROGRAM, "search", "tulips", "--no-refresh"], "", {"XDG_CACHE_HOME": str(tmp_path)})
    assert "tulips" in again.stdout
    assert not place.folder.alarms


def test_a_search_of_much_that_is_new_starts_isolated_workers(place: Place, tmp_path: Path) -> None:
    """The same through the command itself, on 50 MB."""
    claude = tmp_path / "claude"
    for seed in range(8):
        path = talk(seed=seed, cwd=str(place.folder.path)).user(f"tulips {seed}").reply("x " * 3_300_000).write(claude)
        assert path.stat().st_size > 6 << 20
    done = place.run([PROGRAM, "search", "tulips", "--budget", "100", "--claude-dir", str(claude)])
    assert "tulips" in done.stdout, done.stderr
    assert not place.folder.alarms


def as_a_hook(place: Place, command: str, given: str = "", **more: str) -> subprocess.CompletedProcess[str]:
    """Run a command as Claude Code runs hooks and status lines: by the shell, in the folder of the project."""
    variables = {
        "PYTHONPATH": f".{os.pathsep}{place.folder.path}",
        "CLAUDE_PROJECT_DIR": str(place.folder.path),
        **more,
    }
    return place.run(["/bin/sh", "-c", command], given, variables)


def test_the_installed_hook_runs_nothing_from_the_folder(place: Place, tmp_path: Path) -> None:
    settings = place.claude / "settings.json"
    archive = tmp_path / "archive.db"
    done = place.run([PROGRAM, "collect", "install", "--hook", "--yes", "--archive", str(archive)])
    assert done.returncode == 0, done.stderr
    command = json.loads(settings.read_bytes())["hooks"]["SessionEnd"][0]["hooks"][0]["command"]
    assert as_a_hook(place, command).returncode == 0
    assert archive.is_file()
    assert not place.folder.alarms
    assert place.run([PROGRAM, "collect", "uninstall", "--hook", "--yes"]).returncode == 0
    assert "SessionEnd" not in settings.read_text()


@pytest.mark.skipif(sys.platform != "linux", reason="units of systemd")
def test_the_installed_timer_runs_nothing_from_the_folder(place: Place, tmp_path: Path) -> None:
    archive = tmp_path / "archive.db"
    done = place.run([PROGRAM, "collect", "install", "--yes", "--archive", str(archive)])
    assert not place.folder.alarms, "a systemctl of the folder was run"
    assert done.returncode in (0, 2)  # there may be no systemd here; the files are written before it is asked
    unit = (place.root / "config" / "systemd" / "user" / "clew-collect.service").read_text()
    [command] = [line.removeprefix("ExecStart=") for line in unit.splitlines() if line.startswith("ExecStart=")]
    ran = place.run(shlex.split(command), "", {"PYTHONPATH": str(place.folder.path)})
    assert ran.returncode == 0 and archive.is_file(), ran.stderr
    assert not place.folder.alarms


def test_the_web_server_runs_nothing_from_the_folder(place: Place) -> None:
    server = subprocess.Popen(
        [PROGRAM, "serve", "--json"],
        cwd=place.folder.path,
        env=place.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        assert select.select([server.stdout], [], [], PATIENCE)[0]
        url = json.loads(server.stdout.readline())["url"]
        visitor = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        visitor.open(url, timeout=PATIENCE).close()
        with visitor.open(f"{url.partition('/enter')[0]}/sessions", timeout=PATIENCE) as answer:
            assert b"tulips" in answer.read().lower()
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=PATIENCE)
    assert not place.folder.alarms


def test_the_console_completes_files_without_running_anything(tmp_path: Path, place: Place) -> None:
    """The listing of files asks git, in a repository whose configuration names programs."""
    variables = {"PATH": place.environment()["PATH"]}
    terminal = Terminal(tmp_path.resolve(), place.server, variables, program=(PROGRAM,))
    folder = build(terminal.project, tmp_path / "TRIPPED", settings=False)
    with terminal.console() as console:
        console.idle()
        console.type("@notes")
        console.see("notes.txt")
        assert not folder.alarms


@pytest.mark.parametrize("path", [None, "", ":/none", ".", "{folder}"])
def test_clew_drops_the_folder_from_its_imports(tmp_path: Path, place: Place, path: str | None) -> None:
    """`python -m` and PYTHONPATH put the folder first before clew is reached; what clew imports then is not from there."""
    folder = tmp_path / "project"
    folder.mkdir()
    for name in ("json", "msgspec", "apsw", "shlex", "argparse", "secrets", "rich"):
        (folder / f"{name}.py").write_text(f"open({str(tmp_path / 'TRIPPED')!r}, 'w').write({name!r})\n")
    words = [sys.executable, "-m", "clew", "ls"] if path is None else [PROGRAM, "ls"]
    variables = {} if path is None else {"PYTHONPATH": path.format(folder=folder)}
    done = subprocess.run(words, cwd=folder, env=place.environment(**variables), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "TRIPPED").exists()


def test_the_session_of_a_chat_is_kept(place: Place) -> None:
    """The chats above ran as chats do: each left its session."""
    place.run([PROGRAM, "chat", "-p", "work"])
    assert any(session.title == "work" for session in sessions(claude=place.claude))
