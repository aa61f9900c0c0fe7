"""Carrying out a rewind, and taking one back. The seam for doors is `Engine.plan_rewind` and `Engine.rewind`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from clew.chat.held import held, stand
from clew.chat.rewind import Change, Edits, Place, Plan, store_of
from clew.chat.rewind_store import Record, Step, begin, finish, records
from clew.chat.tools.disk import clear
from clew.errors import NotFound, Refused

_UNDO = "undo-"  # and the number of a rewind: the place of the one that takes it back


class Talk(Protocol):
    """A conversation that can go back."""

    @property
    def leaf(self) -> str | None:
        """The line that it goes on from."""
        ...

    def go_back(self, before: str | None) -> None:
        """Go on from this line."""
        ...


@dataclass(frozen=True, slots=True)
class Rewound:
    """What a rewind did. It is taken back by the plan of `undo`."""

    changed: tuple[Change, ...]
    kept: tuple[Change, ...]  # left as they are, because somebody else had changed them
    failed: tuple[tuple[str, str], ...]  # names, and why
    number: str  # of the rewind in its store


def carry_out(plan: Plan, edits: Edits = "refuse", *, code: bool = True, talk: Talk | None = None) -> Rewound:
    """Do what a plan says: each file in one step, and all that stood there saved before the first one.

    A file that somebody else changed makes it refuse everything, or is kept, or is overwritten: as `edits` says. `talk`
    goes back in the conversation too. What was killed half way is done by planning and carrying out again. Raises Refused,
    also if a file changed since the plan.
    """
    wanted = plan.changes if code else ()
    kept = tuple(c for c in wanted if c.is_edited) if edits != "overwrite" else ()
    if kept and edits == "refuse":
        names = ", ".join(change.name for change in kept)
        refused = Refused([f"{names} {'was' if len(kept) == 1 else 'were'} changed after the session left it"])
        refused.hint = "Look at the difference, then say whether to keep it or to overwrite it."
        raise refused
    doing = [change for change in wanted if change not in kept]
    for change in doing:
        if not held(change.path, plan.top).is_like(change.before):
            raise Refused([f"{change.name} changed while this was being planned"])
    broken = _broken(plan)
    if not doing and talk is None and broken is None:
        return Rewound((), kept, (), "")
    record = _begun(plan, doing, broken, talk)
    failed = [(change.name, why) for change in doing if (why := _done(change, plan.top))]
    if talk is not None:
        talk.go_back(plan.place.before)
    finish(record)
    undone = {name for name, _ in failed}
    return Rewound(tuple(c for c in doing if c.name not in undone), kept, tuple(failed), record.number)


def _done(change: Change, top: Path) -> str:
    """Change one file; why it could not be done."""
    try:
        stand(change.path, change.after, top)
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _broken(plan: Plan) -> Record | None:
    """The last rewind, if it was to the same place and was killed half way. What it was writing is cleared away."""
    last = next(reversed(list(records(plan.store))), None)
    if last is None or last.is_done:
        return None
    for step in last.steps:
        clear(step.path)
    return last if last.place == plan.place.uuid else None


def _begun(plan: Plan, doing: Sequence[Change], broken: Record | None, talk: Talk | None) -> Record:
    """Save what is about to be changed: for what a killed rewind has changed, what stood there before that one."""
    leaf = talk.leaf if talk else None
    if broken is not None and broken.has_conversation:
        leaf = broken.leaf
    earlier = {step.path: step for step in broken.steps} if broken else {}
    steps = []
    for change in doing:
        step = Step(change.path, change.name, change.before, change.after.digest)
        was = earlier.pop(change.path, None)
        is_same = was is not None and change.before.digest in (was.after, was.before.digest)
        steps.append(replace(step, before=was.before) if was and is_same else step)
    steps += [step for step in earlier.values() if held(step.path, plan.top).digest == step.after]
    return begin(plan.store, plan.place.uuid, steps, has_conversation=talk is not None, leaf=leaf)


# -- taking it back


def undo(session_id: str, top: Path) -> Plan:
    """The plan that takes the last rewind of a session back; carried out, it can be taken back in turn."""
    store, top = store_of(session_id), Path(os.path.realpath(top))
    record = _last(list(records(store)))
    if record is None:
        missing = NotFound(session_id[:8], kind="rewind")
        missing.hint = "Only what clew rewound can be taken back."
        raise missing
    changes = []
    for step in record.steps:
        now = held(step.path, top)
        is_edited = now.kind in ("file", "link") and now.digest not in (step.after, step.before.digest)
        change = Change(step.path, step.name, now, step.before, None, is_edited)
        if not now.is_like(step.before):
            changes.append(change)
    changes.sort(key=lambda c: (c.kind != "delete", c.path))
    place = Place(f"{_UNDO}{record.number}", 0, "", None, record.leaf, True)
    return Plan(session_id, place, tuple(changes), (), 0, store, top, record.has_conversation)


def _last(found: Sequence[Record]) -> Record | None:
    """The rewind to take back: the last one, or the one that was being taken back when that was killed."""
    last = found[-1] if found else None
    if last is None or last.is_done or not last.place.startswith(_UNDO):
        return last
    return next((record for record in found if f"{_UNDO}{record.number}" == last.place), last)
