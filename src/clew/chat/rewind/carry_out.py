"""Carry out a rewind, or undo one; callers use `Engine.plan_rewind` and `Engine.rewind`."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from clew.chat.rewind.path_state import read_path_state
from clew.chat.rewind.rewind_plan import Edits, PathChange, RewindPlan, RewindPoint, store_of
from clew.chat.rewind.rewind_store import RewindRecord, RewindStep, begin, finish, records
from clew.chat.tools.atomic_files import make_folder, remove_draft, remove_file, remove_folder, restore_file, set_mode
from clew.errors import NotFound, Refused

_FULL = (errno.ENOSPC, errno.EDQUOT)
_CONTENT = ("file", "link")
_UNDO = "undo-"  # and the number of a rewind: the place of the one that undoes it


class RewindableConversation(Protocol):
    """A conversation that can be rewound."""

    @property
    def leaf(self) -> str | None:
        """The line from which the conversation continues."""
        ...

    def go_back(self, before: str | None) -> None:
        """Continue from this line."""
        ...


class Rewound(Struct, frozen=True):
    """The result of a rewind. The plan of `undo` reverts it."""

    changed: tuple[PathChange, ...]  # files and folders
    kept: tuple[PathChange, ...]  # left as they are: edited by others, or not to be deleted
    failed: tuple[tuple[str, str], ...]  # names, and why
    number: str  # of the rewind in its store


def carry_out(
    plan: RewindPlan,
    edits: Edits = "refuse",
    *,
    code: bool = True,
    conversation: RewindableConversation | None = None,
    keep: Sequence[PathChange] = (),
) -> Rewound:
    """Do what a plan says: each file in one step, and all current states saved before the first one.

    A file that someone else changed makes it refuse everything, or is kept, or is overwritten: as `edits` says. What is in
    `keep` stays as it is. `conversation` goes back in the conversation too. One that was killed is completed by planning and
    carrying out again. Raises Refused, also if a file changed since the plan, or if the disk is full; then nothing changed.
    """
    if code and plan.refused:
        raise Refused([plan.refused])
    wanted = plan.changes if code else ()
    edited = tuple(c for c in wanted if c.is_edited) if edits != "overwrite" else ()
    if edited and edits == "refuse":
        names = ", ".join(change.name for change in edited)
        raise Refused(
            [f"{names} {'was' if len(edited) == 1 else 'were'} changed after the session wrote it"],
            hint="Look at the difference, then choose whether to keep it or to overwrite it.",
        )
    kept = tuple(c for c in wanted if c in edited or c in keep)
    doing = [change for change in wanted if change not in kept]
    doing += _folders(plan, kept) if code else []
    for change in doing:
        if not read_path_state(change.path, plan.top).is_like(change.before):
            raise Refused([f"{change.name} changed while this was being planned"])
    broken = _interrupted_rewind(plan)
    if not doing and conversation is None and broken is None:
        return Rewound((), kept, (), "")
    record = _begin_record(plan, doing, broken, conversation)
    failed = _execute(doing, record)
    if conversation is not None:
        conversation.go_back(plan.place.before)
    with suppress(OSError):  # without its mark the record counts as interrupted, and can be undone all the same
        finish(record)
    done = tuple(change for change in doing if change.path not in failed)
    return Rewound(done, kept, tuple((c.name, failed[c.path]) for c in doing if c.path in failed), record.number)


def _folders(plan: RewindPlan, kept: Sequence[PathChange]) -> list[PathChange]:
    """Return the folders to change: a folder that contains a kept file is not removed."""
    busy = {above for change in kept for above in change.path.parents}
    return [change for change in plan.folders if change.kind != "delete" or change.path not in busy]


def _execute(changes: Sequence[PathChange], record: RewindRecord) -> dict[Path, str]:
    """Make the changes; return the reasons of those that failed. A full disk reverts them all and raises Refused."""
    failed: dict[Path, str] = {}
    for change, work in _operations(changes):
        if change.path in failed:
            continue
        try:
            work()
        except OSError as error:
            if error.errno in _FULL:
                _roll_back(changes, record)
            failed[change.path] = error.strerror or str(error)
    return failed


def _operations(changes: Sequence[PathChange]) -> Iterator[tuple[PathChange, Callable[[], None]]]:
    """Order the steps so that each is possible: a file can be where a folder must be."""
    down = sorted(changes, key=lambda change: change.path)
    up = down[::-1]
    for c in down:
        if c.before.kind == c.after.kind == "folder" and c.before.mode & 0o700 != 0o700:
            yield c, partial(set_mode, c.path, c.before.mode | 0o700)
    for c in down:
        if c.before.kind in _CONTENT and c.after.kind not in _CONTENT:
            yield c, partial(remove_file, c.path)
    for c in up:
        if c.before.kind == "folder" != c.after.kind:
            yield c, partial(remove_folder, c.path)
    for c in down:
        if c.after.kind == "folder" != c.before.kind:
            yield c, partial(make_folder, c.path)
    for c in down:
        if c.after.kind in _CONTENT:
            yield c, partial(restore_file, c.path, c.after.data, c.after.mode, is_link=c.after.kind == "link")
        elif c.before.kind == c.after.kind == "other":  # a file that cannot be read: only its mode is changed
            yield c, partial(set_mode, c.path, c.after.mode)
    for c in up:
        if c.after.kind == "folder":
            yield c, partial(set_mode, c.path, c.after.mode)


def _roll_back(changes: Sequence[PathChange], record: RewindRecord) -> None:
    """Revert the changes made before the disk was full. Always raises Refused."""
    stuck = {}
    back = [replace(change, before=read_path_state(change.path), after=change.before) for change in changes]
    for change, work in _operations([change for change in back if not change.before.is_like(change.after)]):
        try:
            work()
        except OSError as error:
            stuck[change.name] = error.strerror
    if not stuck:
        shutil.rmtree(record.folder, ignore_errors=True)
        raise Refused(["the disk is full; nothing was changed"])
    raise Refused(
        [f"the disk is full, and these files could not be put back: {', '.join(stuck)}"],
        hint="Free some space and run the same command again; what existed before is saved.",
    )


def _interrupted_rewind(plan: RewindPlan) -> RewindRecord | None:
    """Return the last rewind if it had the same target and was killed half way. Its unfinished files are removed."""
    last = next(reversed(list(records(plan.store))), None)
    if last is None or last.is_done:
        return None
    for step in last.steps:
        remove_draft(step.path)
    return last if last.place == plan.place.uuid else None


def _begin_record(
    plan: RewindPlan,
    doing: Sequence[PathChange],
    broken: RewindRecord | None,
    conversation: RewindableConversation | None,
) -> RewindRecord:
    """Save the states that are about to change; for paths that a killed rewind changed, the state before that one."""
    leaf = conversation.leaf if conversation else None
    if broken is not None and broken.has_conversation:
        leaf = broken.leaf
    earlier = {step.path: step for step in broken.steps} if broken else {}
    steps = []
    for change in doing:
        step = RewindStep(change.path, change.name, change.before, change.after.digest)
        was = earlier.pop(change.path, None)
        is_same = was is not None and change.before.digest in (was.after, was.before.digest)
        steps.append(replace(step, before=was.before) if was and is_same else step)
    steps += [step for step in earlier.values() if read_path_state(step.path, plan.top).digest == step.after]
    try:
        return begin(plan.store, plan.place.uuid, steps, has_conversation=conversation is not None, leaf=leaf)
    except OSError as error:
        raise Refused([f"the current files cannot be saved ({error.strerror}), so nothing was changed"]) from None


# -- undo


def undo(session_id: str, top: Path) -> RewindPlan:
    """Return the plan that undoes the last rewind of a session; it can be undone in turn."""
    store, top = store_of(session_id), Path(os.path.realpath(top))
    record = _last(list(records(store)))
    if record is None:
        raise NotFound(session_id[:8], kind="rewind", hint="Only rewinds by clew can be undone.")
    changes: list[PathChange] = []
    folders: list[PathChange] = []
    for step in record.steps:
        now = read_path_state(step.path, top)
        is_edited = now.kind in ("file", "link") and now.digest not in (step.after, step.before.digest)
        wanted = step.before
        if wanted.kind == "other" and now.kind == "file":  # one that could not be read: only its mode was changed
            wanted, is_edited = replace(now, mode=wanted.mode), False
        change = PathChange(step.path, step.name, now, wanted, None, is_edited)
        if not now.is_like(wanted):
            is_folder = {now.kind, step.before.kind} <= {"folder", "none"}
            (folders if is_folder else changes).append(change)
    changes.sort(key=lambda c: (c.kind != "delete", c.path))
    place = RewindPoint(f"{_UNDO}{record.number}", 0, "", None, record.leaf, True)
    refused = "" if top.is_dir() else f"the folder of this session, {top}, does not exist"
    has_talk = record.has_conversation
    return RewindPlan(session_id, place, tuple(changes), (), 0, store, top, has_talk, tuple(folders), (), refused)


def _last(records: Sequence[RewindRecord]) -> RewindRecord | None:
    """Return the rewind to undo: the last one, or the one whose undo was killed."""
    last = records[-1] if records else None
    if last is None or last.is_done or not last.place.startswith(_UNDO):
        return last
    return next((record for record in records if f"{_UNDO}{record.number}" == last.place), last)
