"""`clew mock`, as it is typed."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from clew.cli import main

ASK = """
import json, os, urllib.request
body = {"model": "claude-mock", "max_tokens": 9, "messages": [{"role": "user", "content": "hello"}]}
headers = {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "anthropic-version": "2023-06-01"}
url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
with opener.open(urllib.request.Request(url, json.dumps(body).encode(), headers)) as answer:
    print(json.load(answer)["content"][0]["text"])
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "hello.toml"
    path.write_text(
        """
[[rules]]
prompt = "hello"
steps = ["Hello, world."]

[[rules]]
prompt = "look"
steps = [[{ thinking = "Hm." }, "Look:", { tool = "Bash", input = { command = "ls" } }], "Done."]

[[rules]]
prompt = "busy"
steps = [{ fault = { status = 529 } }]
"""
    )
    return path


def test_a_prompt_is_answered_without_a_server(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mock", "--script", str(script), "--ask", "hello"]) == 0
    assert capsys.readouterr() == ("Hello, world.\n", "")
    assert main(["mock", "--script", str(script), "--ask", "look"]) == 0
    assert capsys.readouterr().out == '(thinking) Hm.\nLook:\n→ Bash {"command":"ls"}\n'
    assert main(["mock", "--script", str(script), "--ask", "busy"]) == 2
    assert capsys.readouterr() == ("", "529 overloaded_error: Overloaded\n")
    assert main(["mock", "--ask", "anything \x1b[31mred"]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_an_answer_as_json(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mock", "--script", str(script), "--ask", "hello", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["clew"], said["kind"], said["status"]) == (1, "answer", 200)
    assert said["message"]["content"] == [{"type": "text", "text": "Hello, world."}]


def test_a_request_is_linted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad, good, messages = tmp_path / "bad.json", tmp_path / "good.json", tmp_path / "messages.json"
    call = {"type": "tool_use", "id": "t", "name": "Bash", "input": {}}
    talk = [
        {"role": "user", "content": "a"},
        {"role": "user", "content": "b"},
        {"role": "assistant", "content": [call]},
    ]
    bad.write_text(json.dumps({"model": "m", "max_tokens": 9, "messages": talk}))
    messages.write_text(json.dumps(talk[:2]))
    good.write_text(json.dumps({"model": "m", "max_tokens": 9, "messages": talk[:1]}))
    assert main(["mock", "--lint", str(bad)]) == 2
    out = capsys.readouterr().out
    assert "refused  messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: t.\n" in out
    assert "advice  messages.1: roles should alternate" in out
    assert main(["mock", "--lint", str(bad), "--json"]) == 2
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {(row["kind"], row["rule"], row["refused"]) for row in rows} >= {("violation", "unanswered", True)}
    assert main(["mock", "--lint", str(messages)]) == 0
    assert "advice" in capsys.readouterr().out
    assert main(["mock", "--lint", str(good)]) == 0
    assert capsys.readouterr() == ("", "Nothing that the API would refuse.\n")


def test_a_command_runs_with_the_mock_as_its_api(
    script: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    ledger = tmp_path / "ledger.jsonl"
    for _ in range(2):
        words = ["mock", "--script", str(script), "--ledger", str(ledger), "--", sys.executable, "-c", ASK]
        assert main(words) == 0
    out, err = capfd.readouterr()
    assert out == "Hello, world.\n" * 2
    assert err == "POST /v1/messages 200 rule 1, step 1, 5 in, 7 out\n" * 2
    rows = [json.loads(line) for line in ledger.read_text().splitlines()]
    assert [row["usage"]["output_tokens"] for row in rows] == [7, 7]
    assert stat.S_IMODE(ledger.stat().st_mode) == 0o600


def test_it_ends_as_the_command_ends(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["mock", "--", sys.executable, "-c", "raise SystemExit(7)"]) == 7
    assert main(["mock", "--", "no-such-program"]) == 2
    assert "no-such-program" in capfd.readouterr().err
    assert main(["mock", "--", sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"]) == 137


@contextmanager
def serving(*words: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """`clew mock` in a process of its own, and the first line that it prints."""
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        [sys.executable, "-m", "clew", "mock", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip(), process
        finally:
            if process.poll() is None:
                process.kill()


def test_it_serves_until_it_is_interrupted() -> None:
    with serving() as (url, process):
        assert url.startswith("http://127.0.0.1:")
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"{url}/health", timeout=20) as answer:
            assert json.load(answer)["status"] == "ok"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert err.startswith(f"Try: ANTHROPIC_BASE_URL={url} ") and err.endswith("GET /health 200\nInterrupted.\n")


def test_requests_are_told_as_json_lines() -> None:
    with serving("--json") as (first, process):
        mock = json.loads(first)
        assert (mock["clew"], mock["kind"]) == (1, "mock")
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"{mock['url']}/", timeout=20) as answer:
            answer.read()
        assert process.stdout is not None
        row = json.loads(process.stdout.readline())
        assert (row["kind"], row["n"], row["method"], row["status"]) == ("request", 1, "GET", 200)


def test_a_script_that_cannot_be_used_is_told_in_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text('{"rulez": []}')
    assert main(["mock", "--script", str(bad), "--ask", "x"]) == 2
    assert capsys.readouterr().err.startswith("clew: Cannot read the script: Object contains unknown field `rulez`")
    assert main(["mock", "--script", str(tmp_path / "none.json")]) == 2
    assert "none.json" in capsys.readouterr().err
