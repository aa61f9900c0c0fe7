"""The round that a prompt of the history began, found in the transcript of its session."""

from __future__ import annotations

from typing import Any, NamedTuple

from clew.conversation.session import Session
from clew.system.file_errors import ErrorCollector
from clew.wire.layout import SessionFile, Tree
from clew.wire.prompt_history import HistoryPrompt

_SAME = 1.0  # seconds between the line of the history and that of the transcript


class _Opening(NamedTuple):
    text: str
    seconds: float | None
    fields: dict[str, Any]


class PromptRounds:
    """Rounds by prompt. A transcript is read when the first prompt of its session is looked up."""

    def __init__(self, place: Tree, fence: ErrorCollector) -> None:
        self._files: dict[str, SessionFile] = {f.id.lower(): f for p in place.projects() for f in p.sessions()}
        self._fence = fence
        self._openings: dict[str, list[_Opening]] = {}

    def fields(self, prompt: HistoryPrompt) -> dict[str, Any]:
        """Return the fields `round` and `input`; null if the transcript is gone or does not hold the prompt."""
        seconds = prompt.time.timestamp() if prompt.time else None
        near = sorted(self._of(prompt.session_id or ""), key=lambda each: _distance(each.seconds, seconds))
        text = _plain(prompt.text)
        same = next((each for each in near if each.text == text), None)
        if same is None and near and _distance(near[0].seconds, seconds) <= _SAME:
            same = near[0]
        return same.fields if same else {"round": None, "input": None}

    def _of(self, session: str) -> list[_Opening]:
        key = session.lower()
        if key not in self._openings:
            self._openings[key] = []
            if file := self._files.get(key):
                with self._fence.catch(file.path):
                    rounds = Session(file.path, file=file).rounds
                    self._openings[key] = [
                        _Opening(
                            _plain(each.text),
                            each.time.timestamp() if each.time else None,
                            {"round": each.number, "input": each.input},
                        )
                        for each in rounds
                    ]
        return self._openings[key]


def _plain(text: str) -> str:
    return " ".join(text.split())


def _distance(first: float | None, second: float | None) -> float:
    return abs(first - second) if first is not None and second is not None else float("inf")
