"""`clew compress`, as it is typed; with a model, over a real socket."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import clew as package
from clew.api.mock.scripts import Fault, MockScript, ScriptRule, ScriptStep
from clew.api.mock.server import running
from clew.conversation.load import request
from clew.demo.talk import bash, talk
from tests.cli.hand_written import ONE, reply, text, user, write

Run = Callable[..., tuple[int, str, str]]
TOKEN = "ghp_" + "Ab3dEf6hIj" * 3 + "KLMNOP"
REPORT = " ".join(f"I looked at pump {n}. The valve in `pump{n}.py` was stuck because of rust." for n in range(12))
BANDS = ("--bands", "1:verbatim,rest:brief")


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
        told = told.user(f"prompt {number}").reply(f"{REPORT} {TOKEN}", call=bash("ls")).result("x" * 400).reply(REPORT)
    return told.write(claude)


def texts(path: str) -> list[str]:
    messages = request(package.read(path)).messages
    return [block["text"] for message in messages for block in message["content"] if block["type"] == "text"]


def value(out: str) -> dict[str, Any]:
    [found] = [json.loads(line) for line in out.splitlines()]
    assert found["clew"] == 1
    return dict(found)


@pytest.mark.req("R294")
def test_prompts_stay_word_for_word(clew: Run, claude: Path) -> None:
    prompts: list[Any] = [f"  Look at this:\n\n\t{REPORT}  \n", [text(REPORT), text("and \u2028 then?")], "last"]
    asked = [
        line for at, each in enumerate(prompts) for line in (user(2 * at + 1, each), reply(2 * at + 2, text(REPORT)))
    ]
    write(claude, ONE, *asked)
    code, out, _ = clew("compress", ONE, "--extractive", *BANDS, "--json")
    made = value(out)
    lines = [json.loads(line) for line in Path(made["path"]).read_text().splitlines()]
    assert (code, made["steps"]) == (0, ["compress 2 turns"])
    assert [line["message"]["content"] for line in lines if line["type"] == "user"] == prompts
    said = [line["message"]["content"][0]["text"] for line in lines if line["type"] == "assistant"]
    assert [len(each) < len(REPORT) for each in said] == [True, True, False]


@pytest.mark.req("R295", "R301")
def test_without_a_model(clew: Run, path: Path) -> None:
    original = path.read_bytes()
    code, out, err = clew("compress", path.stem, "--extractive", *BANDS, "--json")
    made = value(out)
    assert (code, err, made["written"], made["steps"]) == (0, "", True, ["compress 3 turns"])
    said = texts(made["path"])
    assert [said[0], said[2], said[4], said[6]] == ["prompt 1", "prompt 2", "prompt 3", "prompt 4"]
    assert all(len(said[n]) < 300 and said[n].endswith("[Calls left out: Bash]") for n in (1, 3, 5))
    assert made["bytes"]["after"] < made["bytes"]["before"]
    assert made["after"]["tokens"] < made["before"]["tokens"]
    assert path.read_bytes() == original
    again = clew("compress", made["id"], "--extractive", *BANDS)
    assert again == (1, "", "Nothing to compress: every turn is as short as its band asks for.\n")


@pytest.mark.usefixtures("key")
def test_with_a_model_of_which_one_answer_fails_and_one_is_late(clew: Run, path: Path) -> None:
    rules = [
        ScriptRule(prompt="prompt 2", steps=[ScriptStep(fault=Fault(status=400, message="I would rather not"))]),
        ScriptRule(
            prompt="prompt 3", steps=[ScriptStep(content="LATE", fault=Fault(status=529, times=1, retry_after=0.01))]
        ),
    ]
    with running(MockScript(rules=rules, otherwise=["SUMMED UP"]), keeps_bodies=True) as server:
        code, out, _ = clew("compress", path.stem, *BANDS, "--base-url", server.url, "--model", "some-model", "--json")
    made = value(out)
    assert code == 0
    assert made["steps"] == ["compress 2 turns; turn 2 stays as it was: I would rather not."]
    assert made["asked"]["failed"] == [{"what": "turn 2", "error": "I would rather not."}]
    said = texts(made["path"])
    assert [said[1], said[-3]] == ["SUMMED UP\n\n[Calls left out: Bash]", "prompt 4"]
    assert "LATE\n\n[Calls left out: Bash]" in said
    assert sum(text == REPORT for text in said) == 2
    bodies = [row["body"] for row in server.rows]
    assert len(bodies) == 4 and {body["model"] for body in bodies} == {"some-model"}
    assert TOKEN not in json.dumps(bodies) and "[REDACTED:github-token]" in json.dumps(bodies)


@pytest.mark.usefixtures("key")
def test_when_nothing_answers_nothing_is_written(clew: Run, path: Path, claude: Path) -> None:
    with running(MockScript(otherwise=[ScriptStep(fault=Fault(status=400, message="No"))])) as server:
        code, out, err = clew("compress", path.stem, *BANDS, "--base-url", server.url)
    assert (code, out, err.splitlines()[0]) == (2, "", "clew: No.")
    assert len(list(claude.glob("projects/*/*.jsonl"))) == 1


@pytest.mark.req("R301")
def test_a_dry_run_asks_nobody(clew: Run, path: Path, claude: Path) -> None:
    with running() as server:
        code, out, err = clew("compress", path.stem, *BANDS, "--base-url", server.url, "--dry-run")
        shown = clew("compress", path.stem, *BANDS, "--base-url", server.url, "--diff", "--quiet")
        assert server.rows == []
    assert code == 0 and out.startswith("Would make a session of ")
    assert "4 → 1 calls" in out.splitlines()[-1]
    assert err.startswith("Would ask claude-haiku-4-5 for 3 summaries, about ")
    assert shown[0] == 0 and "compact_boundary" in shown[1] and TOKEN not in shown[1]
    assert len(list(claude.glob("projects/*/*.jsonl"))) == 1
    told = value(clew("compress", path.stem, *BANDS, "--dry-run", "--json")[1])
    assert (told["written"], told["asked"]["requests"]) == (False, 3)
    assert 1000 < told["asked"]["tokens"] < 3000


def test_without_a_key(clew: Run, path: Path) -> None:
    code, out, err = clew("compress", path.stem, *BANDS)
    assert (code, out) == (2, "")
    assert err.splitlines() == [
        "clew: No key is set for https://api.anthropic.com.",
        "Set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN to your key. Or summarise without a model: --extractive",
    ]


def test_bands_that_cannot_be_understood(clew: Run, path: Path) -> None:
    code, out, err = clew("compress", path.stem, "--extractive", "--bands", "5:tiny")
    assert (code, out) == (2, "")
    assert err.startswith("clew: No level is called 'tiny'.\n  5:tiny\n  ^\n")


@pytest.mark.req("R296")
def test_calls_can_be_kept(clew: Run, path: Path) -> None:
    made = value(clew("compress", path.stem, "--extractive", *BANDS, "--tools", "keep", "--json")[1])
    calls = package.read(made["path"]).calls
    assert [call.output for call in calls] == ["[400 characters left out]"] * 3 + ["x" * 400]
