"""`make requirements`: which requirements tests prove, and which none does yet.

python -m tests.requirements [--all]

The list is `requirements.tsv` beside this file. A test proves a requirement by carrying its number:
`@pytest.mark.req("R050")`, or several in one marker. The tests are parsed here and not run, so a number says that a test
exists; `make test` says that it holds.
"""

from __future__ import annotations

import argparse
import ast
import csv
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Requirement:
    number: str
    section: str
    title: str


@dataclass(frozen=True, slots=True)
class Proof:
    """A marker: the number it carries and the test it stands on."""

    number: str
    test: str


def requirements() -> list[Requirement]:
    with (TESTS / "requirements.tsv").open(encoding="utf-8", newline="") as file:
        return [Requirement(**row) for row in csv.DictReader(file, delimiter="\t")]


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


def table(known: Sequence[Requirement], found: Mapping[str, Sequence[str]], everything: bool) -> Iterator[str]:
    """The report, line by line."""
    sections = dict.fromkeys(each.section for each in known)
    width = max(map(len, sections))
    for section in sections:
        here = [each for each in known if each.section == section]
        proven = sum(each.number in found for each in here)
        yield f"{section.ljust(width)}  {proven:3} of {len(here)}"
    total = sum(each.number in found for each in known)
    yield f"{'all'.ljust(width)}  {total:3} of {len(known)}"
    yield ""
    if everything:
        yield from (line for each in known for line in _row(each, found.get(each.number, ())))
    else:
        yield from (f"{each.number}  {each.title}" for each in known if each.number not in found)


def _row(each: Requirement, tests: Sequence[str]) -> Iterator[str]:
    yield f"{each.number}  {'proven' if tests else '-     '}  {each.title}"
    yield from (f"      {test}" for test in tests)


def main() -> int:
    parser = argparse.ArgumentParser(description="Print the requirements that tests prove, and those that none does.")
    parser.add_argument("--all", action="store_true", help="every requirement, with the tests that prove it")
    options = parser.parse_args()
    found: dict[str, list[str]] = {}
    for proof in proofs():
        found.setdefault(proof.number, []).append(proof.test)
    print("\n".join(table(requirements(), found, options.all)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
