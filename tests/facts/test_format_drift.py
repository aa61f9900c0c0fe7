"""Names that are new: found with their versions and lines, and never with anybody's words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clew.conversation.load import read
from clew.conversation.session import Session
from clew.demo.talk import Talk, bash, talk, task
from clew.facts.format_drift import Drift, Unknown, drift, known_names, publishable_name, publishable_version
from clew.wire.json_codec import encode

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus"


def found(told: Talk) -> list[tuple[str, str, str]]:
    return [(u.kind, u.of, u.name) for u in drift(told.entries).unknown]


@pytest.mark.parametrize("version", ["1.0.60", "2.0.50", "2.1.29", "2.1.45", "2.1.100", "2.1.232", "2.1.325"])
def test_everything_that_known_versions_write_is_known(version: str) -> None:
    told = talk(version=version).user("hi").reply("ho", thinking="hm", calls=[bash("ls"), task("a", "b")]).result("x")
    told = (
        told.result("y").snapshot({}).queue("enqueue", "later").title("t").ai_title("t").last_prompt().command("cost")
    )
    told = told.pr_link(1, "a/b").turn_duration(5).attachment("date", date="today").compact("short", keep=1)
    assert found(told.progress("hook_progress").summary_line("x").api_error("no", status=500)) == []


@pytest.mark.parametrize(
    ("told", "name"),
    [
        (talk().line({"type": "x-new", "own": 1}), ("type", "", "x-new")),
        (talk().line({"no": "type"}), ("type", "", "<none>")),
        (talk().system("brand_new"), ("subtype", "", "brand_new")),
        (talk().progress("brand_new"), ("progress", "", "brand_new")),
        (talk().attachment("brand_new"), ("attachment", "", "brand_new")),
        (talk().queue("brandNew"), ("operation", "", "brandNew")),
        (talk().user([{"type": "brand_new", "x": 1}]), ("block", "", "brand_new")),
        (talk().user("hi", brandNew=1), ("field", "user", "brandNew")),
        (talk().user("hi").reply("ho", usage={"brand_new": 1}), ("usage field", "", "brand_new")),
        (talk().user("hi", message={"role": "user", "content": "x", "brandNew": 1}), ("message field", "", "brandNew")),
    ],
)
def test_a_new_name_of_every_kind_is_found(told: Talk, name: tuple[str, str, str]) -> None:
    assert found(told) == [name]


def test_a_block_inside_a_result_is_looked_at() -> None:
    told = talk().user("go").reply(call=bash("ls")).result([{"type": "hologram", "data": "x"}])
    assert found(told) == [("block", "", "hologram")]


def test_counts_versions_and_the_first_line_are_told() -> None:
    told = talk(version="2.1.400").user("hi", brandNew=1).reply("ho").change(version="2.2.10").user("on", brandNew=2)
    told = told.change(version="2.2.9").reply("hm").line({"type": "x-new"})
    made = drift(told.entries)
    assert made.unknown == (
        Unknown("type", "", "x-new", 1, "2.2.9", "2.2.9", 5),
        Unknown("field", "user", "brandNew", 2, "2.1.400", "2.2.10", 1),
    )
    assert made.newer == ("2.1.400", "2.2.9", "2.2.10")
    assert made.versions == {"2.1.400": 2, "2.2.10": 1, "2.2.9": 1}


def test_lines_before_the_first_version_count_for_it() -> None:
    told = talk(version="2.1.400").line({"type": "x-new"}).user("hi")
    assert [(u.first, u.last) for u in drift(told.entries).unknown] == [("2.1.400", "2.1.400")]
    assert [(u.first, u.last) for u in drift(talk().line({"type": "x-new"}).entries).unknown] == [("", "")]


def test_reports_add_up_over_files() -> None:
    one = drift(talk(version="2.1.400").user("hi", brandNew=1).entries)
    two = drift(talk(version="2.1.390").user("hi").user("on", brandNew=1, other=1).entries)
    both = sum([one, two], Drift())
    assert (both.files, both.entries) == (2, 3)
    assert both.unknown == (
        Unknown("field", "user", "brandNew", 2, "2.1.390", "2.1.400", 1),
        Unknown("field", "user", "other", 1, "2.1.390", "2.1.390", 2),
    )
    assert Drift() + one == one


def test_no_word_of_anybodys_is_in_a_report() -> None:
    secret = "sk-ant-api03-verysecretverysecretverysecretverysecret"
    odd: dict[str, Any] = {secret: 1, "my password is swordfish": 1, "/home/ada/plan.txt": 1, "ada@example.org": 1}
    odd |= {"3f2a9c1e-0000-4000-8000-1234567890ab": 1, "deadbeefdeadbeef1": 1, "x\x1b[31m": 1, "1abc": 1}
    told = talk().user("swordfish", **odd).line({"type": secret}).user("hi", version=f"2.1.400 {secret}")
    told = told.attachment("what did ada say").user([{"type": secret, "text": "swordfish"}])
    made = drift(told.entries)
    report = encode([str(u) for u in made.unknown] + list(made.versions)).decode()
    for word in (secret, "swordfish", "ada", "3f2a9c1e", "deadbeef", "1b[31m", "sk-ant"):
        assert word not in report
    assert f"<odd name, {len(secret)} chars>" in report


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("toolUseResult", "toolUseResult"),
        ("clear_thinking_20251015", "clear_thinking_20251015"),
        ("file-history-delta", "file-history-delta"),
        ("a" * 40, "a" * 40),
        ("a" * 41, "<odd name, 41 chars>"),
        ("a.b", "<odd name, 3 chars>"),
        ("", "<none>"),
    ],
)
def test_names_that_look_like_data_become_their_length(name: str, expected: str) -> None:
    assert publishable_name(name) == expected


def test_a_version_that_is_none_is_not_shown() -> None:
    assert [publishable_version(v) for v in ("2.1.29", "3.0.0-beta.1", "hello", "2.1.29 for ada", None)] == [
        "2.1.29",
        "3.0.0-beta.1",
        "",
        "",
        "",
    ]


def test_lines_that_the_fast_decoder_refuses_are_looked_at_too() -> None:
    raw = talk().user("hi", brandNew="x!y").bytes().replace(b"x!y", b"\\ud800")
    assert [(u.kind, u.name) for u in drift(Session(raw).entries).unknown] == [("field", "brandNew")]


def test_the_table_knows_the_kinds_that_the_reader_has_shapes_for() -> None:
    from clew.wire.entry_types import _BY_SUBTYPE, _BY_TYPE

    assert set(_BY_TYPE) <= set(known_names().fields)
    assert set(_BY_SUBTYPE) <= known_names().kinds["subtype"]


@pytest.mark.shared
def test_real_files_hold_nothing_new() -> None:
    paths = sorted(CORPUS.rglob("*.jsonl"))
    if not paths:
        pytest.skip("the shared samples are not beside this checkout")
    assert sum((drift(read(path).entries) for path in paths), Drift()).unknown == ()
