"""Answers of hooks: what a hook said by its exit code and its output, and what several of them say together."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from clew.chat.config.settings import table
from clew.chat.permission.decision import Kind
from clew.wire.json_codec import Json

LONGEST = 10_000  # characters of context from one hook
# Events at which exit code 2 (or `decision: "block"`) is told to the model; elsewhere it is shown to the person.
_BLOCKING = (
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PermissionRequest",
    "UserPromptSubmit",
    "Stop",
    "SubagentStop",
    "PreCompact",
)
_PLAIN_CONTEXT = ("SessionStart", "UserPromptSubmit")
_RANK: dict[Kind | None, int] = {"deny": 3, "ask": 2, "allow": 1, None: 0}
_KINDS: dict[str, Kind] = {"allow": "allow", "approve": "allow", "deny": "deny", "ask": "ask"}


class Ran(Struct, frozen=True):
    """How one hook went, for the journal and the person."""

    name: str
    code: int
    stdout: str
    stderr: str
    seconds: float


class HookOutcome(Struct, frozen=True):
    """What all hooks of an event said together."""

    block: bool = False
    reason: str = ""  # why it is blocked or decided so: for the model
    context: tuple[str, ...] = ()  # texts for the model
    updated_input: Json | None = None
    decision: Kind | None = None  # what PreToolUse and PermissionRequest hooks decided; deny wins, then ask
    stop: bool = False  # the whole turn ends (`continue: false`); `reason` is then for the person
    system_message: str = ""  # for the person
    ran: tuple[Ran, ...] = ()


class HookAnswer(Struct, frozen=True):
    """What one hook said."""

    ran: Ran
    block: bool = False
    reason: str = ""
    context: str = ""
    updated_input: Json | None = None
    decision: Kind | None = None
    stop: bool = False
    message: str = ""


def read_answer(event: str, target: str, ran: Ran, is_late: bool, blocks_on_failure: bool) -> HookAnswer:
    """Understand one hook. 0 is an answer, 2 is a no, anything else is a failure that the person is told of."""
    if ran.code == 0 and not is_late:
        return _spoken(event, ran)
    said = ran.stderr.strip()
    if ran.code == 2 and not is_late and event in _BLOCKING:
        return HookAnswer(
            ran, block=True, reason=_refusal(event, target, f"[{ran.name}]: {said or 'No stderr output'}")
        )
    failure = "took too long and was stopped" if is_late else f"failed with exit code {ran.code}"
    message = f"The {event} hook [{ran.name}] {failure}{f': {said}' if said else ''}."
    if blocks_on_failure and event in _BLOCKING:
        return HookAnswer(ran, block=True, reason=_refusal(event, target, message), message=message)
    return HookAnswer(ran, message=message)


def _refusal(event: str, target: str, text: str) -> str:
    return f"{event}:{target} hook error: {text}" if event in ("PreToolUse", "PermissionRequest") else text


def _spoken(event: str, ran: Ran) -> HookAnswer:
    text = ran.stdout.strip()
    data: Any = None
    if text.startswith("{"):
        try:
            data = json.loads(text)
        except ValueError:
            note = f"The {event} hook [{ran.name}] answered with broken JSON, which is taken as text."
            return HookAnswer(ran, context=text[:LONGEST] if event in _PLAIN_CONTEXT else "", message=note)
    if not isinstance(data, dict):
        return HookAnswer(ran, context=text[:LONGEST] if event in _PLAIN_CONTEXT else "")
    return _structured(event, ran, data)


def _structured(event: str, ran: Ran, data: Json) -> HookAnswer:
    special = table(data.get("hookSpecificOutput"))
    message = _text(data.get("systemMessage"))
    if special.get("hookEventName", event) != event:
        message = f"The {event} hook [{ran.name}] answered for {special['hookEventName']}; that part is ignored."
        special = {}
    decision = _KINDS.get(_text(special.get("permissionDecision")))
    reason = _text(special.get("permissionDecisionReason"))
    changed = special.get("updatedInput")
    if event == "PermissionRequest":
        asked = table(special.get("decision"))
        decision = _KINDS.get(_text(asked.get("behavior")), decision)
        reason = _text(asked.get("message")) or reason
        changed = asked.get("updatedInput", changed)
    elif event == "PreToolUse" and decision is None and data.get("decision") == "approve":
        decision = "allow"
    is_blocked = data.get("decision") == "block" and event in _BLOCKING
    stops = data.get("continue") is False
    return HookAnswer(
        ran,
        block=is_blocked or decision == "deny",
        reason=(_text(data.get("stopReason")) if stops else "") or reason or _text(data.get("reason")),
        context=_text(special.get("additionalContext"))[:LONGEST],
        updated_input=changed if isinstance(changed, dict) else None,
        decision="deny" if is_blocked and event in ("PreToolUse", "PermissionRequest") else decision,
        stop=stops,
        message=message,
    )


def merge(answers: Sequence[HookAnswer]) -> HookOutcome:
    """All answers as one: a no wins, then a question; the last changed input counts, unless it was a no."""
    decision = max((answer.decision for answer in answers), key=lambda kind: _RANK[kind], default=None)
    stop = any(answer.stop for answer in answers)
    block = any(answer.block for answer in answers)
    if stop:
        telling = [a for a in answers if a.stop]
    elif block:
        telling = [a for a in answers if a.block]
    else:
        telling = [a for a in answers if a.decision == decision and decision is not None]
    changed = [answer.updated_input for answer in answers if answer.updated_input is not None]
    return HookOutcome(
        block=block,
        reason="\n".join(dict.fromkeys(a.reason for a in telling if a.reason)),
        context=tuple(answer.context for answer in answers if answer.context),
        updated_input=changed[-1] if changed and not block else None,
        decision=decision,
        stop=stop,
        system_message="\n".join(answer.message for answer in answers if answer.message),
        ran=tuple(answer.ran for answer in answers),
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
