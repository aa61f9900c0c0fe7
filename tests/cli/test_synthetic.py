"""Messages that the program wrote in the model's name, in files written by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.hand_written import ONE, reply, text, user, write

FILLER = "No response requested."


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.req("R137")
@pytest.mark.parametrize("filler", [FILLER, "The wallaby was not asked."])
def test_synthetic_messages_are_flagged_and_filtered(claude: Path, clew: Run, filler: str) -> None:
    made_up = reply(2, text(filler), stop="stop_sequence", model="<synthetic>", usage={"input_tokens": 0})
    write(claude, ONE, user(1, "one"), made_up, user(3, "two"), reply(4, text("a real answer")))
    first, second = (json.loads(line) for line in clew("show", ONE, "--json")[1].splitlines())
    assert [(r["synthetic"], r["text"]) for r in first["replies"]] == [(True, filler)]
    assert [r["synthetic"] for r in second["replies"]] == [False]
    for command in (("show", ONE), ("export", ONE, "--format", "markdown"), ("export", ONE, "--format", "html")):
        _, out, _ = clew(*command)
        assert "a real answer" in out and filler not in out, command
    assert filler in clew("show", ONE, "--meta")[1]
    assert clew("search", f'"{filler}"')[0] == 1
    assert clew("search", '"a real answer"')[0] == 0


@pytest.mark.req("R137")
def test_an_error_of_the_api_is_shown_as_one(claude: Path, clew: Run) -> None:
    failed = reply(2, text("API Error: 529"), stop="stop_sequence", model="<synthetic>", isApiErrorMessage=True)
    write(claude, ONE, user(1, "one"), failed)
    (turn,) = (json.loads(line) for line in clew("show", ONE, "--json")[1].splitlines())
    assert [(r["synthetic"], r["error"]) for r in turn["replies"]] == [(True, True)]
    assert "✗ API Error: 529" in clew("show", ONE)[1]
    assert clew("search", "529")[0] == 0
