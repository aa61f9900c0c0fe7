"""`clew search`, as people type it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from clew.cli.find.search import _excludes_word
from clew.demo.demo_tree import DemoSummary
from clew.demo.talk import bash, talk, task
from tests.cli.conftest import Run

ROUNDING = "a9223290"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.req("R221", "R222")
def test_a_result_says_where_when_what_and_how_to_go_on(clew: Run, demo: DemoSummary) -> None:
    code, out, _ = clew("search", "rounding", "cent", "-n", "1")
    assert code == 0
    heading, *passages, resume = out.strip().splitlines()
    assert heading.startswith(f"{ROUNDING}  Fix one-cent rounding difference in order totals  ")
    assert "bakery-orders · fix/one-cent · 28 messages" in heading
    assert any(line.startswith("    title: Fix one-cent rounding") for line in passages)
    assert resume.startswith(f"    cd /home/ada/work/bakery-orders && claude -r {ROUNDING}-")


def test_copies_of_a_conversation_are_one_result_that_names_them(clew: Run, demo: DemoSummary, claude: Path) -> None:
    """Forks keep the uuids of the entries, and what clew makes of a session gets new ones."""
    source = next(claude.rglob(f"{ROUNDING}-*.jsonl"))
    fork = source.with_name(f"{'f' * 8}{source.name[8:]}")
    fork.write_bytes(source.read_bytes())
    made = [json.loads(clew(*words, ROUNDING, "--json")[1])["id"] for words in (("clone",), ("trim",))]
    rows = [json.loads(line) for line in clew("search", "till", "invoice", "--json")[1].splitlines()]
    [found] = [row for row in rows if row["copies"]]
    assert {found["session"], *found["copies"]} == {source.stem, fork.stem, *made}
    assert not {row["session"] for row in rows if row is not found} & {source.stem, fork.stem, *made}
    assert f"+3 copies: {found['copies'][0][:8]} " in clew("search", "till", "invoice")[1]
    grown = talk(seed=5, cwd="/home/ada").user("the till").pause(hours=1).reply("the till is shut").write(claude)
    other = talk(seed=6, cwd="/home/ada").user("the till").pause(hours=2).reply("the till is wide open").write(claude)
    rows = [json.loads(line) for line in clew("search", "till", "open", "OR", "shut", "--json")[1].splitlines()]
    assert {grown.stem, other.stem} <= {row["session"] for row in rows}


def test_json_has_the_same_and_where_each_passage_stands(clew: Run, demo: DemoSummary) -> None:
    code, out, _ = clew("search", "rounding", "--json")
    (first, *_) = map(json.loads, out.splitlines())
    assert (code, first["clew"], first["kind"]) == (0, 1, "result")
    for passage in first["passages"]:
        start, stop = passage["marks"][0]
        assert passage["text"][start:stop].lower() == "rounding"
        assert passage["offset"] < 0 or Path(passage["path"]).read_bytes()[passage["offset"] :].startswith(b"{")


def test_nothing_found_is_exit_code_1_and_a_bad_query_2_with_a_caret(clew: Run, demo: DemoSummary) -> None:
    expected = "Nothing matches 'zzzzqqqqxxxx'.\nList the sessions with: clew ls\n"
    assert clew("search", "zzzzqqqqxxxx") == (1, "", expected)
    code, out, err = clew("search", 'feed "not closed')
    assert (code, out) == (2, "")
    assert err.splitlines()[1:] == ['  feed "not closed', "       ^"]


def test_a_slip_of_the_pen_is_forgiven_and_said(clew: Run, demo: DemoSummary) -> None:
    code, out, err = clew("search", "roundng", "-n", "1")
    assert code == 0 and ROUNDING in out and "'rounding'" in err


def test_substrings_and_regular_expressions_search_the_text_itself(clew: Run, demo: DemoSummary) -> None:
    assert "test_half_a_cent" in clew("search", "--substring", "alf_a_ce")[1]
    assert "fn dst_runs_once" in clew("search", "--regex", r"fn dst_\w+\(")[1]
    assert clew("search", "--regex", "(")[0] == 2
    assert clew("search", "--substring", "no such text at all")[0] == 1


@pytest.mark.req("R217")
def test_context_shows_the_turns_around_the_best_passage(clew: Run, demo: DemoSummary) -> None:
    alone = clew("search", '"half a cent"', "--context", "0")[1]
    around = clew("search", '"half a cent"', "--context", "1")[1]
    assert alone.count("❯ ") == 1 and around.count("❯ ") == 2
    assert clew("search", "cent", "--context", "x")[0] == 2


@pytest.mark.req("R235")
def test_secrets_are_masked_unless_revealed(clew: Run, demo: DemoSummary) -> None:
    hidden = clew("search", "shared", "secrets", "repo")[1]
    shown = clew("search", "shared", "secrets", "repo", "--reveal")[1]
    assert "[REDACTED:" in hidden and "ghp_" not in hidden and "ghp_" in shown


@pytest.mark.req("R226")
def test_the_session_that_asks_is_left_out(clew: Run, demo: DemoSummary, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = json.loads(clew("search", "rounding", "cent", "--json")[1].splitlines()[0])["session"]
    monkeypatch.setenv("CLAUDE_SESSION_ID", whole)
    assert ROUNDING not in clew("search", "rounding", "cent")[1]
    assert ROUNDING in clew("search", "rounding", "cent", "--include-current")[1]


@pytest.mark.req("R211")
def test_sessions_are_found_whatever_sessions_index_lists(clew: Run, claude: Path) -> None:
    path = talk().user("a lone walrus").write(claude)
    assert path.stem in clew("search", "walrus")[1]
    (path.parent / "sessions-index.json").write_text('{"version": 1, "entries": []}')
    later = talk(seed=5).user("another walrus").write(claude)
    assert later.parent == path.parent
    assert all(each.stem in clew("search", "walrus")[1] for each in (path, later))


@pytest.mark.req("R216")
def test_a_match_in_an_agent_names_the_session_to_resume(clew: Run, claude: Path) -> None:
    child = talk().user("look around").reply("a walrus", call=bash("ls")).result("ice").reply("Nothing else.")
    path = talk().user("go").reply(call=task("look", "look around")).agent(0, child).reply("Done.").write(claude)
    code, out, _ = clew("search", "walrus")
    assert code == 0 and "agent reply: a walrus" in out
    assert out.rstrip().endswith(f"claude -r {path.stem}")
    (found,) = map(json.loads, clew("search", "walrus", "--json")[1].splitlines())
    assert (found["session"], found["resume"]) == (path.stem, f"claude -r {path.stem}")
    assert len(found["agents"]) == 1 and {each["agent"] for each in found["passages"]} == set(found["agents"])


@pytest.mark.req("R222")
def test_a_snippet_holds_the_match_however_late_it_stands(clew: Run, claude: Path) -> None:
    talk().user(f"{'Something else. ' * 200}At last a walrus came.").reply("ok").write(claude)
    assert "At last a walrus came." in clew("search", "walrus")[1]


@pytest.mark.req("R219")
def test_a_date_leaves_out_what_is_older_or_newer(clew: Run, demo: DemoSummary) -> None:
    assert ROUNDING in clew("search", "rounding", "--since", "2026-01-01", "--until", "2026-06-02")[1]
    assert ROUNDING not in clew("search", "rounding", "--since", "2026-06-02")[1]
    assert ROUNDING not in clew("search", "rounding", "--until", "2026-01-01")[1]


@pytest.mark.req("R219", "R220")
def test_filters_may_be_options_or_words(clew: Run, demo: DemoSummary) -> None:
    by_option = clew("search", "valve", "-p", "drip", "--since", "2026-05-30")[1]
    assert by_option == clew("search", "valve", "project:drip", "since:2026-05-30")[1] != ""
    assert clew("search", "valve", "-p", "bakery-orders")[0] == 1


def test_a_search_of_an_index_that_is_current_imports_nothing_heavy(clew: Run, demo: DemoSummary) -> None:
    clew("search", "valve")
    heavy = "{'msgspec', 'rich', 'dataclasses', 'pathlib', 'json'}"
    script = (
        f"import sys; from clew.cli import main; main(sys.argv[1:]); sys.exit(str(sorted(set(sys.modules) & {heavy})))"
    )
    words = ["search", "valve", "--no-refresh", "--reveal", "--claude-dir", str(demo.root)]
    done = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, env=os.environ.copy())
    assert done.stderr.strip() == "[]" and "valve" in done.stdout


def test_options_are_understood_however_they_are_written(clew: Run, demo: DemoSummary) -> None:
    expected = clew("search", "the", "--limit", "1", "--json")
    assert len(expected[1].splitlines()) == 1
    for words in (["the", "-n1", "--json"], ["-n", "1", "--json", "the"], ["--limit=1", "the", "--json"]):
        assert clew("search", *words) == expected


def test_terms_and_options_may_be_mixed(clew: Run, demo: DemoSummary) -> None:
    expected = clew("search", "valve", "the", "--json")
    assert expected[0] == 0 and clew("search", "valve", "--json", "the") == expected


@pytest.mark.parametrize("word", ["-pressure", "-n5x", "-password", "-quiet", "-hello"])
def test_a_word_with_a_dash_is_excluded_even_if_an_option_begins_like_it(
    clew: Run, demo: DemoSummary, word: str
) -> None:
    assert clew("search", "valve", word, "--json") == clew("search", f"valve {word}", "--json")
    assert clew("search", word, "valve", "--json")[1] == clew("search", f"{word} valve", "--json")[1] != ""


@pytest.mark.parametrize("option", ["--context", "--limit", "--budget"])
def test_an_option_that_needs_a_number_says_so(clew: Run, demo: DemoSummary, option: str) -> None:
    code, out, err = clew("search", "valve", option, "x")
    assert (code, out) == (2, "") and "'x' is not a whole number" in err and "Try: clew search --help" in err


@pytest.mark.parametrize("word", ["-timeout", "-5", "-n5x", "-pp", "-été", "-a\nb"])
def test_a_word_after_a_dash_is_excluded(word: str) -> None:
    assert _excludes_word(word)


@pytest.mark.parametrize("word", ["timeout", "", "-", "--", "--json", "-n", "-n5", "-p", "-q", "-h"])
def test_an_option_is_no_excluded_word(word: str) -> None:
    assert not _excludes_word(word)
