"""The judge: recordings of what the real program sent when it resumed a session, against what clew says it would.

The recordings lie beside the checkout and are no part of the project; without them these tests are skipped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import clew
from tests.oracle.normalise import normalise

Json = dict[str, Any]

NEXT = "NEXT"
VERSIONS = ("2.0.50", "2.1.29", "2.1.45", "2.1.325")
CUT = "[Tool call interrupted"  # the program's sentence goes on; ours and the recording may end anywhere behind this

# What is known to differ, and why. Anything else that differs fails the test, and so does a difference that is gone.
WORDS = "attachments were not stored as they were sent: the program renders this one with words of its own"
ACCEPTED: dict[tuple[str, str], str] = {}


@dataclass(frozen=True)
class Case:
    name: str
    path: Path
    recorded: Json

    @property
    def messages(self) -> list[Any]:
        return list(self.recorded["messages"] or ())

    @property
    def was_refused(self) -> bool:
        return bool(self.recorded["rc"]) and without_prompt(self.messages) == []


def cases(shared: Path, version: str) -> Iterator[Case]:
    samples = shared / "oracle" / "samples"
    told = json.loads((samples / "acceptance" / f"expected-{version}.json").read_bytes())
    for name, recorded in told.items():
        path = samples / "acceptance" / f"{name}.jsonl"
        if path.exists():
            yield Case(name, path, recorded)
    for file in sorted(samples.glob(f"{version}/*/expected.json")):
        for session, recorded in json.loads(file.read_bytes()).items():
            for path in sorted(file.parent.glob(f".claude/projects/*/{session}.jsonl")):
                yield Case(f"{file.parent.name}/{session[:8]}", path, recorded)


def without_prompt(messages: list[Any]) -> list[Any]:
    """The messages without the last prompt, which may stand behind other blocks of its turn."""
    if not messages or isinstance(messages[-1], str):
        return messages
    *before, last = messages
    blocks = [b for b in last["content"] if b != {"type": "text", "text": NEXT}]
    return [*before, {**last, "content": blocks}] if blocks else before


def shortened(value: Any) -> Any:
    if isinstance(value, str):
        return value[: value.index(CUT) + len(CUT)] if CUT in value else value
    if isinstance(value, list):
        return [shortened(v) for v in value]
    return {k: shortened(v) for k, v in value.items()} if isinstance(value, dict) else value


def agrees(case: Case, version: str) -> bool:
    request = clew.request(clew.read(case.path), version=version, prompt=NEXT)
    if case.was_refused:
        return bool(request.refusal)
    ours = without_prompt(normalise(request.messages))
    theirs = case.messages
    if theirs and isinstance(theirs[0], str):  # "94 messages": the recording kept only the last of them
        theirs = theirs[1:]
        ours = ours[-len(without_prompt(theirs)) :]
    return bool(shortened(ours) == shortened(without_prompt(normalise(theirs))))


@pytest.mark.shared
@pytest.mark.parametrize("version", VERSIONS)
def test_a_resume_sends_what_the_program_sent(shared: Path, version: str) -> None:
    judged = [(case.name, agrees(case, version)) for case in cases(shared, version)]
    assert judged
    wrong = {name for name, is_right in judged if not is_right}
    print(f"{version}: {len(judged) - len(wrong)} of {len(judged)} as recorded")
    assert wrong == {name for name, at in ACCEPTED if at == version}


@pytest.fixture
def shared() -> Path:
    folder = Path(__file__).parents[3] / "shared"
    if not folder.is_dir():
        pytest.skip("the shared samples are not beside this checkout")
    return folder
