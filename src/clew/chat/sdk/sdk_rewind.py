"""Rewind the files of a session for an SDK program."""

from __future__ import annotations

from clew.chat.engine import Engine
from clew.errors import NotFound, Refused
from clew.wire.json_codec import Json

UNSAVED = "No file checkpoint found for this message."


async def rewind_files(engine: Engine, message: str, *, is_dry: bool = False) -> Json:
    """Answer an SDK request to rewind the files to the uuid of a prompt. Current states are saved first.

    With `is_dry` nothing changes: the answer lists what would. Files that the session created are deleted; one that
    may have been moved here from elsewhere is kept (`filesKept`), and what is not restored is listed (`filesLost`).
    """
    await engine.record_changes()
    try:
        plan = engine.plan_rewind(message)
    except NotFound:
        plan = None
    if plan is not None and plan.refused:
        if is_dry:
            return {"canRewind": False, "error": f"Refused: {plan.refused}."}
        raise Refused([plan.refused])
    if plan is None or plan.place.uuid != message or not (plan.place.has_files or plan.shown or plan.lost):
        if is_dry:
            return {"canRewind": False, "error": UNSAVED}
        raise Refused([UNSAVED.rstrip(".")])
    changes = [change for change in plan.changes if not change.doubt]
    lines = [line for change in changes for line in change.diff.splitlines()]
    answer: Json = {
        "canRewind": True,
        "filesChanged": [str(change.path) for change in changes],
        "insertions": sum(line.startswith("+") and not line.startswith("+++ ") for line in lines),
        "deletions": sum(line.startswith("-") and not line.startswith("--- ") for line in lines),
        "filesEdited": [str(change.path) for change in plan.edited],
        "filesDeleted": [str(change.path) for change in changes if change.kind == "delete"],
        "filesKept": [{"path": str(change.path), "why": change.doubt} for change in plan.doubtful],
        "filesLost": [{"path": str(plan.top / name), "why": why} for name, why in plan.lost],
        "notes": list(plan.notes),
    }
    if is_dry:
        return answer
    done = await engine.rewind(plan, conversation=False, edits="overwrite", keep=plan.doubtful)
    if done.failed:
        raise Refused([f"{name} could not be restored: {why}" for name, why in done.failed])
    return answer
