"""The comparison: what the real CLI sends when it resumes a file, and what clew says that it sends."""

from __future__ import annotations

import os
import queue
import shutil
import subprocess
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from threading import Lock
from typing import Any

from clew.conversation.cli_version import Era
from clew.conversation.resume_request import Request, build_request
from clew.conversation.session import Session
from clew.wire.entry import Entry
from tests.oracle import agreed, verbatim
from tests.oracle.agreed import PROMPT as PROMPT
from tests.oracle.claude import LATEST, Box, Resumed
from tests.oracle.mock_api import Json
from tests.oracle.recording import Answer

WORKERS = max(2, os.cpu_count() or 2)


@dataclass(frozen=True)
class Verdict:
    """Both sides; `theirs` is None if the program had to be stopped.

    `context` is what the program added for the new prompt, read from the file or, where it is not written, from the
    request; `ours` holds it.
    """

    version: str
    ours: Request
    theirs: Resumed | None
    context: tuple[Entry, ...] = ()

    def check(self) -> None:
        """Both refuse, or both send the same. The model is a claim about the newest version only."""
        difference = self.difference()
        assert not difference, difference

    def difference(self, used: set[str] | None = None) -> str:
        """What differs, to the letter; `used` gets the names of the allowed differences that were needed."""
        used = set() if used is None else used
        sent = self.theirs.messages if self.theirs and self.theirs.rc == 0 else []
        if not sent:
            return "" if self.ours.refusal else f"only the CLI refuses: {self.theirs}"
        if self.ours.refusal:
            return f"only clew refuses: {self.ours.refusal}"
        ours, theirs = self.sides(used)
        if ours != theirs and self.ours.left_out and verbatim.is_beside_left_out(ours, theirs, self.ours.left_out):
            used.add("left out")
        elif ours != theirs:
            return f"\nclew: {shown(ours)}\nreal: {shown(theirs)}\n{first_difference(ours, theirs)}"
        if self.theirs and self.version == LATEST and self.ours.model != self.theirs.model:
            return f"clew asks {self.ours.model}, the CLI {self.theirs.model}"
        return ""

    def sides(self, used: set[str]) -> tuple[list[Json], list[Json]]:
        """What clew says and what was sent, without the few differences that are allowed."""
        theirs = verbatim.comparable(self.theirs.messages if self.theirs else [], used)
        theirs = verbatim.without_lost_agents(theirs, used)
        ours = verbatim.comparable(self.ours.messages, used)
        writes_context = Era(self.version).renders_attachments
        if self.context:
            used.add("turn" if writes_context else "opening")
        return ours, theirs if writes_context else verbatim.without_opening(theirs, used)


def first_difference(ours: list[Json], theirs: list[Json]) -> str:
    """The first block that differs, in full."""
    nothing: Json = {}
    for place, (mine, other) in enumerate(zip_longest(ours, theirs, fillvalue=nothing)):
        if mine != other:
            blocks = zip_longest(mine.get("content", ()), other.get("content", ()))
            pair = next(((a, b) for a, b in blocks if a != b), (mine.get("role"), other.get("role")))
            return f"first difference, in message {place}:\nclew: {pair[0]!r}\nreal: {pair[1]!r}"
    return ""


def shown(messages: list[dict[str, Any]]) -> str:
    """A request on one line: the role's first letter and the blocks, each shortened."""
    return " | ".join(f"{m['role'][0]}: {' + '.join(map(_block, m['content']))}" for m in messages)


def _block(block: Any) -> str:
    match block.get("type") if isinstance(block, dict) else None:
        case "text":
            return repr(block.get("text"))[:200]
        case "tool_use":
            return f"USE({block['id']}, {block['name']}, {block.get('input')})"[:200]
        case "tool_result":
            mark = "ERROR" if block.get("is_error") else "RESULT"
            return f"{mark}({block['tool_use_id']}, {block.get('content')!r})"[:200]
    return repr(block)[:200]


def judge(box: Box, data: bytes, session_id: str | None = None) -> Verdict:
    """Write a file, say what a resume would send, and resume it."""
    return verdict(box.version, data, ask(box, data, session_id or str(uuid.uuid4())))


def ask(box: Box, data: bytes, session_id: str, beside: Path | None = None) -> Answer:
    """Let the CLI resume a file; `beside` is the folder of what else belongs to the session."""
    path = box.write(session_id, data)
    if beside:
        shutil.copytree(beside, path.with_suffix(""), dirs_exist_ok=True)
    try:
        theirs = box.resume(session_id, PROMPT)
    except subprocess.TimeoutExpired:
        return Answer(None)
    after = path.read_bytes()
    return Answer(theirs, after[len(data) :] if after.startswith(data) else b"")


def verdict(version: str, data: bytes, answer: Answer) -> Verdict:
    """Compare what the CLI did with a file and what clew says about it."""
    if Era(version).renders_attachments:
        context = verbatim.written(answer.added)
    else:
        context = verbatim.unwritten(answer.theirs.messages if answer.theirs else [])
    return Verdict(version, build_request(Session(data).items, version, PROMPT, context), answer.theirs, context)


def _confirmed_verdict(version: str, data: bytes) -> Verdict:
    """Return the verdict on a file for which the CLI has sent what clew predicts."""
    ours = agreed.predict(version, data)
    rc = 1 if ours.refusal else 0
    return Verdict(version, ours, Resumed(rc, "", None, None, ours.model, ours.messages))


class Bench:
    """Several boxes of one version that judge at the same time."""

    def __init__(self, boxes: list[Box], pool: ThreadPoolExecutor) -> None:
        self.version = boxes[0].version
        self._pool = pool
        self._lock = Lock()
        self._free: queue.SimpleQueue[Box] = queue.SimpleQueue()
        for box in boxes:
            self._free.put(box)

    def judge(self, data: bytes, session_id: str, name: str = "") -> Future[Verdict]:
        """Compare both sides. A case with a name, which the table of confirmed predictions has, may not be asked."""
        if name and not agreed.must_ask(self.version, name, data):
            known: Future[Verdict] = Future()
            known.set_result(_confirmed_verdict(self.version, data))
            return known
        return self._pool.submit(self._judge, data, session_id, name)

    def _judge(self, data: bytes, session_id: str, name: str) -> Verdict:
        found = verdict(self.version, data, self._ask(data, session_id))
        if name and agreed.RECORDS and not found.difference():
            with self._lock:
                agreed.record(self.version, name, data)
        return found

    def ask(self, data: bytes, session_id: str, beside: Path | None = None) -> Future[Answer]:
        return self._pool.submit(self._ask, data, session_id, beside)

    def _ask(self, data: bytes, session_id: str, beside: Path | None = None) -> Answer:
        box = self._free.get()
        try:
            return ask(box, data, session_id, beside)
        finally:
            self._free.put(box)


@contextmanager
def bench(open_box: Callable[[str], Box], version: str) -> Iterator[Bench]:
    with ExitStack() as held:
        boxes = [held.enter_context(open_box(version)) for _ in range(WORKERS)]
        pool = ThreadPoolExecutor(WORKERS)
        held.callback(pool.shutdown, cancel_futures=True)
        yield Bench(boxes, pool)
