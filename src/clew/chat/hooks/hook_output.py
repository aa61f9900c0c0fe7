"""Interpret the exit code and output of hooks, and merge the answers of several hooks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from clew.chat.config.settings import as_object
from clew.chat.permission.decision import Kind
from clew.chat.tools.process import CompletedCommand
from clew.wire.json_codec import Json

MAX_CONTEXT = 10_000  # characters of context from one hook
# Events at which exit code 2 (or `decision: "block"`) is reported to the model; at others it is shown to the user.
_BLOCKING = (
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "PermissionRequest",
    "UserPromptSubmit",
    "UserPromptExpansion",
    "Stop",
    "SubagentStop",
    "PreCompact",
    "PreModelSwitch",
)
_PLAIN_CONTEXT = ("SessionStart", "UserPromptSubmit", "UserPromptExpansion")
_USED_FIELDS = (
    "hookEventName",
    "permissionDecision",
    "permissionDecisionReason",
    "updatedInput",
    "additionalContext",
    "decision",
)
# Fields that are used at one event only.
_FIELDS_OF_EVENTS = {
    "PostToolUse": ("updatedToolOutput", "updatedMCPToolOutput"),
    "UserPromptSubmit": ("sessionTitle",),
}
_RANK: dict[Kind | None, int] = {"deny": 3, "ask": 2, "allow": 1, None: 0}
_KINDS: dict[str, Kind] = {"allow": "allow", "approve": "allow", "deny": "deny", "ask": "ask"}


class HookRun(Struct, frozen=True):
    """The exit code and output of one hook."""

    name: str
    code: int
    stdout: str
    stderr: str
    seconds: float


class HookReport(Struct, frozen=True):
    """A hook that starts, or that has ended."""

    id: str
    event: str
    name: str
    ended: CompletedCommand | None = None


class HookOutcome(Struct, frozen=True):
    """The merged answers of all hooks of an event."""

    block: bool = False
    reason: str = ""  # for the model: why the call is blocked or decided this way
    context: tuple[str, ...] = ()  # texts for the model
    updated_input: Json | None = None
    decision: Kind | None = None  # what PreToolUse and PermissionRequest hooks decided; deny wins, then ask
    stop: bool = False  # end the turn (`continue: false`); `reason` is then for the user
    system_message: str = ""  # for the user
    ran: tuple[HookRun, ...] = ()
    variables: Mapping[str, str] = {}  # for later commands
    updated_output: Any = None  # takes the place of the output of a tool
    permission_updates: tuple[Json, ...] = ()  # of PermissionRequest hooks that allow
    interrupts: bool = False  # a PermissionRequest hook denied and ends the turn
    title: str = ""  # for the session


class HookAnswer(Struct, frozen=True):
    """The answer of one hook."""

    ran: HookRun
    block: bool = False
    reason: str = ""
    context: str = ""
    updated_input: Json | None = None
    decision: Kind | None = None
    stop: bool = False
    message: str = ""
    updated_output: Any = None
    permission_updates: tuple[Json, ...] = ()
    interrupts: bool = False
    title: str = ""


def interpret(event: str, target: str, ran: HookRun, is_late: bool, blocks_on_failure: bool) -> HookAnswer:
    """Interpret one hook: exit code 0 is an answer, 2 blocks, any other is a failure that is reported to the user."""
    if ran.code == 0 and not is_late:
        return _parse_stdout(event, ran)
    error_text = ran.stderr.strip()
    if ran.code == 2 and not is_late and event in _BLOCKING:
        return HookAnswer(
            ran, block=True, reason=_refusal(event, target, f"[{ran.name}]: {error_text or 'No stderr output'}")
        )
    failure = "took too long and was stopped" if is_late else f"failed with exit code {ran.code}"
    message = f"The {event} hook [{ran.name}] {failure}{f': {error_text}' if error_text else ''}."
    if blocks_on_failure and event in _BLOCKING:
        return HookAnswer(ran, block=True, reason=_refusal(event, target, message), message=message)
    return HookAnswer(ran, message=message)


def _refusal(event: str, target: str, text: str) -> str:
    return f"{event}:{target} hook error: {text}" if event in ("PreToolUse", "PermissionRequest") else text


def _parse_stdout(event: str, ran: HookRun) -> HookAnswer:
    text = ran.stdout.strip()
    data: Any = None
    if text.startswith("{"):
        try:
            data = json.loads(_without_async_line(text))
        except ValueError:
            note = f"The {event} hook [{ran.name}] answered with broken JSON, which is taken as text."
            return HookAnswer(ran, context=text[:MAX_CONTEXT] if event in _PLAIN_CONTEXT else "", message=note)
    if not isinstance(data, dict):
        return HookAnswer(ran, context=text[:MAX_CONTEXT] if event in _PLAIN_CONTEXT else "")
    return _parse_json(event, ran, data)


def _without_async_line(text: str) -> str:
    """Return the answer of a hook that first says that it continues in the background: clew waits for it."""
    first, _, rest = text.partition("\n")
    try:
        is_async = as_object(json.loads(first)).get("async") is True
    except ValueError:
        is_async = False
    return (rest.strip() or "{}") if is_async else text


def _parse_json(event: str, ran: HookRun, data: Json) -> HookAnswer:
    special = as_object(data.get("hookSpecificOutput"))
    message = _string(data.get("systemMessage"))
    if special.get("hookEventName", event) != event:
        message = f"The {event} hook [{ran.name}] answered for {special['hookEventName']}; that part is ignored."
        special = {}
    message = _with_remark(message, event, ran, special)
    decision = _KINDS.get(_string(special.get("permissionDecision")))
    reason = _string(special.get("permissionDecisionReason"))
    changed = special.get("updatedInput")
    permission: Json = {}
    if event == "PermissionRequest":
        permission = as_object(special.get("decision"))
        decision = _KINDS.get(_string(permission.get("behavior")), decision)
        reason = _string(permission.get("message")) or reason
        changed = permission.get("updatedInput", changed)
    elif event == "PreToolUse" and decision is None and data.get("decision") == "approve":
        decision = "allow"
    is_blocked = data.get("decision") == "block" and event in _BLOCKING
    stops = data.get("continue") is False
    return HookAnswer(
        ran,
        block=is_blocked or decision == "deny",
        reason=(_string(data.get("stopReason")) if stops else "") or reason or _string(data.get("reason")),
        context=_string(special.get("additionalContext"))[:MAX_CONTEXT],
        updated_input=changed if isinstance(changed, dict) else None,
        decision="deny" if is_blocked and event in ("PreToolUse", "PermissionRequest") else decision,
        stop=stops,
        message=message,
        updated_output=special.get("updatedToolOutput", special.get("updatedMCPToolOutput")),
        permission_updates=tuple(filter(as_object, permission.get("updatedPermissions") or ())),
        interrupts=decision == "deny" and permission.get("interrupt") is True,
        title=_string(special.get("sessionTitle")),
    )


def _with_remark(message: str, event: str, ran: HookRun, special: Json) -> str:
    """Add to the message of a hook which parts of its answer clew does not use."""
    unused = [name for name in special if name not in (*_USED_FIELDS, *_FIELDS_OF_EVENTS.get(event, ()))]
    stated = special.get("permissionDecision")
    if isinstance(stated, str) and stated not in _KINDS:
        unused.append(f"the decision {stated}")
    if not unused:
        return message
    remark = f"The {event} hook [{ran.name}] answered with {', '.join(unused)}, which clew does not use."
    return f"{message}\n{remark}" if message else remark


def merge(answers: Sequence[HookAnswer]) -> HookOutcome:
    """Merge all answers: deny wins, then ask; the last changed input is used unless a hook blocked."""
    # Example: one hook allows, one asks, none blocks: the decision is "ask", with the reasons of hooks that ask.
    decision = max((answer.decision for answer in answers), key=lambda kind: _RANK[kind], default=None)
    stop = any(answer.stop for answer in answers)
    block = any(answer.block for answer in answers)
    if stop:
        deciding = [a for a in answers if a.stop]
    elif block:
        deciding = [a for a in answers if a.block]
    else:
        deciding = [a for a in answers if a.decision == decision and decision is not None]
    changed = [answer.updated_input for answer in answers if answer.updated_input is not None]
    return HookOutcome(
        block=block,
        reason="\n".join(dict.fromkeys(a.reason for a in deciding if a.reason)),
        context=tuple(answer.context for answer in answers if answer.context),
        updated_input=changed[-1] if changed and not block else None,
        decision=decision,
        stop=stop,
        system_message="\n".join(answer.message for answer in answers if answer.message),
        ran=tuple(answer.ran for answer in answers),
        updated_output=next((a.updated_output for a in reversed(answers) if a.updated_output is not None), None),
        permission_updates=tuple(update for answer in answers for update in answer.permission_updates),
        interrupts=any(answer.interrupts for answer in answers),
        title=next((answer.title for answer in reversed(answers) if answer.title), ""),
    )


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""
