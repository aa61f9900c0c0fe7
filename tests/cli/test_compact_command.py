"""`clew compact`, as it is typed."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

import clew as package
from clew.api.mock.scripts import Fault, MockScript, ScriptStep
from clew.api.mock.server import running
from clew.conversation.load import request
from clew.demo.talk import talk

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "made-up")


@pytest.fixture
def path(claude: Path) -> Path:
    told = talk()
    for number in range(1, 5):
        told = told.user(f"prompt {number}").reply(f"answer {number}")
    return told.write(claude)


def first_text(out: str) -> str:
    messages = request(package.read(json.loads(out)["path"])).messages
    return str(messages[0]["content"][0]["text"])


def test_in_the_words_of_a_file_or_of_stdin(
    clew: Run, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "words.md").write_text("It is done.")
    code, out, err = clew("compact", path.stem, "--summary", str(tmp_path / "words.md"), "--keep-last", "1", "--json")
    assert (code, err) == (0, "")
    assert "(turns 1 to 3)" in first_text(out) and "It is done." in first_text(out)
    monkeypatch.setattr("sys.stdin", io.StringIO("Said here."))
    code, out, err = clew("compact", path.stem, "--summary", "-", "--turns", "1-2", "--json")
    assert (code, err) == (0, "")
    assert "(turns 1 to 2)" in first_text(out) and "Said here." in first_text(out)
    code, out, err = clew("compact", path.stem, "--summary", str(tmp_path / "nothing.md"))
    assert (code, out) == (2, "") and "No such file" in err


def test_with_extracts(clew: Run, path: Path) -> None:
    code, out, _ = clew("compact", path.stem, "--extractive", "--turns", "1--2", "--json")
    assert code == 0
    assert "1. prompt 1\n   answer 1\n2. prompt 2\n   answer 2\n3. prompt 3\n   answer 3" in first_text(out)


@pytest.mark.usefixtures("key")
def test_with_a_model(clew: Run, path: Path) -> None:
    with running(MockScript(otherwise=["ALL OF IT"]), keeps_bodies=True) as server:
        code, out, err = clew("compact", path.stem, "--keep-last", "1", "--base-url", server.url, "--json")
    assert (code, err) == (0, "")
    assert "ALL OF IT" in first_text(out)
    [row] = server.rows
    asked = row["body"]["messages"][0]["content"]
    assert "prompt 3" in asked and "answer 3" in asked and "prompt 4" not in asked


@pytest.mark.usefixtures("key")
def test_a_model_that_fails(clew: Run, path: Path, claude: Path) -> None:
    with running(MockScript(otherwise=[ScriptStep(fault=Fault(status=401))])) as server:
        code, out, err = clew("compact", path.stem, "--base-url", server.url)
    assert (code, out) == (2, "")
    assert err.startswith("clew: invalid x-api-key.\nCheck ANTHROPIC_API_KEY")
    assert len(list(claude.glob("projects/*/*.jsonl"))) == 1


@pytest.mark.req("R301")
def test_a_dry_run(clew: Run, path: Path, claude: Path) -> None:
    code, out, err = clew("compact", path.stem, "--dry-run")
    assert code == 0 and out.startswith("Would make a session of ")
    assert err.startswith("Would ask claude-haiku-4-5 for 1 summary, about ")
    assert len(list(claude.glob("projects/*/*.jsonl"))) == 1


def test_turns_that_are_not_there(clew: Run, path: Path) -> None:
    assert clew("compact", path.stem, "--extractive", "--turns", "1-9")[0] == 1
    code, _, err = clew("compact", path.stem, "--extractive", "--keep-last", "4")
    assert (code, err) == (2, "clew: Refused: no turn would be summarised.\n")
