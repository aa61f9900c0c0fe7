"""python -m tests.mutations [numbers or names …] [--search] [--jobs 2]"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from hypothesis import settings

from tests.mutations.registry import NOTHING, Mutation, Row, mutations, rows, save
from tests.mutations.runner import Outcome, Task, run
from tests.requirements import proofs


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutations",
        description="Run the tests of requirements under mutations, and print which test fails under each.",
    )
    parser.add_argument("chosen", nargs="*", metavar="R000|area|area.name", help="these mutations only")
    parser.add_argument("--search", action="store_true", help="try all marked tests, and record the one that fails")
    parser.add_argument("--new", action="store_true", help="only mutations that the table does not have yet")
    parser.add_argument("--oracle", action="store_true", help="with --search: also tests that run Claude Code")
    parser.add_argument("--control", action="store_true", help="see the recorded tests pass without a mutation")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--verbose", action="store_true", help="print the output of pytest unless a test failed as it should"
    )
    options = parser.parse_args()
    settings.register_profile("mutation", deadline=None, derandomize=True, database=None)
    known = {(row.number, row.mutation): row for row in rows()}
    found = [each for each in mutations() if _is_chosen(each, options.chosen)]
    if options.new:
        found = [each for each in found if (each.number, each.name) not in known]
        options.search = True
    if options.control:
        return _control([known[each.number, each.name].test for each in found if (each.number, each.name) in known])
    searched = [each for each in found if options.search or (each.number, each.name) not in known]
    files = _files() if searched else {}
    tasks = [
        _task(each, None if each in searched else known[each.number, each.name], files, options.oracle)
        for each in found
    ]
    outcomes = []
    for outcome in run(tasks, options.jobs):
        outcomes.append(outcome)
        _print(outcome, options.verbose)
        if outcome.state == "killed" and outcome.task.marked:
            known = {(row.number, row.mutation): row for row in rows()}
            key = outcome.task.number, outcome.task.mutation
            known[key] = Row(*key, outcome.test)
            _save(known)
    killed = sum(outcome.state == "killed" for outcome in outcomes)
    print(f"{len(outcomes)} mutations, {killed} killed, {len(outcomes) - killed} not")
    return 0 if killed == len(outcomes) else 1


def _is_chosen(each: Mutation, chosen: Sequence[str]) -> bool:
    return not chosen or not {each.number, each.name, each.name.partition(".")[0]}.isdisjoint(chosen)


def _files() -> dict[str, list[str]]:
    found: dict[str, dict[str, None]] = {}
    for proof in proofs():
        found.setdefault(proof.number, {})[f"tests/{proof.test.partition('::')[0]}"] = None
    return {number: list(files) for number, files in found.items()}


def _task(each: Mutation, row: Row | None, files: dict[str, list[str]], oracle: bool) -> Task:
    if row:
        return Task(each.number, each.name, [row.test])
    return Task(each.number, each.name, files.get(each.number, ["tests/no_test_is_marked"]), marked=True, oracle=oracle)


def _save(known: dict[tuple[str, str], Row]) -> None:
    existing = {(each.number, each.name) for each in mutations()}
    save([known[key] for key in sorted(known) if key in existing])


def _control(tests: Sequence[str]) -> int:
    (outcome,) = run([Task("", NOTHING, sorted(set(tests)))], 1)
    print("\n".join(f"fails without a mutation: {test}" for test in outcome.failed) or f"{len(set(tests))} tests pass")
    if outcome.state == "error":
        print(outcome.output)
    return 0 if outcome.state in ("survived", "not reached") else 1


def _print(outcome: Outcome, verbose: bool) -> None:
    task = outcome.task
    print(f"{task.number}  {outcome.state:11}  {outcome.seconds:5.1f} s  {task.mutation}  {outcome.test}", flush=True)
    if (verbose and outcome.state != "killed") or outcome.state in ("crashed", "error"):
        print("    " + outcome.output[-4000:].replace("\n", "\n    "))


if __name__ == "__main__":
    sys.exit(main())
