"""The judge: recordings of what the real program sent when it resumed a session, against what clew says it would send.

The recordings lie beside the checkout and are no part of the project; without them these tests are skipped. They were
shortened when they were made, so only our side is brought to their form (`as_recorded`). The same sessions are compared to
the letter with the real program by `tests/oracle/test_score.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import clew

Json = dict[str, Any]

VERSIONS = ("2.0.50", "2.1.29", "2.1.45", "2.1.325")
NEXT = "NEXT"
PROMPT = {"role": "user", "content": [{"type": "text", "text": NEXT}]}

# What is known to differ, and why. Whatever else differs fails the test, and so does a difference that is gone.
OWN_WORDS = "the attachment does not hold the words that it was sent with: these versions render it with their own"
NO_WORKTREE = "it was refused for a broken worktree, which is not beside the recording"
ACCEPTED = {
    ("2.1.325", "worktree/f4e96f0c"): NO_WORKTREE,
    ("2.0.50", "q01_file_attachment"): OWN_WORDS,
    ("2.1.29", "q01_file_attachment"): OWN_WORDS,
    ("2.1.45", "q01_file_attachment"): OWN_WORDS,
}


@dataclass(frozen=True, slots=True)
class Case:
    """A session and what a version made of it: the messages that it sent, with NEXT as the prompt."""

    name: str
    path: Path
    code: int
    messages: list[Any]

    @property
    def was_refused(self) -> bool:
        return self.code != 0 and unprompted(self.messages) == []


def cases(shared: Path, version: str) -> Iterator[Case]:
    samples = shared / "oracle" / "samples"
    for name, told in _recorded(samples / "acceptance" / f"expected-{version}.json"):
        yield Case(name, samples / "acceptance" / f"{name}.jsonl", told["rc"], told["messages"])
    for file in sorted(samples.glob(f"{version}/*/expected.json")):
        for session, told in _recorded(file):
            (path,) = file.parent.glob(f".claude/projects/*/{session}.jsonl")
            yield Case(f"{file.parent.name}/{session[:8]}", path, told["rc"], told["messages"])


def _recorded(file: Path) -> list[tuple[str, Json]]:
    return sorted(json.loads(file.read_bytes()).items())


def unprompted(messages: list[Any]) -> list[Any]:
    return [message for message in messages if message != PROMPT]


def agrees(case: Case, version: str) -> bool:
    request = clew.request(clew.read(case.path), version=version, prompt=NEXT)
    if case.was_refused:
        return bool(request.refusal)
    ours, theirs = as_recorded(request.messages), case.messages
    if not theirs:  # a hook blocked the prompt, or the program sent nothing
        return unprompted(ours) == []
    if isinstance(theirs[0], str):  # "94 messages": only the last of them were recorded
        theirs = theirs[1:]
        ours = ours[-len(theirs) :]
    return bool(ours == theirs)


def as_recorded(messages: Iterable[Json]) -> list[Json]:
    """Our messages in the form of the recordings: without reminders, system turns, and what is empty after that."""
    turns = [{"role": m["role"], "content": _blocks(m["content"])} for m in messages if m["role"] != "system"]
    return [turn for turn in turns if turn["content"]]


def _blocks(content: str | list[Json] | None) -> list[Json]:
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    blocks = map(_block, content or [])
    return [block for block in blocks if block.get("type") != "text" or block.get("text")]


def _block(block: Json) -> Json:
    match block.get("type"):
        case "text" if isinstance(block.get("text"), str):
            return {**block, "text": _REMINDER.sub("", block["text"]).rstrip("\n")}
        case "tool_result":
            content = block.get("content")
            return {**block, "content": _REMINDER.sub("", content) if isinstance(content, str) else _blocks(content)}
    return block


_REMINDER = re.compile(r"\s*<system-reminder>.*?</system-reminder>\s*", re.DOTALL)


@pytest.mark.shared
@pytest.mark.parametrize("version", VERSIONS)
def test_a_resume_sends_what_the_program_sent(shared: Path, version: str) -> None:
    judged = {case.name: agrees(case, version) for case in cases(shared, version)}
    wrong = {name for name, is_right in judged.items() if not is_right}
    print(f"{version}: {len(judged) - len(wrong)} of {len(judged)} as recorded")
    assert len(judged) > 100
    assert wrong == {name for at, name in ACCEPTED if at == version}


@pytest.mark.shared
@pytest.mark.parametrize("version", VERSIONS)
def test_every_recorded_session_reads_as_a_conversation(shared: Path, version: str) -> None:
    """The leaf of a session is that of the newest version's request, and each prompt is on a branch."""
    for case in cases(shared, version):
        found = clew.read(case.path)
        request = clew.request(found)
        if request.leaf is not None and not found.damage:  # a session saves more from damage than the program does
            assert found.leaf == request.leaf, case.name
        standing = {e.uuid for e in found.prompts if found.links.nodes[e.uuid] is e}
        assert {e.uuid for branch in found.branches for e in branch.prompts} == standing, case.name
        for branch in found.branches:
            assert [turn.prompt for turn in found.turns_of(branch)] == list(branch.prompts), case.name
