"""`make requirements`: which requirements are proven, which clew departs from, and which are not there.

python -m tests.requirements [--all] [--outcome REPORT.xml | --no-run]

The list is `requirements.tsv` beside this file. A requirement is proven if

- a user reaches it: `reach` names a command with its options, a name that docs/python.md documents, or a file that a
  command writes (see `tests/reach.py`);
- tests carry its number, `@pytest.mark.req("R050")`, and pass;
- a mutation violates it, and one of these tests fails under it (`tests/mutations.tsv`).

One with a sentence in `departs` is not met on purpose: the sentence says why, and how a user gets what was asked for. It
stands in docs/seeds.md too. The exit status is 1 if a marked test fails, or if a requirement is neither.
"""

from __future__ import annotations

import argparse
import ast
import csv
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

TESTS = Path(__file__).parent
ROOT = TESTS.parent
State = Literal["proven", "departs", "not there"]
STATES: tuple[State, ...] = ("proven", "departs", "not there")


@dataclass(frozen=True, slots=True)
class Requirement:
    number: str
    section: str
    title: str
    reach: str
    departs: str


@dataclass(frozen=True, slots=True)
class Proof:
    """A marker: the number it carries and the test it stands on."""

    number: str
    test: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a requirement, and why it is not proven."""

    requirement: Requirement
    state: State
    reasons: Sequence[str]
    tests: Sequence[str]


def requirements() -> list[Requirement]:
    with (TESTS / "requirements.tsv").open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [Requirement(**{key: value or "" for key, value in row.items()}) for row in rows]


def mutated() -> set[str]:
    """The numbers that a mutation violates and that a test noticed."""
    with (TESTS / "mutations.tsv").open(encoding="utf-8", newline="") as file:
        return {row["number"] for row in csv.DictReader(file, delimiter="\t")}


def proofs(folder: Path = TESTS) -> Iterator[Proof]:
    """Every number in every marker below a folder."""
    for path in sorted(folder.rglob("*.py")):
        name = path.relative_to(folder).as_posix()
        yield from _marked(ast.parse(path.read_text(encoding="utf-8")), name)


def _marked(node: ast.AST, owner: str) -> Iterator[Proof]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        owner = f"{owner}::{node.name}"
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and ast.unparse(node.func).endswith("mark.req")
    ):
        yield from (Proof(str(a.value), owner) for a in node.args if isinstance(a, ast.Constant))
    for child in ast.iter_child_nodes(node):
        yield from _marked(child, owner)


# -- the outcome of a run


def run(report: Path) -> None:
    """Run the marked tests; the report says which passed."""
    workers = os.environ.get("WORKERS", "2")
    command = [sys.executable, "-m", "pytest", "-q", "-m", "req and not soak", "-n", workers, "--dist", "worksteal"]
    subprocess.run([*command, "--reruns", "1", f"--junitxml={report}"], cwd=ROOT, check=False)


def outcome(report: Path) -> dict[str, bool]:
    """Whether each test of a report passed with all its parameters; what was skipped is left out."""
    found: dict[str, bool] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        if case.find("skipped") is None:
            module = case.get("classname", "").removeprefix("tests.").replace(".", "/")
            test = f"{module}.py::{case.get('name', '').partition('[')[0]}"
            passed = case.find("failure") is None and case.find("error") is None
            found[test] = found.get(test, True) and passed
    return found


# -- the judgement


def judge(
    known: Iterable[Requirement],
    marked: Mapping[str, Sequence[str]],
    noticed: Collection[str],
    ran: Mapping[str, bool] | None,
    unreachable: Mapping[str, str],
) -> list[Verdict]:
    """`ran` is the outcome of a run, None if there was none; `unreachable` says what is wrong with a `reach`."""
    made = []
    for each in known:
        tests = marked.get(each.number, ())
        reasons = list(_reasons(each, tests, each.number in noticed, ran, unreachable.get(each.number, "")))
        state: State = "departs" if each.departs else "not there" if reasons else "proven"
        made.append(Verdict(each, state, reasons, tests))
    return made


def _reasons(
    each: Requirement, tests: Sequence[str], noticed: bool, ran: Mapping[str, bool] | None, wrong: str
) -> Iterator[str]:
    if wrong:
        yield wrong
    if not each.reach:
        yield "no user reaches it"
    if not tests:
        yield "no test carries its number"
    elif not noticed:
        yield "no mutation of it is noticed"
    if ran is not None and tests:
        yield from (f"fails: {test}" for test in tests if not ran.get(test, True))
        if not any(test in ran for test in tests):
            yield "all its tests were skipped"


def table(verdicts: Sequence[Verdict], everything: bool) -> Iterator[str]:
    """The report, line by line."""
    sections = dict.fromkeys(each.requirement.section for each in verdicts)
    width = max(map(len, sections))
    yield f"{''.ljust(width)}  {'  '.join(STATES)}"
    for section in sections:
        yield _counts(section.ljust(width), [each for each in verdicts if each.requirement.section == section])
    yield _counts("all".ljust(width), verdicts)
    yield ""
    for each in verdicts:
        if everything or each.state != "proven":
            yield from _row(each, everything)


def _counts(name: str, verdicts: Sequence[Verdict]) -> str:
    count = Counter(each.state for each in verdicts)
    return f"{name}  {'  '.join(str(count[state]).rjust(len(state)) for state in STATES)}  of {len(verdicts)}"


def _row(each: Verdict, everything: bool) -> Iterator[str]:
    yield f"{each.requirement.number}  {each.state:9}  {each.requirement.title}"
    if each.requirement.departs:
        yield f"      {each.requirement.departs}"
    yield from (f"      {reason}" for reason in each.reasons)
    if everything:
        yield f"      reached by {each.requirement.reach or 'nothing'}"
        yield from (f"      {test}" for test in each.tests)


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the tests of the requirements, and print which are proven.")
    parser.add_argument("--all", action="store_true", help="every requirement, with the tests that prove it")
    parser.add_argument("--outcome", type=Path, help="take the outcome of a run from its JUnit report")
    parser.add_argument("--no-run", action="store_true", help="do not run the tests, and believe that they pass")
    options = parser.parse_args()
    from tests.reach import unreachable

    marked: dict[str, list[str]] = {}
    for proof in proofs():
        marked.setdefault(proof.number, []).append(proof.test)
    with tempfile.TemporaryDirectory() as folder:
        report = options.outcome or Path(folder) / "report.xml"
        if not (options.outcome or options.no_run):
            run(report)
        ran = None if options.no_run else outcome(report)
    known = requirements()
    verdicts = judge(known, marked, mutated(), ran, unreachable(known))
    print("\n".join(table(verdicts, options.all)))
    is_failing = any(reason.startswith("fails:") for each in verdicts for reason in each.reasons)
    return 1 if is_failing or any(each.state == "not there" for each in verdicts) else 0


if __name__ == "__main__":
    sys.exit(main())
