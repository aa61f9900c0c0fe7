"""Pages of results, their number, and searches that find nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clew.demo.demo_tree import DemoSummary
from clew.demo.talk import bash, talk
from clew.index.query_pieces import FILTER_NAMES
from clew.index.query_syntax import parse_query
from tests.cli.conftest import Run


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def write_sessions(claude: Path, count: int) -> set[str]:
    """Sessions with a walrus in the prompt, the reply or a tool result, so that their ranks differ."""
    texts = ("a walrus {}", "walrus walrus {}", "ice {}")
    return {
        talk(seed=number).user(texts[number % 3].format(number)).reply(f"walrus {number}").write(claude).stem
        for number in range(count)
    }


def read_page(clew: Run, *words: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in clew("search", *words, "--json", "-q")[1].splitlines()]


@pytest.mark.parametrize("size", [4, 50])
def test_pages_list_every_session_once_and_as_many_as_counted(clew: Run, claude: Path, size: int) -> None:
    expected = write_sessions(claude, 23)
    listed: list[dict[str, object]] = []
    page = 1
    while rows := read_page(clew, "walrus", "-n", str(size), "--page", str(page)):
        listed += rows
        page += 1
    assert sorted(str(row["session"]) for row in listed) == sorted(expected)
    assert [row["rank"] for row in listed] == list(range(1, 24))
    assert {(row["total"], row["total_is_exact"]) for row in listed} == {(23, True)}


def test_the_first_page_says_how_many_sessions_there_are_and_how_to_see_the_next(clew: Run, claude: Path) -> None:
    write_sessions(claude, 12)
    assert clew("search", "walrus")[2] == "Sessions 1-10 of 12. Add --page 2 for the next ones.\n"
    assert clew("search", "walrus", "--page", "2")[2] == "Sessions 11-12 of 12.\n"
    assert clew("search", "walrus", "-n", "12")[2] == ""
    assert clew("search", "walrus", "-q")[2] == ""
    code, out, err = clew("search", "walrus", "--page", "3")
    assert (code, out) == (1, "") and err.startswith("Page 3 is empty: 12 sessions match.\n")


def test_sessions_that_are_too_many_to_count_are_at_least_so_many(clew: Run, claude: Path) -> None:
    write_sessions(claude, 103)
    assert clew("search", "walrus")[2].startswith("Sessions 1-10 of at least 101. Add --page 2")


def test_a_scan_does_not_count_but_says_that_there_is_more(clew: Run, claude: Path) -> None:
    everything = write_sessions(claude, 5)
    first, second, third = (
        [row["session"] for row in read_page(clew, "--substring", "alru", "-n", "2", "--page", page)] for page in "123"
    )
    assert {*first, *second, *third} == everything and (len(first), len(second), len(third)) == (2, 2, 1)
    assert clew("search", "--substring", "alru", "-n", "2")[2].startswith("Sessions 1-2 of at least 3. Add --page 2")
    assert clew("search", "--substring", "alru", "-n", "2", "--page", "3")[2] == "Sessions 5-5 of 5.\n"


def test_a_list_by_filters_is_counted_too(clew: Run, demo: DemoSummary) -> None:
    total = len(clew("ls", "-q", "--json")[1].splitlines())
    first, *_ = read_page(clew, "since:2000", "-n", "3")
    assert first["total_is_exact"] and 3 < int(str(first["total"])) <= total


SUGGESTIONS: dict[tuple[str, ...], str] = {
    ("valve", "project:bakery-orders"): "3 sessions match without project:bakery-orders (in drip).",
    ("valve", "-p", "bakery-orders"): "3 sessions match without --project bakery-orders (in drip).",
    ("valve", "until:2020"): "3 sessions match without until:2020.",
    ("valve", "project:bakery-orders", "until:2020"): "3 sessions match without filters.",
    ("valve", "--until", "2020"): "3 sessions match without --until.",
    ("rounding", "-cent", "in:title"): "1 session matches without the excluded words.",
    ('"cent totals"',): "1 session matches without the quotation marks.",
    ("--substring", "ALF_A_CE"): "1 session matches in another case: write the pattern in lower case.",
}


def test_a_search_without_results_names_what_would_find_something(clew: Run, demo: DemoSummary) -> None:
    for words, suggestion in SUGGESTIONS.items():
        code, out, err = clew("search", *words)
        assert (code, out) == (1, ""), words
        assert suggestion in err.splitlines()[1:], words
    for words in (("--regex", "a (cent"), ("ridation",)):
        assert " match" not in clew("search", *words)[2].partition("\n")[2]
    nothing = clew("search", "zzzzqqqqxxxx", "project:drip", "since:2000")
    expected = "Nothing matches 'zzzzqqqqxxxx project:drip since:2000'.\nList the sessions with: clew ls\n"
    assert nothing == (1, "", expected)


def test_suggestions_cover_meta_thinking_and_parts_of_words(clew: Run, claude: Path) -> None:
    talk().user("go").reply("ok", thinking="perhaps a narwhal").write(claude)
    talk(seed=2).user("look").reply(call=bash("cat x")).result("xxquokkaxx").write(claude)
    clew("search", "go")
    assert "1 session matches with in:thinking." in clew("search", "narwhal")[2]
    assert "1 session matches with --substring." in clew("search", "quokka")[2]


@pytest.mark.parametrize("command", ["search", "ls", "recall"])
def test_a_limit_of_zero_is_refused(clew: Run, command: str) -> None:
    words = {"search": ["valve"], "recall": ["save", "valve"]}.get(command, [])
    for limit in (["--limit", "0"], ["-n0"]):
        code, out, err = clew(command, *words, *limit)
        assert (code, out) == (2, "")
        assert err.startswith("clew: argument --limit/-n: 0 would show nothing: write 1 or more")


def test_a_folder_that_does_not_exist_is_named(clew: Run, claude: Path) -> None:
    code, out, err = clew("search", "hello")
    assert (code, out) == (2, "")
    assert err.startswith(f"clew: The folder {claude} does not exist.\n") and "--claude-dir" in err


def test_an_empty_filter_shows_an_example(clew: Run, claude: Path) -> None:
    talk().user("valve").write(claude)
    for name in FILTER_NAMES:
        for written in (f"{name}:", f"{name.upper()}:", f"-{name}:", f'{name}:""'):
            code, out, err = clew("search", "valve", written)
            assert (code, out) == (2, "")
            assert err.startswith(f"clew: {name}: needs a value, such as {name}:")
        example = err.partition("such as ")[2].partition(";")[0]
        assert parse_query(f"valve {example}").filters


def test_an_empty_project_option_is_refused(clew: Run) -> None:
    code, out, err = clew("search", "valve", "-p", "")
    assert (code, out) == (2, "") and "the value is empty" in err


def test_a_time_that_is_not_one_is_quoted_with_the_forms_that_are(clew: Run, claude: Path) -> None:
    talk().user("valve").write(claude)
    code, _, err = clew("search", "valve", "since:soon")
    assert code == 2 and err.startswith("clew: since: takes 7d, 2w, yesterday,") and "not 'soon'.\n" in err
    code, _, err = clew("search", "valve", "--until", "soon")
    assert code == 2 and "'soon' is not a time: write 7d, 2w, yesterday," in err


def test_the_help_explains_the_query_language(clew: Run) -> None:
    text = clew("search", "--help")[1]
    for name in ("AND", "OR", "NOT", "-timeout", "brackets", "project:", "since:", '"last week"', "capital letter"):
        assert name in text
