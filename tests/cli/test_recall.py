"""`clew recall`: what was found once can be read again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from clew.demo.demo_tree import DemoSummary
from clew.demo.talk import talk

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("CLAUDE_SESSION_ID", raising=False)
    monkeypatch.delenv("CLAUDE_CODE_SESSION_ID", raising=False)


@pytest.mark.req("R017", "R225")
def test_saved_listed_and_loaded(clew: Run, demo: DemoSummary, claude: Path) -> None:
    folder = claude / "recalls"
    assert not folder.exists()
    code, out, err = clew("recall", "list")
    assert (code, out) == (1, "") and "clew recall save QUERY" in err and not folder.exists()
    code, out, err = clew("recall", "save", "feed")
    assert (code, out) == (0, f"{folder / 'feed.json'}: 2 sessions.\n")
    assert err == "Read it again: clew recall load feed\n"
    assert (folder.stat().st_mode & 0o777, (folder / "feed.json").stat().st_mode & 0o777) == (0o700, 0o600)
    code, out, _ = clew("recall", "list")
    assert code == 0 and out.split()[:2] == ["1", "feed"] and out.endswith("2 sessions  feed\n")
    assert clew("recall", "load", "feed") == clew("recall", "load", "1") == clew("recall", "load", "fe")


@pytest.mark.req("R221", "R222", "R225")
def test_a_result_says_all_that_helps_to_know_it(clew: Run, demo: DemoSummary, utc: None) -> None:
    clew("recall", "save", "absolute URLs")
    code, out, _ = clew("recall", "load", "1")
    assert code == 0
    [head, _, title, facts, *quotes, command] = out.splitlines()
    assert head.startswith("absolute URLs  (20")
    assert (
        title == f"{demo.sessions['research'][:8]}  Is it still true that feed readers want absolute URLs in content?"
    )
    assert facts == "    /Users/ada/Sites/pressroom · main · 7 messages · 2026-05-15"
    assert any("prompt: " in quote and "absolute URLs" in quote for quote in quotes)
    assert command == f"    claude -r {demo.sessions['research']}"
    [value] = map(json.loads, clew("recall", "load", "1", "--json")[1].splitlines())
    [result] = value["results"]
    assert result["started"].startswith("2026-05-15") and result["ended"].startswith("2026-05-15")
    assert (result["project"], result["branch"], result["messages"]) == ("/Users/ada/Sites/pressroom", "main", 7)
    assert result["resume"] == f"claude -r {demo.sessions['research']}"


@pytest.mark.req("R225")
def test_nothing_is_written_over(clew: Run, demo: DemoSummary, claude: Path) -> None:
    for _ in range(3):
        assert clew("recall", "save", "feed", "-q")[0] == 0
    assert clew("recall", "save", "sensor", "--name", "Feed: ../escaping!")[0] == 0
    names = {p.name: p.read_bytes() for p in (claude / "recalls").iterdir()}
    assert sorted(names) == ["feed-2.json", "feed-3.json", "feed-escaping.json", "feed.json"]
    code, out, err = clew("recall", "save", "sensor", "--name", "feed")
    assert (code, out) == (2, "")
    assert (
        err == f"clew: {claude / 'recalls' / 'feed.json'}: File exists.\nNo file is overwritten. Name another file.\n"
    )
    assert {p.name: p.read_bytes() for p in (claude / "recalls").iterdir()} == names


def test_a_dry_run_keeps_nothing(clew: Run, demo: DemoSummary, claude: Path) -> None:
    assert clew("recall", "save", "feed", "--dry-run") == (0, "Would keep 2 sessions.\n", "")
    assert not (claude / "recalls").exists()


def test_what_is_not_found_is_not_kept(clew: Run, demo: DemoSummary, claude: Path) -> None:
    code, out, err = clew("recall", "save", "in:title", "project:nowhere")
    assert (code, out) == (1, "") and "nothing was saved" in err
    assert not (claude / "recalls").exists()


def test_a_word_that_was_mistyped_is_kept_as_it_was_found(clew: Run, demo: DemoSummary, claude: Path) -> None:
    code, out, err = clew("recall", "save", "rouding")
    assert (code, out) == (0, f"{claude / 'recalls' / 'rounding.json'}: 2 sessions.\n")
    assert err.startswith("Nothing matches 'rouding'; saving results for 'rounding'.\n")


@pytest.mark.req("R225")
def test_exported_as_markdown_or_json(clew: Run, demo: DemoSummary, tmp_path: Path) -> None:
    clew("recall", "save", "feed")
    page, data = tmp_path / "feed.md", tmp_path / "copy.json"
    assert clew("recall", "export", "feed", "-o", str(page)) == (0, f"{page}\n", "")
    assert clew("recall", "export", "feed", "-o", str(data)) == (0, f"{data}\n", "")
    text = page.read_text()
    assert text.startswith("# feed\n") and "\n## feed escaping\n" in text
    assert "\n> prompt: A reader's feed client" in text
    assert json.loads(data.read_text())["query"] == "feed"
    assert clew("recall", "export", "feed", "-o", str(page))[0] == 2
    assert clew("recall", "export", "feed", "-o", str(tmp_path / "no" / "x.md"))[0] == 2
    assert clew("recall", "export", "feed")[1] == text


def test_recalls_that_are_not_there(clew: Run, demo: DemoSummary) -> None:
    clew("recall", "save", "feed")
    assert clew("recall", "load", "7") == (
        1,
        "",
        "clew: No recall matches '7'.\nList the recalls with: clew recall list\n",
    )
    assert clew("recall", "load")[0] == clew("recall", "save")[0] == clew("recall", "export", "")[0] == 2


def test_a_file_that_is_no_recall_is_shown_as_one(clew: Run, claude: Path) -> None:
    (claude / "recalls").mkdir(parents=True)
    (claude / "recalls" / "odd.json").write_text('{"kind": "\x1b[31m')
    code, out, _ = clew("recall")
    assert code == 0 and "odd" in out and "unreadable: not a recall" in out and "\x1b" not in out
    code, _, err = clew("recall", "load", "odd")
    assert code == 2 and "not a recall" in err
    [row] = map(json.loads, clew("recall", "--json")[1].splitlines())
    assert row["problem"].startswith("not a recall")


@pytest.mark.req("R226")
def test_the_session_that_asks_is_not_kept(
    clew: Run, demo: DemoSummary, claude: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", demo.sessions["titled"])
    clew("recall", "save", "feed")
    clew("recall", "save", "feed", "--include-current")
    kept = [json.loads((claude / "recalls" / name).read_text())["results"] for name in ("feed.json", "feed-2.json")]
    assert [demo.sessions["titled"] in {r["session"] for r in each} for each in kept] == [False, True]


def test_secrets_and_control_codes_are_not_kept(clew: Run, claude: Path) -> None:
    token = "gh" + "p_" + "Demo" * 9
    talk().user(f"Prune the roses with {token[:9]}\x1b[31m{token[9:]}").reply("Done.").write(claude)
    assert clew("recall", "save", "roses")[0] == 0
    kept = (claude / "recalls" / "roses.json").read_text()
    assert "Prune the roses with [REDACTED:github-token]" in kept
    assert token[9:] not in kept and "\\u001b" not in kept
