"""Write a plan as a new session next to the original, with its agents, outputs and file history.

The transcript is written last and appears atomically, so a session exists only when it is complete. Each line is
compared with the plan when it is made, and each file is read back and compared with what was made; if anything differs,
everything that was written is removed.
"""

from __future__ import annotations

import builtins
import os
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from msgspec import Struct

from clew.conversation.session import Session
from clew.edit.kept_files import digest
from clew.edit.plan_files import FileJob, session_file, side_files
from clew.edit.redact_lines import CHUNK_BYTES
from clew.edit.redact_session import has_leak, has_leak_in_side_file, redact_side_file
from clew.edit.undo_journal import UndoJournal
from clew.edit.verify import compare_lines
from clew.errors import Refused
from clew.facts.removed_thinking import REMOVED_KEY, thinking_replies
from clew.wire.entry import Entry, Item
from clew.wire.entry import read as read_items
from clew.wire.entry_types import ORIGIN_TYPE
from clew.wire.json_codec import encode
from clew.wire.layout import SessionFile
from clew.wire.path_mapping import PathMapping
from clew.wire.project_slug import slug
from clew.wire.relocate_lines import Relocation, relocate_references
from clew.wire.rename_ids import IdMapping, RenamedLine, rename_references
from clew.wire.session_writer import create_exactly, sync_folder
from clew.wire.timestamps import format_timestamp

if TYPE_CHECKING:
    from hashlib import _Hash as HASH

    from clew.edit.plan import Plan
    from clew.edit.redactor import Redactor

Content = Callable[[], Iterable[bytes]]
_CHUNK = 1 << 16
_BATCH = 32  # lines that are joined


class Written(Struct, frozen=True):
    """A session that was written: its id, its transcript, and all its files."""

    id: str
    path: Path
    files: tuple[Path, ...]
    number: str  # of the record in the undo journal


def write_plan(
    plan: Plan,
    *,
    id: str | None = None,
    folder: str | os.PathLike[str] | None = None,
    journal: UndoJournal | None = None,
) -> Written:
    """Write the new session of a plan. Raises Refused, with every reason, if it would be invalid."""
    if problems := plan.violations:
        raise Refused(problems)
    new_id = id or str(uuid4())
    file = session_file(plan.source)
    home = Path(folder) if folder else _target_folder(plan, file)
    contents = planned_files(plan, new_id, home)
    paths = tuple(contents)
    journal = journal or UndoJournal()
    number = journal.begin("; ".join(plan.steps) or "clone", plan.source.id, new_id, paths)
    written: dict[Path, str] = {}
    try:
        for path, parts in contents.items():
            is_last = path == paths[-1]
            for folder in {side.parent for side in paths[:-1]} if is_last else ():
                sync_folder(folder)
            total = sha256()
            create_exactly(path, _update_digest(total, parts()), sync_name=is_last)
            written[path] = total.hexdigest()
        checks = (_read_back(path, contents[path], made, plan.redactor) for path, made in written.items())
        if problems := tuple(chain.from_iterable(checks)):
            raise Refused(problems)
    except Refused:
        for path in reversed(written):
            path.unlink()
        journal.undone(number)
        raise
    journal.end_verified(number, written)
    return Written(new_id, paths[-1], paths, number)


def _read_back(path: Path, content: Content, made: str, redactor: Redactor | None) -> Iterator[str]:
    """Read a file that was written, and yield how it differs from what was made for it.

    The lines of sessions were searched for secrets when they were made; side files are searched here.
    """
    if digest(path) != made:
        yield f"{path.name} is not what was written"
    if redactor and not isinstance(content, SessionLines) and has_leak_in_side_file(path, redactor):
        yield _leak(path)


def _leak(path: Path) -> str:
    return f"{path.name} would still contain what should be redacted"


def planned_files(plan: Plan, new_id: str, home: Path, time: datetime | None = None) -> dict[Path, Content]:
    """Return the files of the new session in the project folder `home`, with their content; the transcript is last."""
    file = session_file(plan.source)
    names = _names(plan, new_id, file, home)
    side = (job for job in side_files(plan, file, home, new_id) if not _is_withheld(plan, job))
    search = LeakSearch(plan.redactor, frozenset(map(builtins.id, plan.searched))) if plan.redactor else None
    contents: dict[Path, Content] = {}
    for job in side:
        contents[job.path] = (
            SessionLines(job.path, job.source.items, names, search)
            if isinstance(job.source, Session)
            else partial(_read_content, plan, job.source)
        )
    origin = _origin(plan, new_id, time or datetime.now(UTC))
    path = home / f"{new_id}.jsonl"
    contents[path] = SessionLines(path, plan.session.items, names, search, (origin,))
    return contents


# -- lines


class LeakSearch(Struct, frozen=True):
    """The search for secrets in lines that are made, but for those of items in which it found nothing before."""

    redactor: Redactor
    searched: Collection[int]  # the `id` of each such item

    def check(self, lines: Iterable[tuple[Item | None, bytes]], path: Path) -> Iterator[tuple[Item | None, bytes]]:
        """Yield the lines of a file. Raises Refused, at the latest after the last one, if one has a match."""
        batch: list[Item] = []
        size = 0
        for item, line in lines:
            if id(item) not in self.searched:
                batch += read_items(line)
                size += len(line)
                if size > CHUNK_BYTES:
                    self._check_batch(batch, path)
                    batch, size = [], 0
            yield item, line
        self._check_batch(batch, path)

    def _check_batch(self, batch: Iterable[Item], path: Path) -> None:
        if has_leak(batch, self.redactor):
            raise Refused([_leak(path)])


class SessionLines(Struct, frozen=True):
    """The content of a session's file: the lines of its items with new names, and lines that are added."""

    path: Path
    items: tuple[Item, ...]
    names: IdMapping
    search: LeakSearch | None = None
    ending: tuple[bytes, ...] = ()

    def __call__(self) -> Iterator[bytes]:
        """Yield the lines, each compared with its item. Raises Refused if one differs or has a secret."""
        lines = compare_lines(self.items, self.ending, self.names, _renamed_lines(self.items, self.names))
        if self.search:
            lines = self.search.check(lines, self.path)
        while batch := [line for _, line in islice(lines, _BATCH)]:
            yield b"\n".join((*batch, b""))


def _renamed_lines(items: Iterable[Item], names: IdMapping) -> Iterator[RenamedLine]:
    move = Relocation(PathMapping(*names.cwd)) if names.cwd else None
    for item in items:
        if isinstance(item, Entry):
            line = rename_references(item, names)
            if move and (moved := relocate_references(line.json, move)) is not line.json:
                line = RenamedLine(moved)
            yield line


def _origin(plan: Plan, new_id: str, time: datetime) -> bytes:
    return encode(
        {
            "type": ORIGIN_TYPE,
            "sessionId": new_id,
            "source": plan.source.id,
            "steps": list(plan.steps),
            "timestamp": format_timestamp(time),
            **_removed_thinking(plan),
        }
    )


def _removed_thinking(plan: Plan) -> dict[str, list[str]]:
    """Return the replies that lose their thinking, so that `usage` can name those whose tokens still count it."""
    agents = [(agent.session, plan.agents.get(agent.id, agent.session)) for agent in plan.source.agents]
    pairs = [(before, now) for before, now in ((plan.source, plan.session), *agents) if now is not before]
    removed = {id for before, now in pairs for id in _lost_thinking(before, now)}
    return {REMOVED_KEY: sorted(removed)} if removed else {}


def _lost_thinking(before: Session, now: Session) -> set[str]:
    """Return the replies with thinking in entries that are gone or changed, and without thinking in the others."""
    same = set(map(id, now.entries))
    gone = thinking_replies(entry for entry in before.entries if id(entry) not in same)
    return gone - thinking_replies(now.entries) if gone else gone


def _names(plan: Plan, new_id: str, file: SessionFile, home: Path) -> IdMapping:
    sessions = [plan.session, *(plan.agents.get(a.id, a.session) for a in plan.source.agents if a.file)]
    sessions += [source for source in plan.extra.values() if isinstance(source, Session)]
    known = {e.uuid for s in sessions for e in s.entries if e.uuid}
    moved = (plan.source.cwd, plan.cwd) if plan.cwd and plan.source.cwd else None
    return IdMapping(new_id, known, plan.source.id, moved, (str(file.folder), str(home / new_id)))


# -- files


def _target_folder(plan: Plan, file: SessionFile) -> Path:
    """Return the folder for the new session: the original's, or that of the working directory to which it moves."""
    return file.project_folder.parent / slug(plan.cwd) if plan.cwd else file.project_folder


def _is_withheld(plan: Plan, job: FileJob) -> bool:
    """Return whether a file must be left out because it is binary and contains a match."""
    if plan.redactor is None or not isinstance(job.source, Path):
        return False
    return redact_side_file(job.source, job.source.read_bytes(), plan.redactor) is None


def _update_digest(total: HASH, parts: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the parts of a file on their way to it, and add them to its digest."""
    for part in parts:
        total.update(part)
        yield part


def _read_content(plan: Plan, path: Path) -> Iterator[bytes]:
    if plan.redactor:
        yield redact_side_file(path, path.read_bytes(), plan.redactor) or b""
        return
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk
