"""All hand-made cases by name, `theme/case`; with `@life` behind it the case has the gaps of a real session."""

from __future__ import annotations

import uuid
from binascii import crc32

from tests.oracle import (
    cases_attachments,
    cases_blocks,
    cases_bridging,
    cases_closing,
    cases_compaction,
    cases_damage,
    cases_leaf,
    cases_merging,
    cases_notes,
    cases_pins,
    cases_preserved,
    cases_queued,
    cases_results,
    cases_siblings,
    cases_thinking,
)
from tests.oracle.script import Lifelike, Tell, dense, told

THEMES = (
    cases_leaf.case,
    cases_pins.case,
    cases_siblings.case,
    cases_notes.case,
    cases_bridging.case,
    cases_merging.case,
    cases_results.case,
    cases_attachments.case,
    cases_queued.case,
    cases_blocks.case,
    cases_compaction.case,
    cases_preserved.case,
    cases_thinking.case,
    cases_closing.case,
    cases_damage.case,
)
CASES: dict[str, Tell] = {f"{theme.name}/{name}": tell for theme in THEMES for name, tell in theme.items()}
CLOCKED = [
    name + clock for name in CASES for clock in ("", "@life")
]  # each with one second between lines, and as in life


_BY_TIME = ("bridging", "leaf", "notes", "preserved")  # themes in which the gaps decide
SAMPLE = [
    name
    for case in CASES
    for name in (
        (case, f"{case}@life") if case.startswith(_BY_TIME) else (case + "@life" * (crc32(case.encode()) % 2),)
    )
]  # with both clocks where the gaps decide, else with one of them; `make soak` runs all of CLOCKED


def session_of(name: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, name))


def file_of(name: str, session: str) -> bytes:
    case, at, _ = name.partition("@life")
    return told(CASES[case], session, Lifelike() if at else dense)
