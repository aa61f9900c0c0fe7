"""The real CLI goes on with a trimmed session as planned, and does not compact it as it does the one that was too large."""

from __future__ import annotations

from pathlib import Path

import pytest

import clew
from clew.demo.talk import Talk, bash, talk
from clew.edit.plan import plan
from tests.oracle.claude import LATEST, Box
from tests.oracle.conftest import Claude
from tests.oracle.judge import PROMPT, judge

pytestmark = pytest.mark.oracle

TURNS = 30
FULL = {LATEST: 990_000, "2.1.45": 180_000}  # tokens at which the version compacts before it asks


def full(box: Box, tokens: int) -> Talk:
    """A session whose replies report that the window is full, with calls that fill it."""
    model = None if box.version == LATEST else "claude-opus-4-5-20251101"
    told = talk(version=box.version, cwd=str(box.project), model=model)
    output = "word " * ((tokens - 20_000) * 4 // TURNS // 5)
    for number in range(TURNS):
        usage = {"cache_read_input_tokens": 20_000 + (tokens - 20_000) * number // (TURNS - 1)}
        told = told.user(f"question {number}").reply("so", call=bash(f"look {number}"), usage=usage).result(output)
        told = told.reply(f"answer {number}", thinking="Hm.", usage=usage)
    return told


@pytest.mark.req("R301")
@pytest.mark.parametrize("version", FULL)
def test_a_session_fits_again(claude: Claude, version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with claude(version) as box:
        told = full(box, FULL[version])
        before = clew.read(box.write(told.session_id, told.bytes()))
        for preset in ("fit", "heavy"):
            made = plan(before).trim(preset).write()
            seen = len(box.api.requests)
            judge(box, made.path.read_bytes(), made.id).check()
            assert len(box.api.requests) - seen == 1
        seen = len(box.api.requests)
        box.resume(told.session_id, PROMPT)
        assert len(box.api.requests) - seen > 1, "the session was not too large to begin with"
