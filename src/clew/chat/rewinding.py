"""Carrying out a rewind, and taking one back. The seam for doors is `Engine.plan_rewind` and `Engine.rewind`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from clew.chat.held import held, stand
from clew.chat.rewind import Change, Edits, Place, Plan, store_of
from clew.chat.rewind_store import Step, begin, finish, records
from clew.errors import NotFound, Refused


@dataclass(frozen=True, slots=True)
class Rewound:
    """What a rewind did. It is taken back by the plan of `undo`."""

    changed: tuple[Change, ...]
    kept: tuple[Change, ...]  # left as they are, because somebody else had changed them
    failed: tuple[tuple[str, str], ...]  # names, and why
    number: str  # of the rewind in its store


def carry_out(
    plan: Plan, edits: Edits = "refuse", *, has_conversation: bool = False, leaf: str | None = None, code: bool = True
) -> Rewound:
    """Do what a plan says: each file in one step, and all that stood there saved before the first one.

    A file that somebody else changed makes it refuse everything, or is kept, or is overwritten: as `edits` says. What was
    killed half way is done by planning and carrying out again. Raises Refused, also if a file changed since the plan.
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
    record = begin(plan.store, plan.place.uuid, list(_steps(plan, doing)), has_conversation=has_conversation, leaf=leaf)
    failed = []
    for change in doing:
        try:
            stand(change.path, change.after, plan.top)
        except OSError as error:
            failed.append((change.name, error.strerror or str(error)))
    finish(record)
    undone = {name for name, _ in failed}
    return Rewound(tuple(c for c in doing if c.name not in undone), kept, tuple(failed), record.number)


def _steps(plan: Plan, doing: Sequence[Change]) -> list[Step]:
    """What to save: for a path that a rewind was killed at, what stood there before that one."""
    last = next(reversed(list(records(plan.store))), None)
    broken = {step.path: step for step in last.steps} if last and not last.is_done else {}
    steps = []
    for change in doing:
        step = Step(change.path, change.name, change.before, change.after.digest)
        earlier = broken.pop(change.path, None)
        steps.append(replace(step, before=earlier.before) if earlier and _is_of(earlier, change) else step)
    return [*steps, *(step for step in broken.values() if held(step.path, plan.top).digest == step.after)]


def _is_of(earlier: Step, change: Change) -> bool:
    return change.before.digest in (earlier.after, earlier.before.digest)


# -- taking it back


def undo(session_id: str, top: Path) -> Plan:
    """The plan that takes the last rewind of a session back; carried out, it can be taken back in turn."""
    store, top = store_of(session_id), Path(os.path.realpath(top))
    record = next(reversed(list(records(store))), None)
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
    place = Place(record.place, 0, "", None, record.leaf, True)
    return Plan(session_id, place, tuple(changes), (), 0, store, top, record.has_conversation)
