"""Read what a list shows of a session from the two ends of its file.

The first prompt, the folder and the branch are at the beginning; titles are appended repeatedly, so the newest is
near the end. A file that is not larger than the two windows is read completely.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import cached_property

from msgspec import Struct

from clew.conversation.session import Session
from clew.conversation.titles import WINDOW, first_prompt, session_tag, session_title
from clew.errors import READ_ERRORS
from clew.wire.content_time import Times, file_time, last_times, newest_first
from clew.wire.layout import AgentFile, SessionFile

LONG = 32 << 20  # bytes read beyond the first window to complete its last line


class Outline(Struct, frozen=True, dict=True):
    """A session in a list; nothing is read before it is used, and nothing twice."""

    file: SessionFile | AgentFile

    @property
    def id(self) -> str:
        return self.file.id

    @cached_property
    def _ends(self) -> tuple[Session, Session]:
        size = os.path.getsize(self.file.location)
        with open(self.file.location, "rb") as file:
            if size <= 2 * WINDOW:
                session = Session(file.read(), file=self.file)
                return session, session
            head = file.read(WINDOW)
            if not head.endswith(b"\n"):
                head += file.readline(LONG)  # a prompt with a picture in it is longer than a window
            if not head.endswith(b"\n") and file.tell() < size:
                head = head[: head.rfind(b"\n") + 1]
            file.seek(size - WINDOW)
            tail = file.read()
        return Session(head), Session(tail[tail.find(b"\n") + 1 :])

    def read(self) -> None:
        """Read everything that a list shows, so that an unreadable file raises here and not later."""
        _ = (self.title, self.cwd, self.branch_name, self.version, self.slug, self.started, self.when)

    @property
    def is_whole(self) -> bool:
        """Whether the two windows cover the file, so that counts are exact."""
        return self._ends[0] is self._ends[1]

    @cached_property
    def title(self) -> str:
        head, tail = self._ends
        if head is tail:
            return head.title
        return session_title(tail, head) or Session(self.file.path).title  # the prompts are in between

    @cached_property
    def tag(self) -> str:
        return session_tag(*dict.fromkeys(reversed(self._ends)))

    @property
    def first_prompt(self) -> str:
        return first_prompt(self._ends[0])

    @cached_property
    def cwd(self) -> str | None:
        return self._ends[0].cwd or self._ends[1].cwd

    @cached_property
    def branch_name(self) -> str | None:
        return self._ends[1].branch_name or self._ends[0].branch_name

    @cached_property
    def version(self) -> str | None:
        return next((v for s in reversed(self._ends) for v in reversed(s.versions)), None)

    @property
    def program(self) -> str:
        """The program that wrote last, for a reader: its version, and its name if it is clew."""
        name = next((p for s in reversed(self._ends) for p in reversed(s.programs)), "")
        return name if name.startswith("clew ") or not name else f"version {self.version}"

    @cached_property
    def slug(self) -> str | None:
        """The newest short label that Claude Code gave to the session."""
        return self._ends[1].slug or self._ends[0].slug

    @cached_property
    def started(self) -> datetime | None:
        return self._ends[0].started

    @cached_property
    def times(self) -> Times:
        """The time of the last entry, and that of the last note after it."""
        return last_times(self.file)

    @property
    def ended(self) -> datetime | None:
        return self.times[0]

    @property
    def when(self) -> datetime:
        """The time of the last entry, else the time of the file."""
        return self.ended or file_time(self.file)

    @cached_property
    def is_sidechain(self) -> bool:
        return self._ends[0].is_agent

    @cached_property
    def is_conversation(self) -> bool:
        """Whether the file contains messages; some files contain only state."""
        return any(e.type in ("user", "assistant") for s in self._ends for e in s.entries)


def newest_conversations(files: Iterable[SessionFile]) -> Iterator[Outline]:
    """Yield the conversations among files, newest first. Files with only state, or of an agent, are skipped."""
    for file in newest_first(file for file in files if not file.is_empty):
        outline = Outline(file)
        try:
            listed = outline.is_conversation and not outline.is_sidechain
            outline.read()
        except READ_ERRORS:  # skip an unreadable file
            continue
        if listed:
            yield outline
