"""The score: the samples beside the checkout, resumed by the real CLI and compared to the letter."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.oracle.claude import VERSIONS, Resumed
from tests.oracle.conftest import Claude
from tests.oracle.recording import Answer, Recording
from tests.oracle.score import Sample, Tally, report, score, shared_samples
from tests.oracle.script import Script

SOAKS = os.environ.get("CLEW_SOAK") == "1"
ONE_IN = 1 if SOAKS else 12


@pytest.mark.oracle
@pytest.mark.shared
@pytest.mark.parametrize("version", VERSIONS)
def test_samples_are_resumed_to_the_letter(claude: Claude, shared: Path, tmp_path: Path, version: str) -> None:
    found = [s for s in shared_samples(shared / "oracle" / "samples") if s.made_by in ("", version)][::ONE_IN]
    with claude(version):  # it can be run here
        tally = score(version, found, Recording(tmp_path))
    print("\n".join(report({version: tally})))
    assert tally.sessions == len(found)
    assert not tally.different, "\n".join(f"{name}: {why}" for name, why in tally.different.items())


def test_an_answer_that_was_recorded_is_compared_without_the_program(tmp_path: Path) -> None:
    script = Script()
    script.turns(1)
    sent = [("user", "u1"), ("assistant", "a1"), ("user", "NEXT")]
    messages = [{"role": role, "content": words} for role, words in sent]
    recording = Recording(tmp_path)
    recording.keep("2.1.29", script.data(), Answer(Resumed(0, "", "ok", "s", "m", messages), b"{}\n\xff"))
    kept = recording.find("2.1.29", script.data())
    assert kept is not None and kept.added == b"{}\n\xff"
    sample = Sample("one", "s", script.data())
    assert score("2.1.29", [sample], recording, ask=False).equal == 1
    assert score("2.1.45", [sample], recording, ask=False).missing == 1
    recording.keep("2.1.29", script.data(), Answer(Resumed(0, "", "ok", "s", "m", messages[::2])))
    assert [*score("2.1.29", [sample], recording, ask=False).different] == ["one"]


def test_the_report_counts_what_each_version_got_right() -> None:
    lines = list(report({"9.9.9": Tally(4, 2, 1, different={"x": "why"})}))
    assert "| 9.9.9 | 4 | 2 | 1 | 1 | 75.0 % |" in lines
