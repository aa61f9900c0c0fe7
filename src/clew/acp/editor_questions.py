"""Ask the user in the editor for a permission, or to answer questions of the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from acp import Client, RequestError
from acp.schema import (
    AcceptElicitationResponse,
    AllowedOutcome,
    ElicitationFormSessionMode,
    ElicitationMultiSelectPropertySchema,
    ElicitationSchema,
    ElicitationStringPropertySchema,
    EnumOption,
    PermissionOption,
    TitledMultiSelectItems,
    ToolCallUpdate,
)

from clew.acp import tool_call_updates
from clew.chat.events import PermissionRequested, QuestionRequested
from clew.chat.permission.decision import Decision
from clew.chat.permission.suggest_rules import as_permission_updates
from clew.chat.session_factory import ChatSession
from clew.errors import ClewError
from clew.view.approval_text import escape, escape_line
from clew.wire.json_codec import Json

REJECTED = "The user declined this call. It was not run, and nothing was changed by it."
INTERRUPTED = "The user interrupted before this call was allowed."
KEEP_PLANNING = "The user wants to continue planning. Ask what should be different, or improve the plan."
_ONCE, _ALWAYS, _NO, _NEVER, _EDITS = "allow_once", "allow_always", "reject_once", "reject_always", "accept_edits"


async def request_permission(
    client: Client, session: ChatSession, request: PermissionRequested
) -> tuple[Decision, str]:
    """Return the user's decision, and a warning if the chosen rule could not be saved."""
    update = ToolCallUpdate(
        tool_call_id=request.call_id,
        title=tool_call_updates.call_title(request.name, request.input, request.folder),
        kind=tool_call_updates.tool_kind(request.name),
        status="pending",
        content=list(tool_call_updates.approval_content(request)),
        locations=tool_call_updates.call_locations(request.input, request.folder),
        raw_input=dict(request.input),
        field_meta=tool_call_updates.request_origin(request),
    )
    session_id = session.engine.conversation.session_id
    try:
        answer = await client.request_permission(session_id, update, _permission_options(request))
    except (RequestError, ConnectionError) as error:
        return Decision("deny", message=f"The user could not be asked: {error}."), ""
    if not isinstance(answer.outcome, AllowedOutcome):
        return Decision("deny", message=INTERRUPTED), ""
    return _apply_choice(answer.outcome.option_id, request, session)


def _permission_options(request: PermissionRequested) -> list[PermissionOption]:
    if request.name == "ExitPlanMode":
        return [
            PermissionOption(option_id=_EDITS, name="Yes, and accept all edits", kind="allow_always"),
            PermissionOption(option_id=_ONCE, name="Yes, and ask before each change", kind="allow_once"),
            PermissionOption(option_id=_NO, name="No, continue planning", kind="reject_once"),
        ]
    rules = " and ".join(map(escape_line, request.decision.suggestions))
    always = [PermissionOption(option_id=_ALWAYS, name=f"Always allow {rules}", kind="allow_always")]
    never = [PermissionOption(option_id=_NEVER, name=f"Reject {rules} in this session", kind="reject_always")]
    return [
        *(always if rules else ()),
        PermissionOption(option_id=_ONCE, name="Allow", kind="allow_once"),
        PermissionOption(option_id=_NO, name="Reject", kind="reject_once"),
        *(never if rules else ()),
    ]


def _apply_choice(chosen: str, request: PermissionRequested, session: ChatSession) -> tuple[Decision, str]:
    """Save the rule that the user chose, and return the decision and a warning."""
    rules = request.decision.suggestions
    try:
        if chosen == _ALWAYS:
            for rule in rules:
                session.permissions.remember(rule, "local")
        elif chosen == _NEVER:
            for update in as_permission_updates(rules, "session"):
                session.permissions.apply({**update, "behavior": "deny"})
    except (ClewError, OSError) as error:
        warning = str(error)
    else:
        warning = ""
    if chosen == _EDITS:
        session.engine.conversation.mode_before = "acceptEdits"
    if chosen in (_ONCE, _ALWAYS, _EDITS):
        return Decision("allow"), warning
    return Decision("deny", message=KEEP_PLANNING if request.name == "ExitPlanMode" else REJECTED), warning


# -- questions


async def request_answers(
    client: Client, session_id: str, request: QuestionRequested, has_forms: bool
) -> Mapping[str, Any]:
    """Return the user's answers by question; empty if there are none."""
    try:
        if has_forms:
            return await _request_form(client, session_id, request)
        return {
            question["question"]: answer
            for question in request.questions
            if (answer := await _request_choice(client, session_id, request.call_id, question)) is not None
        }
    except (RequestError, ConnectionError):
        return {}


async def _request_form(client: Client, session_id: str, request: QuestionRequested) -> Mapping[str, Any]:
    fields = {f"answer{number}": _form_field(question) for number, question in enumerate(request.questions, 1)}
    schema = ElicitationSchema(type="object", properties=dict(fields), required=list(fields))
    mode = ElicitationFormSessionMode(session_id=session_id, tool_call_id=request.call_id, requested_schema=schema)
    texts = [str(question["question"]) for question in request.questions]
    answer = await client.create_elicitation(escape("\n".join(texts)), mode)
    if not isinstance(answer, AcceptElicitationResponse):
        return {}
    values = answer.content or {}
    return {text: values[name] for text, name in zip(texts, fields, strict=True) if name in values}


def _form_field(question: Json) -> ElicitationStringPropertySchema | ElicitationMultiSelectPropertySchema:
    options = [
        EnumOption(
            const=str(o["label"]),
            title=escape_line(str(o["label"])),
            description=escape_line(str(o.get("description") or "")) or None,
        )
        for o in question["options"]
    ]
    title, about = escape_line(str(question.get("header") or "")), escape(str(question["question"]))
    if question.get("multiSelect"):
        return ElicitationMultiSelectPropertySchema(
            type="array", title=title, description=about, items=TitledMultiSelectItems(any_of=options)
        )
    return ElicitationStringPropertySchema(type="string", title=title, description=about, one_of=options)


async def _request_choice(client: Client, session_id: str, call_id: str, question: Json) -> str | None:
    """Offer the options as if they were permissions, for editors without forms. Return the chosen label."""
    labels: Sequence[str] = [str(option["label"]) for option in question["options"]]
    choices = [
        PermissionOption(option_id=str(number), name=escape_line(label), kind="allow_once")
        for number, label in enumerate(labels)
    ]
    update = ToolCallUpdate(
        tool_call_id=call_id, title=escape_line(str(question["question"])), kind="think", status="pending"
    )
    outcome = (await client.request_permission(session_id, update, choices)).outcome
    is_one = (
        isinstance(outcome, AllowedOutcome) and outcome.option_id.isdecimal() and int(outcome.option_id) < len(labels)
    )
    return labels[int(outcome.option_id)] if isinstance(outcome, AllowedOutcome) and is_one else None
