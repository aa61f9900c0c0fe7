"""The report that compares two releases of Claude Code."""

from __future__ import annotations

import os

import pytest

from tests.oracle.claude import LATEST
from tests.oracle.conftest import Claude
from tests.oracle.releases import Release, main, report


def test_the_report_names_what_appeared_disappeared_and_is_unknown() -> None:
    old = Release("1.0.0", {"user", "user .message", "summary"}, {"max_tokens": {"32000"}, "stream": {"true"}})
    new = Release("2.0.0", {"user", "user .message", "user .hat"}, {"max_tokens": {"64000"}, "stream": {"true"}})
    lines = list(report(old, new))
    assert "- appeared: `user .hat`" in lines
    assert "- disappeared: `summary`" in lines
    assert "- unknown to clew (add them to facts/known.json): `user .hat`" in lines
    assert "- `max_tokens`: `32000` → `64000`" in lines
    assert not any("stream" in line for line in lines)


@pytest.mark.oracle
@pytest.mark.soak
@pytest.mark.skipif(os.environ.get("CLEW_SOAK") != "1", reason="long: set CLEW_SOAK=1")
def test_two_releases_are_compared(claude: Claude, capsys: pytest.CaptureFixture[str]) -> None:
    with claude(), claude("2.1.45"):  # both can be run here
        assert main(["2.1.45", LATEST, "--cases", "^siblings/results_below_their_calls$"]) == 0
    printed = capsys.readouterr().out
    assert "## Cases that are resumed differently: 1 of 1" in printed
    assert f"## Cases that clew predicts wrongly for {LATEST}: 0 of 1" in printed
    assert "- unknown to clew (add them to facts/known.json): none" in printed
