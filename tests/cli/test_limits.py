"""Limits: what a query, an expression or an SQL statement may cost."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.chat.hooks.runner import Hook
from clew.demo.demo_tree import write_demo
from clew.demo.talk import talk
from clew.errors import BadQuery
from clew.index.query_syntax import parse_query
from clew.system.regex_deadline import Pattern
from tests.cli.conftest import NOW, Run
from tests.cost import Cost, measure

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="limits of processes are those of POSIX")
GUARD = 3 << 30  # bytes of address space that a search may take at most


MODULES = 20 << 20  # bytes: of the modules that print an error or a longer answer


def _cost(place: Path, *words: str) -> Cost:
    """What a command costs, under a hard limit."""
    folders = {"HOME": str(place), "CLAUDE_CONFIG_DIR": str(place / "claude"), "XDG_CACHE_HOME": str(place / "cache")}
    limits = {"RLIMIT_AS": GUARD, "RLIMIT_CPU": 60}
    command = [sys.executable, "-P", "-m", "clew", *words]
    return measure(command, {"PATH": os.environ["PATH"], **folders}, limits)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("limits")
    write_demo(root / "claude", NOW)
    _cost(root, "search", "tide")  # makes the index
    return root


@pytest.fixture(scope="module")
def short(place: Path) -> Cost:
    """A word of five letters that is nowhere, which is looked for with typing errors too."""
    return min((_cost(place, "search", "qzqzq") for _ in range(3)), key=lambda cost: cost.seconds)


QUERIES = {
    "a word of 41 letters": "x" * 41,
    "a word of 1,900 letters": "x" * 1900,
    "a word of 100,000 letters": "x" * 100_000,
    "a long word beside another": f"tide {'x' * 1900}",
    "10,000 words": " ".join(f"w{number}" for number in range(10_000)),
    "100 words": " ".join(f"w{number}" for number in range(100)),
    "100 words that occur": " ".join(["tide", "the", "of", "and", "station"] * 20),
    "50 alternatives": " OR ".join(f"w{number}" for number in range(50)),
    "99 exclusions": "tide " + " ".join(f"-w{number}" for number in range(99)),
    "a long phrase": '"' + "the " * 399 + '"',
    "CJK": "漢" * 40_000,
    "CJK within the limit": "漢" * 390,
    "one letter": "a*",
    "brackets": "(" * 1000 + "tide" + ")" * 1000,
    "a long filter": f"project:{'x' * 1900} tide",
    "many filters": " ".join(f"file:f{number}" for number in range(100)),
    "stars": f"tool:{'*a' * 4} tide",
}


@pytest.mark.parametrize("name", QUERIES)
def test_no_query_costs_much_more_than_a_short_word(name: str, place: Path, short: Cost) -> None:
    cost = _cost(place, "search", "--", QUERIES[name])
    assert cost.code in (0, 1, 2) and "Traceback" not in cost.said
    assert cost.seconds <= 3 * short.seconds + 0.5, (cost.seconds, short.seconds)
    assert cost.memory <= 1.5 * short.memory + MODULES, (cost.memory, short.memory)
    assert len(cost.said) < 2000


@pytest.mark.parametrize("flag", ["--substring", "--regex"])
def test_a_substring_or_an_expression_of_a_hundred_thousand_letters_is_refused(
    flag: str, place: Path, short: Cost
) -> None:
    cost = _cost(place, "search", flag, "x" * 100_000)
    assert cost.code == 2 and "at most 2000 characters" in cost.said
    assert cost.memory <= 1.5 * short.memory + MODULES and len(cost.said) < 1000
    assert _cost(place, "search", flag, "é" * 1900).seconds <= 5 * short.seconds + 1


def test_a_query_that_is_too_long_says_so_and_what_to_do() -> None:
    for text, reason in (
        ("x" * 2001, "at most 2000 characters, and this one 2001; search for a part of it"),
        ("a " * 101, "at most 100 words, and this one 101"),
        (f'"{"a " * 401}"', "at most 400 words"),
        ("tool:*a*a*a*a*a", "at most 4 stars"),
    ):
        with pytest.raises(BadQuery, match=re.escape(reason)) as caught:
            parse_query(text)
        assert len(str(caught.value)) < 500


def test_questions_of_models_are_limited_by_the_schema() -> None:
    from clew.mcp.session_tools import TOOLS
    from clew.mcp.tool_arguments import SearchSessions, schema

    assert schema(SearchSessions)["properties"]["query"]["maxLength"] == 2000
    for name, tool in TOOLS.items():
        for field, about in schema(tool.question).get("properties", {}).items():
            assert about.get("type") != "string" or "maxLength" in about or "enum" in about, f"{name}.{field}"


# -- regular expressions

SLOW = ("(a+)+$", "(a|a)*$", "(a|aa)+$", "(.*a){20}$", r"(\w+\s?)+$", "(x+x+)+y", "([a-z]+)*!")
LINE = "a" * 45 + " " + "x" * 45 + "?"


@pytest.mark.parametrize("expression", SLOW)
def test_an_expression_that_backtracks_for_ever_is_ended(expression: str) -> None:
    started = time.process_time()
    try:
        Pattern(expression).search(LINE)
    except BadQuery as error:
        assert "longer than 2 s" in error.reason and expression in str(error) and error.hint
    assert time.process_time() - started < 6


def test_search_and_redact_name_the_expression_and_the_session(clew: Run, claude: Path) -> None:
    session = talk().user(LINE).reply("done").write(claude).stem
    code, _, said = clew("search", "--regex", "(a+)+$")
    assert code == 2 and "(a+)+$" in said and session in said and "--substring" in said
    code, _, said = clew("redact", session, "--pattern", "(a+)+$", "--dry-run")
    assert code == 2 and "(a+)+$" in said and "longer than 2 s" in said


def test_a_hook_whose_matcher_never_ends_runs() -> None:
    assert Hook("PreToolUse", "true", "(a+)+$").matches("a" * 45 + "!")


def test_the_deadline_leaves_no_timer_and_changes_no_answer() -> None:
    before = signal.getsignal(signal.SIGVTALRM)
    pattern = Pattern(r"\bfoo(\d+)")
    text = "foo1 bar foo22 " * 1000
    found = pattern.search(text)
    assert found and found[1] == "1"
    assert pattern.spans(text, 0, 20) == [m.span() for m in re.compile(r"\bfoo(\d+)").finditer(text, 0, 20)]
    assert pattern.sub(lambda m: "x", text) == re.sub(r"\bfoo(\d+)", "x", text)
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0) and signal.getsignal(signal.SIGVTALRM) is before


def test_expressions_work_in_other_threads() -> None:
    found: list[bool] = []
    worker = threading.Thread(target=lambda: found.append(Pattern("b+").search("abbb") is not None))
    worker.start()
    worker.join()
    assert found == [True]


def test_the_deadline_costs_an_honest_expression_almost_nothing() -> None:
    text = "the quick brown fox " * 50
    plain, limited = re.compile("lazy"), Pattern("lazy")

    def spent(search: object) -> float:
        start = time.process_time()
        for _ in range(20_000):
            search(text)  # type: ignore[operator]
        return time.process_time() - start

    extra = min(spent(limited.search) for _ in range(3)) - min(spent(plain.search) for _ in range(3))
    assert extra / 20_000 < 50e-6  # seconds for each text


# -- SQL

ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
ROWS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c"


@pytest.fixture
def archive(clew: Run, claude: Path, tmp_path: Path) -> Iterator[str]:
    talk().user("hello").reply("hi").write(claude)
    path = str(tmp_path / "archive.db")
    assert clew("collect", "--archive", path, "--quiet")[0] == 0
    yield path


def test_a_query_that_never_ends_is_ended_by_its_time_limit(clew: Run, archive: str) -> None:
    started = time.monotonic()
    code, out, said = clew("sql", ENDLESS, "--archive", archive, "--timeout", "0.5")
    assert code == 2 and not out and "took longer than 0.5 s" in said and "--timeout" in said
    assert time.monotonic() - started < 30
    assert clew("sql", "SELECT 1 AS one", "--archive", archive, "--timeout", "20")[1].split() == ["one", "1"]


@pytest.mark.parametrize("query", [ENDLESS, ROWS])
def test_ctrl_c_ends_a_query_at_once(query: str, archive: str, tmp_path: Path) -> None:
    import resource

    words = [sys.executable, "-P", "-m", "clew", "sql", query, "--archive", archive]
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    with open(tmp_path / "out", "wb") as out:
        worker = subprocess.Popen(
            words,
            stdout=out,
            stderr=subprocess.PIPE,
            env=environment,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30)),
        )
        try:
            until = time.monotonic() + 60
            while time.monotonic() < until and not _is_busy(worker.pid):
                time.sleep(0.05)
            worker.send_signal(signal.SIGINT)
            started = time.monotonic()
            _, said = worker.communicate(timeout=30)
        finally:
            worker.kill()
    assert worker.returncode == 130 and b"Traceback" not in said
    assert time.monotonic() - started < 20


def _is_busy(pid: int) -> bool:
    """Whether a process has used a second and a half of its processor: by then it is at its query."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") > 1.5


def test_rows_are_printed_as_they_come_and_values_are_bounded(clew: Run, archive: str) -> None:
    query = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 5000) SELECT x FROM c"
    code, out, _ = clew("sql", query, "--archive", archive)
    assert code == 0 and [int(line) for line in out.splitlines()[1:]] == list(range(1, 5001))
    code, _, said = clew("sql", "SELECT hex(zeroblob(400000000))", "--archive", archive)
    assert code == 2 and "at most 100 MB" in said
