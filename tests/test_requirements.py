"""What `make requirements` says is true."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.generate_docs import DOCS, _commands
from tests.reach import documented, problem, unreachable
from tests.requirements import Requirement, judge, outcome, requirements, table

ROW = Requirement("R900", "made up", "a title", "clew show --full", "")
REPORT = """<testsuites><testsuite>
<testcase classname="tests.wire.test_layout" name="test_a[one]"/>
<testcase classname="tests.wire.test_layout" name="test_a[two]"><failure/></testcase>
<testcase classname="tests.wire.test_layout" name="test_b"/>
<testcase classname="tests.wire.test_layout" name="test_c"><skipped/></testcase>
</testsuite></testsuites>"""


def test_every_way_to_a_requirement_exists() -> None:
    assert unreachable(requirements()) == {}


@pytest.mark.parametrize(
    "way",
    ["clew shine", "clew show --fully", "clew ls stars", "python Nothing", "python Session.nothing",
     "file transcript by clew ls", "file nothing by clew chat", "by magic"],
)  # fmt: skip
def test_a_way_that_does_not_exist_is_named(way: str) -> None:
    page = (DOCS / "python.md").read_text(encoding="utf-8")
    assert problem(way, dict(_commands()), documented(page))


@pytest.mark.parametrize("way", ["clew show --full", "clew ls agents", "python Session.turns", "python request"])
def test_a_way_that_exists_is_accepted(way: str) -> None:
    page = (DOCS / "python.md").read_text(encoding="utf-8")
    assert problem(way, dict(_commands()), documented(page)) == ""


def test_a_departure_has_its_sentence_in_the_docs() -> None:
    row = Requirement("R900", "made up", "a title", "clew show", "A sentence that no page holds.")
    assert list(unreachable([row])) == ["R900"]


def test_the_outcome_of_a_test_is_that_of_all_its_parameters_and_no_skip_counts(tmp_path: Path) -> None:
    (tmp_path / "report.xml").write_text(REPORT, encoding="utf-8")
    found = outcome(tmp_path / "report.xml")
    assert found == {"wire/test_layout.py::test_a": False, "wire/test_layout.py::test_b": True}


@pytest.mark.parametrize(
    ("row", "tests", "noticed", "ran", "wrong", "state", "reason"),
    [
        (ROW, ["t"], ["R900"], {"t": True}, {}, "proven", None),
        (ROW, ["t"], ["R900"], {"t": False}, {}, "not there", "fails: t"),
        (ROW, ["t"], ["R900"], {}, {}, "not there", "all its tests were skipped"),
        (ROW, ["t"], [], {"t": True}, {}, "not there", "no mutation of it is noticed"),
        (ROW, [], [], {}, {}, "not there", "no test carries its number"),
        (ROW, ["t"], ["R900"], {"t": True}, {"R900": "no command"}, "not there", "no command"),
        (Requirement("R900", "s", "t", "", ""), ["t"], ["R900"], {"t": True}, {}, "not there", "no user reaches it"),
        (Requirement("R900", "s", "t", "", "Because."), [], [], {}, {}, "departs", "no user reaches it"),
    ],
)
def test_a_requirement_is_proven_only_if_it_is_reached_tested_and_its_violation_noticed(
    row: Requirement,
    tests: list[str],
    noticed: list[str],
    ran: dict[str, bool],
    wrong: dict[str, str],
    state: str,
    reason: str | None,
) -> None:
    (verdict,) = judge([row], {"R900": tests}, noticed, ran, wrong)
    assert verdict.state == state
    assert verdict.reasons[:1] == ([reason] if reason else [])
    assert any(line.startswith(f"R900  {state}") for line in table([verdict], everything=True))
