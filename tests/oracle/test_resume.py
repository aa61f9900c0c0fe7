"""The real CLI resumes hand-made sessions as clew says: what is sent, or that it is refused."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack
from functools import cache
from itertools import islice

import pytest

from tests.oracle.agreed import ONE_IN, must_ask
from tests.oracle.cases import CASES, CLOCKED, SAMPLE, file_of, session_of
from tests.oracle.claude import LATEST, VERSIONS
from tests.oracle.conftest import Claude
from tests.oracle.differences import KNOWN, UNKNOWN
from tests.oracle.judge import WORKERS, Bench, Verdict, bench, judge
from tests.oracle.script import told

pytestmark = pytest.mark.oracle

SOAKS = os.environ.get("CLEW_SOAK") == "1"

Judged = Callable[[str, str], Verdict]


def submit(on: Bench, name: str) -> Future[Verdict]:
    session = session_of(name)
    return on.judge(file_of(name, session), session, name)


@cache
def is_to_ask(key: tuple[str, str]) -> bool:
    version, name = key
    return must_ask(version, name, file_of(name, session_of(name)))


@pytest.fixture(scope="module")
def judged(request: pytest.FixtureRequest, claude: Claude) -> Iterator[Judged]:
    """The verdict on a case in a version. The next cases to ask about are begun too, so that all boxes have work.

    No more than those: each process of the test run sees all tests and runs only a part of them.
    """
    asked = [
        (str(item.callspec.params["version"]), str(item.callspec.params["name"]))
        for item in request.session.items
        if isinstance(item, pytest.Function) and "judged" in item.fixturenames
        if SOAKS or not item.get_closest_marker("soak")
    ]
    places = {key: place for place, key in enumerate(asked)}
    benches: dict[str, Bench] = {}
    futures: dict[tuple[str, str], Future[Verdict]] = {}
    with ExitStack() as held:

        def begin(version: str, name: str) -> None:
            if version not in benches:
                benches[version] = held.enter_context(bench(claude, version))
            if (version, name) not in futures:
                futures[version, name] = submit(benches[version], name)

        def verdict_on(version: str, name: str) -> Verdict:
            place = places[version, name]
            begin(version, name)
            for key in islice(filter(is_to_ask, asked[place + 1 : place + 1 + 2 * ONE_IN]), WORKERS):
                begin(*key)
            return futures[version, name].result()

        yield verdict_on


def marked(version: str, name: str) -> list[pytest.MarkDecorator]:
    name = name.removesuffix("@life")
    reason = UNKNOWN.get(name) if version == LATEST else KNOWN.get(version, {}).get(name)
    return [pytest.mark.xfail(strict=True, reason=reason)] if reason else []


@pytest.mark.parametrize(
    ("version", "name"),
    [pytest.param(LATEST, name, marks=marked(LATEST, name), id=name) for name in (CLOCKED if SOAKS else SAMPLE)],
)
def test_a_resume_sends_what_clew_says(judged: Judged, version: str, name: str) -> None:
    judged(version, name).check()


@pytest.mark.soak
@pytest.mark.skipif(not SOAKS, reason="long: set CLEW_SOAK=1")
@pytest.mark.parametrize(
    ("version", "name"),
    [
        pytest.param(version, name, marks=marked(version, name), id=f"{version}-{name}")
        for version in VERSIONS
        if version != LATEST and SOAKS
        for name in CLOCKED
    ],
)
def test_a_resume_by_an_older_version_sends_what_clew_says(judged: Judged, version: str, name: str) -> None:
    judged(version, name).check()


def test_what_is_sent_does_not_depend_on_other_sessions_of_the_project(claude: Claude) -> None:
    names = ["leaf/plain", "siblings/results_below_their_calls", "compaction/plain", "pins/pin_on_the_other_branch"]
    sent: dict[str, list[object]] = {name: [] for name in names}
    with claude() as box:
        for name in (*names, *reversed(names)):
            session = str(uuid.uuid4())
            theirs = judge(box, told(CASES[name], session), session).theirs
            sent[name].append(theirs.messages if theirs else None)
    assert all(first == second for first, second in sent.values())


def test_every_known_difference_names_a_case() -> None:
    assert {*UNKNOWN, *(name for names in KNOWN.values() for name in names)} <= set(CASES)
