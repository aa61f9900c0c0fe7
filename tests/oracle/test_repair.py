"""Broken sessions that clew repaired are resumed by the real Claude Code, with every prompt."""

from __future__ import annotations

import pytest

from clew.conversation.session import Session
from clew.edit.plan import plan
from tests.edit.broken import PROMPTS, WAYS
from tests.oracle.claude import LATEST
from tests.oracle.conftest import Claude
from tests.oracle.judge import bench

pytestmark = pytest.mark.oracle

CHOSEN = (
    "every prompt's parent lost",
    "no parent named",
    "a ring",
    "two prompts with one uuid",
    "uuids lost",
    "a result lost",
    "a call lost",
    "one id for two calls",
    "no times at all",
    "a pin on an agent",
    "a late note of the program",
    "padded with NULs",
)
OLD = ("a ring", "a message without content", "all at one time")


@pytest.mark.req("R301")
@pytest.mark.parametrize(("version", "ways"), [(LATEST, CHOSEN), ("2.1.29", OLD)])
def test_repaired_sessions_are_resumed_with_every_prompt(claude: Claude, version: str, ways: tuple[str, ...]) -> None:
    with bench(claude, version) as boxes:
        judged = {}
        for number, way in enumerate(ways):
            repaired = plan(Session(WAYS[way])).repair().session
            data = b"".join(item.raw.rstrip(b"\n") + b"\n" for item in repaired.items)
            judged[way] = boxes.judge(data, f"00000000-0000-4000-8000-{number:012}", f"repair/{way}")
        good = 0
        for way, future in judged.items():
            verdict = future.result()
            verdict.check()
            assert verdict.theirs is not None
            said = [b.get("text", "") for m in verdict.theirs.messages for b in m["content"] if isinstance(b, dict)]
            said += [m["content"] for m in verdict.theirs.messages if isinstance(m["content"], str)]
            missing = [prompt for prompt in PROMPTS if not any(text.strip() == prompt for text in said)]
            assert not missing, f"{way}: {missing}"
            good += 1
        print(f"{version} resumes {good} of {len(ways)} repaired sessions with all {len(PROMPTS)} prompts")
