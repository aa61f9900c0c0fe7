"""What reaches a terminal or a pipe: every command, on sessions whose every string is hostile."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest

from clew.cli.commands import COMMANDS
from clew.report.charts.canvas import Canvas
from clew.report.charts.columns import Column, area_chart, column_chart, number_labels
from clew.report.charts.name_bars import name_chart
from clew.report.charts.scale import TOKENS
from clew.system import control_characters
from clew.system.control_characters import clean, clean_name, escape_json
from tests.cli.hostile import CONTROLS, HOSTILE_ID, NAME, TEXT, forged, hostile_home, leaks

BAD = NAME.replace("\x00", "").encode("utf-8", "replace").decode()
BY = ("day", "month", "model", "project", "session", "tool", "branch", "agent", "turns", "context", "blocks", "waste")
PLOTS = [f"{by} --plot" for by in ("model", "project", "tool", "branch", "agent", "session", "context")]
PLOTS += ["--breakdown", "--reconcile"]
EXPORTS = ["{id} --output {tmp}/{bad}", "{bad}", "{id} --format jsonl --reveal"]

# Of each command: the ways to run it here. {id} is a session, {bad} a hostile word, {tmp} an empty folder.
CASES: dict[str, list[str]] = {
    "ls": ["", "projects", "agents", "prompts", "--project {bad}", "--limit {bad}", "--json", "prompts --json"],
    "search": ["RED", "BREAKTEXT", "{bad}", "--regex BREAK", "--substring RED --json", '"{bad}', "RED --context 1"],
    "browse": ["--claude-dir {tmp}/{bad}", "{bad} --json"],
    "show": ["{id}", "{id} --depth full --thinking", "{bad}", "{hostile}", "{id} --turns {bad}"],
    "trace": ["{id}", "{id} --entries", "{id} --full --ascii", "{id} --json", "{bad}"],
    "compare": ["{id} {other}", "{id}", "{id} {other} --json", "{id} {bad}"],
    "race": ["{id} --prompt {bad} --models {bad}", "{bad}"],
    "check": ["{id}", "--all", "--drift", "{id} --json", "{bad}"],
    "usage": [*BY, *(f"{by} --csv" for by in BY[2:5]), *(f"{by} --json" for by in BY[2:6]), *PLOTS],
    "statusline": ["", "--json", "--install"],
    "follow": ["{id} --once --last 9 --results --thinking", "{id} --once --json", "{bad} --once"],
    "resume": ["{id} --print", "{id} --print --json", "RED --print", "{bad} --print", "{hostile} --print"],
    "chat": ["--resume {bad} -p x", "--model", "--settings {bad} -p x"],
    "replay": ["{id} --speed 100000", "{id} --json", "{id} --check", "{id} --record {tmp}/{bad}", "{bad}"],
    "acp": ["", "--model"],
    "rewind": ["{id} --dry-run", "{id} --diff --code", "{bad}", "{id} --to {bad}"],
    "trust": ["{tmp} --dry-run", "--list", "{bad} --dry-run"],
    "recall": [
        "save RED --name evil",
        "",
        "load evil",
        "export evil",
        "load {bad}",
        "list --json",
        "save RED --dry-run",
    ],
    "collect": [
        "",
        "status",
        "status --json",
        "verify",
        "backup {tmp}/b.db",
        "restore-archive {bad}",
        "erase {bad}",
        "erase {id} --dry-run",
        "resend --to {bad}",
        "verify --json",
        "status --prometheus",
        "rejected",
        "rejected --json",
        "init --dry-run",
        "test --to {bad}",
        "install --dry-run",
        "install --hook --dry-run",
        "--dry-run",
        "--to {bad}",
    ],
    "restore": ["{id} --to {tmp}/r", "{bad}", "{id} --dry-run --json"],
    "delete": ["{id} --dry-run", "{bad}", "{id} --dry-run --json"],
    "prune": ["--older-than 1d --dry-run", "--larger-than 1k --dry-run --json", "--project {bad} --empty"],
    "ps": ["", "--json", "--interval {bad}"],
    "files": ["", "--json", "{id}", "{bad}", "--project {bad}"],
    "blame": ["{tmp}/foreign.jsonl", "{tmp}/foreign.jsonl:1 --json", "{bad}", "{tmp}/foreign.jsonl --was {bad}"],
    "sync": ["{tmp}", "{bad}", "ssh:{bad}", "--inventory"],
    "sql": ["{query}", "{query} --format csv", "{query} --json", "{broken}", "--views", "{query} --store {bad}"],
    "skill": ["show", "install --dry-run", "install --project {tmp} --dry-run"],
    "serve": ["--port 99999", "--port {bad}"],
    "mcp": ["", "--nothing {bad}"],
    "clone": ["{id}", "{id} --json", "{bad}", "{id} --to {bad}"],
    "trim": ["{id} --dry-run", "{id} --diff", "{bad}"],
    "drop": ["{id} 1 --dry-run", "{id} 1 --diff", "{id} {bad}", "{id} --turns {bad}"],
    "compact": ["{id} --dry-run", "{bad}"],
    "compress": ["{id} --dry-run", "{bad}"],
    "redact": ["{id} --dry-run", "{id} --pattern RED --diff", "{id} --pattern ({bad}", "{bad}"],
    "merge": ["{id} {other}", "{id} {bad}"],
    "retitle": ["{id} {bad}", "{bad} x"],
    "tag": ["{id} {bad}", "{bad} x"],
    "move": ["{bad} {tmp}", "/home/{bad} {tmp}", "/home/ada {tmp}/{bad} --dry-run"],
    "undo": ["--list", "--list --json", "{bad}"],
    "lineage": ["{id}", "{id} --json", "{bad}"],
    "export": [
        "{id} --format markdown",
        "{id} --format html",
        "{id} --format json",
        "{id} --to codex -o {tmp}/c.jsonl",
        *EXPORTS,
    ],
    "pack": ["{id} -o {tmp}/a.zip", "{bad}", "{id} -o {tmp}/{bad}", "{id} -o {tmp}/b.zip --json"],
    "unpack": ["{bad}", "{tmp}/foreign.jsonl"],
    "import": ["--list", "{tmp}/foreign.jsonl --dry-run", "{bad}"],
    "repair": ["{id} --dry-run", "{id} --diff", "{bad}"],
    "mock": ["--ask {text}", "--lint {tmp}/lint.json", "--script {bad}", "--ask {bad} --json"],
    "demo": ["{tmp}/{bad}", "{tmp}"],
    "help": ["{bad}"],
    "completion": ["--complete show a", "--complete ls --project", "--complete {bad}"],
}
TABLES = (
    *("ls", "usage", "trace", "check", "undo", "lineage", "sql", "collect", "restore", "trust", "resume"),
    *("delete", "prune", "ps", "files", "blame"),
)
RAW_IN_PIPES = ("--csv", "csv", "jsonl")  # lossless where no terminal reads them


def test_every_command_has_cases() -> None:
    assert set(CASES) == set(COMMANDS)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("hostile")
    hostile_home(root / "claude")
    return root


def _environment(place: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "SYSTEMROOT") if name in os.environ}
    folders = {"HOME": str(place), "XDG_CACHE_HOME": str(place / "cache"), "XDG_DATA_HOME": str(place / "data")}
    return {
        **kept,
        **folders,
        "CLAUDE_CONFIG_DIR": str(place / "claude"),
        "TERM": "xterm-256color",
        "LC_ALL": "C.UTF-8",
    }


def _words(case: str, place: Path, folder: Path) -> list[str]:
    sessions = sorted((place / "claude" / "projects").glob("*/*-*-*-*-*.jsonl"), key=lambda p: -p.stat().st_size)
    ids = [path.stem for path in sessions if path.stem != HOSTILE_ID]
    query = f'SELECT *, 1 AS "{BAD.replace(chr(34), "")}" FROM sessions'
    values = {"id": ids[0], "other": ids[1], "bad": BAD, "tmp": str(folder), "hostile": HOSTILE_ID}
    values |= {"text": BAD.replace("NAME", "TEXT"), "query": query, "broken": f"SELECT {BAD}"}
    return [word.format(**values) for word in case.split()]


def _piped(words: Sequence[str], place: Path) -> str:
    command = [sys.executable, "-P", "-m", "clew", *words]
    given = json.dumps({"model": {"display_name": NAME}, "session_id": TEXT}).encode()
    done = subprocess.run(
        command, input=given, capture_output=True, env=_environment(place), cwd=place, timeout=120, check=False
    )
    assert b"Traceback" not in done.stderr, done.stderr.decode("utf-8", "replace")[-2000:]
    return (done.stdout + done.stderr).decode("utf-8", "surrogateescape")


def _shown(words: Sequence[str], place: Path) -> str:
    """What a terminal receives; the keyboard says `q`."""
    import fcntl
    import pty
    import struct
    import termios

    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 9000, 0, 0))  # so that nothing is wrapped
    command = [sys.executable, "-P", "-m", "clew", *words]
    worker = subprocess.Popen(
        command, stdin=follower, stdout=follower, stderr=follower, env=_environment(place), cwd=place
    )
    os.close(follower)
    data = b""
    until = time.monotonic() + 120
    while time.monotonic() < until:
        ready, _, _ = select.select([leader], [], [], 0.2)
        try:
            part = os.read(leader, 65536) if ready else b""
        except OSError:
            break
        data += part
        if not ready and worker.poll() is not None:
            break
        if not ready:
            os.write(leader, b"\x04")  # whoever waits for input hears that there is none
    worker.kill()
    worker.wait()
    os.close(leader)
    return data.decode("utf-8", "surrogateescape").replace("^D\b\b", "")


@pytest.mark.skipif(sys.platform == "win32", reason="there is no pty")
@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_no_escape_sequence_and_no_forged_row_reaches_a_terminal_or_a_pipe(
    command: str, place: Path, tmp_path: Path
) -> None:
    if command in ("sql", "restore", "delete", "prune"):
        _piped(["collect", "--quiet"], place)
    (tmp_path / "lint.json").write_text(json.dumps({"model": NAME, "messages": [{"role": TEXT, "content": TEXT}]}))
    (tmp_path / "foreign.jsonl").write_text(json.dumps({"type": "session_meta", "payload": {"id": NAME, "cwd": NAME}}))
    for number, case in enumerate(CASES[command]):
        for way, run in (("pipe", _piped), ("terminal", _shown)):
            folder = tmp_path / f"{way}{number}"
            folder.mkdir()
            for name in ("lint.json", "foreign.jsonl"):
                (folder / name).write_bytes((tmp_path / name).read_bytes())
            text = run([command, *_words(case, place, folder)], place)
            where = f"{command} {case} ({way})"
            if way == "terminal" or not set(RAW_IN_PIPES) & set(case.split()):
                assert not leaks(text), f"{where}: {leaks(text)[:5]}"
                assert not forged(text, "NAME"), f"{where}: {forged(text, 'NAME')[:3]}"
            if command in TABLES and "--csv" not in case and "csv" not in case:
                assert not forged(text, "TEXT"), f"{where}: {forged(text, 'TEXT')[:3]}"


def test_the_parser_and_unknown_commands_echo_nothing_raw(place: Path) -> None:
    for words in ([BAD], ["ls", f"--{BAD}"], ["ls", BAD], ["show", "x", BAD], ["usage", "--tz", BAD]):
        assert not leaks(_piped(words, place)), words
        assert not forged(_piped(words, place), "NAME"), words


def test_json_is_escaped_and_equal_in_value() -> None:
    value = {"text": f"{CONTROLS}\ud800", "more": "é 👩‍👧 \u200b"}
    plain = json.dumps(value, ensure_ascii=False)
    made = escape_json(plain)
    assert json.loads(made) == value
    assert not leaks(made) and "\\ud800" in made


def test_csv_is_lossless_in_a_pipe_and_runs_nothing_in_a_spreadsheet(place: Path) -> None:
    text = _piped(["usage", "model", "--csv"], place)
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert any("\x1b]52;c;UFdO\x07" in row["name"] for row in rows)
    from clew.cli.output import print_csv

    file = io.StringIO()
    assert print_csv(["a"], [["=cmd()"], ["-1"], [-1], ["@x"], ["\tx"]], file) == 5
    assert [row[0] for row in csv.reader(io.StringIO(file.getvalue()))][1:] == ["'=cmd()", "'-1", "-1", "'@x", "'\tx"]


def test_emoji_and_scripts_keep_their_joiners() -> None:
    assert clean("👩‍👧 می‌خواهم") == "👩‍👧 می‌خواهم"
    assert clean("a\u200db") == "a·b" and clean_name("a\nb\tc  d") == "a·b c  d"


@pytest.fixture(params=("svg", "html"))
def drawn(request: pytest.FixtureRequest, place: Path, tmp_path: Path) -> Iterator[list[str]]:
    found = []
    for by in (
        "model",
        "project",
        "tool",
        "branch",
        "agent",
        "session",
        "context",
        "turns",
        "blocks",
        "waste",
        "hourly",
    ):
        path = tmp_path / f"{by}.{request.param}"
        session = _words("{id}", place, tmp_path) if by in ("context", "turns") else []
        _piped(["usage", by, *session, "--plot", str(path), "--quiet"], place)
        found.append(path.read_text(encoding="utf-8"))
    yield found


def test_plots_are_well_formed_whatever_the_names_are(drawn: list[str]) -> None:
    for text in drawn:
        assert not leaks(text)
        for part in text.split("<svg")[1:]:
            ElementTree.fromstring("<svg" + part.partition("</svg>")[0] + "</svg>")


def test_every_kind_of_picture_bears_every_character_and_shortens_long_names() -> None:
    names = ["".join(map(chr, range(start, start + 256))) for start in (0, 0x2000, 0xD800, 0xFF00)] + ["x" * 100_000]
    columns, labels = [Column(name, [1.0] * len(names), "/x") for name in names], number_labels("12345")
    canvases = [Canvas(name, 960, has_heading=True) for name in names]
    for svg in (
        column_chart(canvases[0], columns, names, TOKENS, names[3], labels),
        area_chart(canvases[1], columns, names, TOKENS, names[4], labels, marks=[0], mark_name=names[2]),
        name_chart(canvases[2], columns, names, TOKENS),
    ):
        root = ElementTree.fromstring(svg.encode("utf-8"))
        assert len(svg) < 60_000
        assert max(len(text.text or "") for text in root.iter("{http://www.w3.org/2000/svg}text")) <= 40


def test_text_without_controls_is_recognised_for_every_character() -> None:
    """`clean` skips its patterns for printable text, so no character that they replace may be printable."""
    pattern = re.compile(f"{control_characters._CONTROLS}|{control_characters._JOINERS}")
    for code in range(sys.maxunicode + 1):
        if pattern.match(chr(code)):
            assert not chr(code).isprintable()
        elif chr(code) not in "\x1b\r":
            assert control_characters.clean(f"é{chr(code)}") == f"é{chr(code)}"
