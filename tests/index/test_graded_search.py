"""Looser readings of a query: other endings, most of the words, parts of identifiers, accents, spelling."""

from __future__ import annotations

import json

import pytest

from clew.index.results import SearchResult
from tests.index.helper import NOW, Claude, call, ident, prompt, reply, result


def found(claude: Claude, query: str, limit: int = 10) -> list[SearchResult]:
    with claude.refreshed() as index:
        return list(index.search(query, limit, now=NOW))


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("rewinding", "please rewind the tape"),
        ("rewind", "it was rewinding"),
        ("retry", "three retries were made"),
        ("deployment", "deploy it tonight"),
        ("deploy", "the deployment is broken"),
        ("caches", "the caching layer"),
        ("wrote", "write the report"),
        ("indices", "the index is stale"),
        ("stations", "one station answers"),
        ("configure", "the configuration file"),
    ],
)
def test_other_endings_are_found(claude: Claude, query: str, text: str) -> None:
    claude.write("a", prompt(text))
    [one] = found(claude, query)
    assert (one.session, one.grade) == (ident("a"), "endings")
    assert one.passages[0].marks


def test_a_quoted_word_has_no_other_endings(claude: Claude) -> None:
    claude.write("a", prompt("please rewind the tape"))
    assert not found(claude, '"rewinding"')


@pytest.mark.parametrize(
    ("exact", "looser", "query"),
    [
        ("rewinding the tape", "rewind the tape", "rewinding"),
        ("the old gauge", "the tideGauge reads", "gauge"),
        ("the cafe opens", "the café opens", "cafe"),
        ("frost delays the tram today", "frost delays the bus today", "frost delays tram"),
    ],
)
@pytest.mark.parametrize("days", [0, 300])
def test_an_exact_match_is_above_a_looser_one_in_the_same_place(
    claude: Claude, exact: str, looser: str, query: str, days: int
) -> None:
    claude.write("exact", prompt(f"{exact} {'and some more text about other things ' * 20}", days=days))
    claude.write("looser", prompt(looser, days=days))
    assert [one.session for one in found(claude, query)] == [ident("exact"), ident("looser")]


def test_most_of_the_words_are_enough_and_the_missing_one_is_named(claude: Claude) -> None:
    claude.write("a", prompt("the valve of the boiler leaks"))
    claude.write("b", prompt("something else about boilers"))
    [one] = found(claude, "valve boiler replay leaking")
    assert (one.session, one.grade, one.missing) == (ident("a"), "most", ["replay"])


def test_one_of_two_words_counts_by_how_rare_it_is(claude: Claude) -> None:
    claude.write("rare", prompt("go"), reply("a nightjar sings"))
    for number in range(12):
        claude.write(f"common{number}", prompt("an owl hoots"))
    first, *others = found(claude, "nightjar owl")
    assert first.session == ident("rare") and first.missing == ["owl"]
    assert len(others) == 9 and all(one.missing == ["nightjar"] for one in others)


def test_most_of_the_words_in_one_passage_are_above_all_words_in_several(claude: Claude) -> None:
    claude.write("several", prompt("a valve"), reply("a boiler"), reply("it leaks"), reply("steam"))
    claude.write("one", prompt("the valve of the boiler leaks"))
    assert [one.session for one in found(claude, "valve boiler leaks steam")] == [ident("one"), ident("several")]


def test_of_two_equal_passages_the_one_whose_session_has_the_missing_word_is_above(claude: Claude) -> None:
    claude.write("lacking", prompt("the valve of the boiler leaks"), reply("I see"))
    claude.write("complete", prompt("the valve of the boiler leaks"), reply("I see steam"))
    several = found(claude, "valve boiler leaks steam")
    assert [one.session for one in several] == [ident("complete"), ident("lacking")]
    assert [one.looseness for one in several] == ["not in one passage", "without: steam"]


def test_all_words_as_typed_in_what_was_said_are_above_other_forms_in_long_outputs(claude: Claude) -> None:
    claude.write("said", prompt("the valve reducer"), reply("an engraved boiler"))
    for number in range(12):
        lines = [f"line {at} of nothing in particular" for at in range(400)]
        lines[1], lines[130], lines[260], lines[399] = "valves", "reducers", "engraves", "boilers"
        claude.write(f"output{number}", prompt("run it"), call("Bash", command="make"), result("\n".join(lines)))
    first, *others = found(claude, "valve reducer engraved boiler", limit=5)
    assert (first.session, first.grade) == (ident("said"), "scattered")
    assert {one.grade for one in others} == {"endings"}


@pytest.mark.parametrize("days", [0, 300])
def test_scattered_words_are_below_every_exact_match(claude: Claude, days: int) -> None:
    claude.write("exact", prompt("go"), call("Bash", command="x"), result("valve and boiler", days=days))
    claude.write("scattered", prompt("the valve"), reply("the boiler"))
    assert [one.session for one in found(claude, "valve boiler")] == [ident("exact"), ident("scattered")]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("gauge", "readTideGauge fails"),
        ("tide gauge", "readTideGauge fails"),
        ("tideGauge", "the tide gauge fails"),
        ("tide_gauge", "class TideGauge fails"),
        ("1.2.3", "install v1.2.3 first"),
        ("v1.2.3", "install 1.2.3 first"),
        ("3.14", "the value 3.14159"),
        ("deadbeef", "the address 0xDEADBEEF"),
        ("9f8e7d6", "commit 9f8e7d6c5b4a3f2e1d0c"),
    ],
)
def test_parts_of_identifiers_are_found(claude: Claude, query: str, text: str) -> None:
    claude.write("a", prompt(text))
    assert [one.session for one in found(claude, query)] == [ident("a")]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("uber", "über uns"),
        ("cafe", "ein café"),
        ("елка", "новая ёлка"),
        ("resume", "un résumé"),
        ("abc123", "ＡＢＣ１２３ wide"),
        ("fine", "a ﬁne day"),
        ("über", "u\u0308ber uns"),
        ("u\u0308ber", "über uns"),
        ("soft", "so\u00adft hyphen"),
        ("running", "next🟢running"),
        ("next", "next🟢running"),
    ],
)
def test_accents_and_compatible_forms_are_found(claude: Claude, query: str, text: str) -> None:
    claude.write("a", prompt(text))
    assert [one.session for one in found(claude, query)] == [ident("a")]


@pytest.mark.parametrize("query", ["rounding,cent", "rounding||cent", "rounding&&cent", "cent/rounding"])
def test_a_sequence_that_occurs_nowhere_is_searched_as_single_words(claude: Claude, query: str) -> None:
    claude.write("one", prompt("the rounding of a cent"))
    with claude.refreshed() as index:
        found = index.search(query, now=NOW)
        assert [result.session for result in found] == [ident("one")]
        assert set(found.instead.split()) == {"rounding", "cent"}
        assert not index.search(f'"{query}"', now=NOW)


def test_a_wrong_letter_is_corrected_although_most_words_are_there(claude: Claude) -> None:
    claude.write("a", prompt("the valve of the boiler leaks"))
    claude.write("b", prompt("valve and boiler"))
    [first, *_] = found(claude, "valve boiller leaks")
    assert first.session == ident("a")


def test_enough_exact_matches_need_no_looser_ones(claude: Claude) -> None:
    for number in range(3):
        claude.write(f"s{number}", prompt("rewind it"))
    claude.write("other", prompt("rewinding"))
    assert {one.grade for one in found(claude, "rewind", limit=3)} == {"exact"}
    assert {one.grade for one in found(claude, "rewind", limit=4)} == {"exact", "endings"}


@pytest.mark.parametrize("length", [41, 400, 1_900])
def test_a_long_word_costs_no_more_than_a_short_one(claude: Claude, length: int) -> None:
    claude.write("a", prompt("short"), result("out"))
    assert not found(claude, "x" * length)


def label(kind: str, **fields: object) -> bytes:
    return json.dumps({"type": kind, **fields}).encode() + b"\n"


@pytest.mark.parametrize(
    "query", ["harbour rounding", "rounding quay-lights", "feature-crane rounding", "urgent rounding", "118 rounding"]
)
def test_project_branch_tag_and_pull_request_count_as_words_of_each_passage(claude: Claude, query: str) -> None:
    claude.write(
        "a",
        prompt("the rounding is wrong", cwd="/srv/harbour/quay-lights", gitBranch="feature-crane"),
        label("tag", tag="urgent"),
        label("pr-link", prNumber=118, prRepository="ada/quay", prUrl="x"),
    )
    claude.write("b", prompt("the rounding is wrong", cwd="/srv/garden"))
    [one, *others] = found(claude, query)
    assert (one.session, one.grade) == (ident("a"), "session")
    assert not others


@pytest.mark.parametrize("length", [8, 13, 36])
def test_a_pasted_id_finds_its_session(claude: Claude, length: int) -> None:
    claude.write("a", prompt("something"))
    claude.write("b", prompt("something else"))
    [one] = found(claude, ident("a")[:length])
    assert one.session == ident("a")


def attachment(kind: str, **fields: object) -> bytes:
    return label("attachment", uuid=ident(kind), attachment={"type": kind, **fields})


ADDED = {
    "task notification": prompt("<task-notification>zeppelin ready</task-notification>"),
    "output of a shell command": prompt("<bash-stdout>zeppelin</bash-stdout><bash-stderr></bash-stderr>"),
    "output of a command": prompt("<local-command-stdout>zeppelin</local-command-stdout>"),
    "output of a command in a system line": label(
        "system", subtype="local_command", content="<local-command-stdout>zeppelin</local-command-stdout>"
    ),
    "selection in an editor": prompt("<ide_selection>the line zeppelin</ide_selection> what is this?"),
    "mentioned file": attachment("file", filename="a.py", content={"type": "text", "file": {"content": "zeppelin"}}),
    "hook": attachment("hook_additional_context", hookName="Stop", content=["zeppelin"]),
    "skill": prompt("zeppelin instructions", isMeta=True),
}


@pytest.mark.parametrize("name", ADDED)
def test_what_the_program_added_is_searched_if_asked_for(claude: Claude, name: str) -> None:
    claude.write("a", prompt("hello"), ADDED[name])
    with claude.refreshed() as index:
        assert not index.search("zeppelin")
        for where in ("in:meta", "in:all"):
            [one] = index.search(f"zeppelin {where}")
            assert one.passages[0].field == "meta"
            assert "zeppelin" in one.passages[0].text
        assert [one.session for one in index.grep("zeppelin", filters="in:meta")] == [ident("a")]


def test_the_summary_of_a_compaction_is_searched_and_ranks_low(claude: Claude) -> None:
    claude.write("summary", prompt("We talked about the zeppelin", isCompactSummary=True), reply("ok"))
    claude.write("prompt", prompt("the zeppelin"))
    assert [one.session for one in found(claude, "zeppelin")] == [ident("prompt"), ident("summary")]
    assert [one.session for one in found(claude, "zeppelin in:summary")] == [ident("summary")]
