"""Sessions with torn, lost and unknown lines: `check` promises what the real Claude Code sends, also after `repair`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Any

import pytest

from clew.conversation.load import request
from clew.conversation.session import Session
from clew.edit.plan import plan
from clew.facts.health import health
from tests.oracle.claude import LATEST
from tests.oracle.conftest import Claude
from tests.oracle.damaged import Damaged, damaged
from tests.oracle.judge import Verdict, bench

pytestmark = pytest.mark.oracle

COUNT = 500 if os.environ.get("CLEW_SOAK") == "1" else 40
PROMPT = re.compile(r"prompt \d+ of \d+")


def said(messages: Iterable[dict[str, Any]]) -> set[str]:
    """The prompts among the messages; their texts are their names."""
    found: set[str] = set()
    for message in messages:
        content = message["content"]
        texts = [content] if isinstance(content, str) else [b.get("text") or "" for b in content if isinstance(b, dict)]
        found.update(text for each in texts if PROMPT.fullmatch(text := str(each).strip()))
    return found


def repaired(case: Damaged) -> bytes:
    items = plan(Session(case.data)).repair().session.items
    return b"".join(item.raw.rstrip(b"\n") + b"\n" for item in items)


def broken_promise(case: Damaged, verdict: Verdict) -> str:
    """What `check` says that the program does not do."""
    try:
        verdict.check()
    except AssertionError as difference:
        return str(difference)
    session = Session(case.data)
    found = health(session, [LATEST])
    sent = said(verdict.theirs.messages) if verdict.theirs and verdict.theirs.rc == 0 else set()
    told = found.resumes[-1]
    if bool(told.refusal) != (not sent and not (verdict.theirs and verdict.theirs.messages)):
        return f"check says {told.refusal or 'resumable'}"
    if not told.refusal and len(sent) != told.kept:
        return f"check promises {told.kept} prompts, and {len(sent)} are sent"
    lost = {e.text for e in session.prompts if e.line.number in found.prompts.lost}
    return f"check calls lost what is sent: {lost & sent}" if lost & sent else ""


def missing_after_repair(case: Damaged, verdict: Verdict) -> str:
    try:
        verdict.check()
    except AssertionError as difference:
        return str(difference)
    due = said(request(Session(case.whole), LATEST).messages) - case.ruined
    sent = said(verdict.theirs.messages) if verdict.theirs else set()
    return f"not brought back: {sorted(due - sent)}" if due - sent else ""


@pytest.mark.req("R301")
@pytest.mark.timeout(3600)
def test_check_promises_what_is_sent_and_repair_brings_every_prompt_back(claude: Claude) -> None:
    cases = [damaged(seed) for seed in range(COUNT)]
    with bench(claude, LATEST) as boxes:
        before = [boxes.judge(case.data, case.session, f"damaged/{case.seed}") for case in cases]
        after = [
            boxes.judge(repaired(case), f"00000000-0000-4000-9000-{case.seed:012}", f"repaired/{case.seed}")
            for case in cases
        ]
        promises = {c.seed: why for c, v in zip(cases, before, strict=True) if (why := broken_promise(c, v.result()))}
        repairs = {
            c.seed: why for c, v in zip(cases, after, strict=True) if (why := missing_after_repair(c, v.result()))
        }
    losing = sum(bool(health(Session(case.data), [LATEST]).prompts.lost) for case in cases)
    print(
        f"\n{LATEST} sends what check promises for {COUNT - len(promises)} of {COUNT} sessions ({losing} lose prompts)"
    )
    print(f"and every prompt that is left for {COUNT - len(repairs)} of {COUNT} repaired ones")
    assert losing > COUNT // 10, "the damage is too small to prove anything"
    assert (promises, repairs) == ({}, {})
