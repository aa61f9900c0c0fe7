"""Prompts that wait until the model can receive them. Every change of the queue is a line in the session file."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator

from msgspec import Struct

from clew.chat.store import journal_lines
from clew.chat.store.journal import Journal
from clew.chat.tools.tool import Content, ToolState, text_of
from clew.wire.json_codec import Json


class UserPrompt(Struct, frozen=True):
    """A prompt: its content, and notes that the program adds for the model alone."""

    content: Content
    notes: tuple[Content, ...] = ()
    task: str = ""  # set for the report of a background task that has ended
    uuid: str = ""  # of its line, if the sender chose one
    typed: str = ""  # what the user typed, if a command made the content of it
    expansion: Json | None = None  # which command that was, as hooks are told

    @property
    def text(self) -> str:
        return text_of(self.content)

    @property
    def spoken(self) -> str:
        """What the user typed."""
        return self.typed or self.text


class PromptQueue:
    """The prompts of the user and the reports of background tasks, in the order in which they arrived."""

    def __init__(self, journal: Journal, state: ToolState) -> None:
        self._journal = journal
        self._state = state
        self._prompts: deque[UserPrompt] = deque()
        self._in_turn = False
        self.task_ended = asyncio.Event()  # set while no turn runs and a report is queued that the model needs

    def __iter__(self) -> Iterator[UserPrompt]:
        return iter(self._prompts)

    @property
    def has_task_reports(self) -> bool:
        """Whether a background task has ended that the model was not told of."""
        return any(prompt.task and prompt.task not in self._state.reported_tasks for prompt in self._prompts)

    def begin_turn(self) -> None:
        self._in_turn = True
        self._update_task_ended()

    def end_turn(self) -> None:
        self._in_turn = False
        self._update_task_ended()

    def _update_task_ended(self) -> None:
        if self.has_task_reports and not self._in_turn:
            self.task_ended.set()
        else:
            self.task_ended.clear()

    def add(self, prompt: UserPrompt) -> None:
        self._prompts.append(prompt)
        try:
            self._write("enqueue", prompt.content)
        finally:
            if prompt.task:
                self._update_task_ended()

    def take(self) -> UserPrompt:
        prompt = self._prompts.popleft()
        self._write("dequeue")
        return prompt

    def has_prompts(self) -> bool:
        """Return whether prompts or reports are queued. Reports that the model does not need any more are dropped
        first.
        """
        self._remove([report for report in self._prompts if report.task in self._state.reported_tasks], "remove")
        return bool(self._prompts)

    def take_task_reports(self) -> list[UserPrompt]:
        """Take the task reports out of the queue; they precede the user's next prompt."""
        self.has_prompts()
        return self._remove([report for report in self._prompts if report.task], "dequeue")

    def take_back_prompts(self) -> list[UserPrompt]:
        """Take the user's prompts out of the queue without sending them."""
        return self._remove([prompt for prompt in self._prompts if not prompt.task], "remove")

    def cancel(self, uuid: str) -> bool:
        """Drop the prompt with this uuid; return whether there was one."""
        return bool(self._remove([prompt for prompt in self._prompts if uuid and prompt.uuid == uuid], "remove"))

    def clear(self) -> None:
        """Forget all prompts without recording it."""
        self._prompts.clear()

    def _remove(self, prompts: list[UserPrompt], operation: str) -> list[UserPrompt]:
        for prompt in prompts:
            self._prompts.remove(prompt)
            self._write(operation, prompt.content if operation == "remove" else None)
        return prompts

    def _write(self, operation: str, content: Content | None = None) -> None:
        if not self._journal.is_agent:
            session_id, time = self._journal.envelope.session_id, self._journal.time()
            self._journal.beside(journal_lines.queued(operation, session_id, time, content))
