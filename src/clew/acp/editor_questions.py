"""Asking the person in the editor: may this call be made, and which answer do you choose?"""

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
BROKEN_OFF = "The user broke off before this call was allowed."
KEEP_PLANNING = "The user wants to go on planning. Ask what is to be different, or improve the plan."
_ONCE, _ALWAYS, _NO, _NEVER, _EDITS = "allow_once", "allow_always", "reject_once", "reject_always", "accept_edits"


async def permission(client: Client, session: ChatSession, told: PermissionRequested) -> tuple[Decision, str]:
    """The person's decision, and a remark if a rule of theirs could not be kept."""
    shown = ToolCallUpdate(
        tool_call_id=told.call_id,
        title=tool_call_updates.title(told.name, told.input, told.folder),
        kind=tool_call_updates.kind(told.name),
        status="pending",
        content=list(tool_call_updates.asked(told)),
        locations=tool_call_updates.locations(told.input, told.folder),
        raw_input=dict(told.input),
        field_meta=tool_call_updates.origin(told),
    )
    session_id = session.engine.conversation.session_id
    try:
        answer = await client.request_permission(session_id, shown, _options(told))
    except (RequestError, ConnectionError) as error:
        return Decision("deny", message=f"The user could not be asked: {error}."), ""
    if not isinstance(answer.outcome, AllowedOutcome):
        return Decision("deny", message=BROKEN_OFF), ""
    return _decided(answer.outcome.option_id, told, session)


def _options(told: PermissionRequested) -> list[PermissionOption]:
    if told.name == "ExitPlanMode":
        return [
            PermissionOption(option_id=_EDITS, name="Yes, and accept all edits", kind="allow_always"),
            PermissionOption(option_id=_ONCE, name="Yes, and ask before each change", kind="allow_once"),
            PermissionOption(option_id=_NO, name="No, go on planning", kind="reject_once"),
        ]
    rules = " and ".join(map(escape_line, told.decision.suggestions))
    always = [PermissionOption(option_id=_ALWAYS, name=f"Always allow {rules}", kind="allow_always")]
    never = [PermissionOption(option_id=_NEVER, name=f"Reject {rules} in this session", kind="reject_always")]
    return [
        *(always if rules else ()),
        PermissionOption(option_id=_ONCE, name="Allow", kind="allow_once"),
        PermissionOption(option_id=_NO, name="Reject", kind="reject_once"),
        *(never if rules else ()),
    ]


def _decided(chosen: str, told: PermissionRequested, session: ChatSession) -> tuple[Decision, str]:
    rules = told.decision.suggestions
    try:
        if chosen == _ALWAYS:
            for rule in rules:
                session.permissions.remember(rule, "local")
        elif chosen == _NEVER:
            for update in as_permission_updates(rules, "session"):
                session.permissions.apply({**update, "behavior": "deny"})
    except (ClewError, OSError) as error:
        remark = str(error)
    else:
        remark = ""
    if chosen == _EDITS:
        session.engine.conversation.mode_before = "acceptEdits"
    if chosen in (_ONCE, _ALWAYS, _EDITS):
        return Decision("allow"), remark
    return Decision("deny", message=KEEP_PLANNING if told.name == "ExitPlanMode" else REJECTED), remark


# -- questions


async def answers(client: Client, session_id: str, told: QuestionRequested, has_forms: bool) -> Mapping[str, Any]:
    """What the person answers to the model's questions; nothing if they do not."""
    try:
        if has_forms:
            return await _form(client, session_id, told)
        return {
            question["question"]: answer
            for question in told.questions
            if (answer := await _choice(client, session_id, told.call_id, question)) is not None
        }
    except (RequestError, ConnectionError):
        return {}


async def _form(client: Client, session_id: str, told: QuestionRequested) -> Mapping[str, Any]:
    fields = {f"answer{number}": _field(question) for number, question in enumerate(told.questions, 1)}
    schema = ElicitationSchema(type="object", properties=dict(fields), required=list(fields))
    mode = ElicitationFormSessionMode(session_id=session_id, tool_call_id=told.call_id, requested_schema=schema)
    texts = [str(question["question"]) for question in told.questions]
    answer = await client.create_elicitation(escape("\n".join(texts)), mode)
    if not isinstance(answer, AcceptElicitationResponse):
        return {}
    given = answer.content or {}
    return {text: given[name] for text, name in zip(texts, fields, strict=True) if name in given}


def _field(question: Json) -> ElicitationStringPropertySchema | ElicitationMultiSelectPropertySchema:
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


async def _choice(client: Client, session_id: str, call_id: str, question: Json) -> str | None:
    """One of the options, for editors that have no forms: asked for as a permission is."""
    labels: Sequence[str] = [str(option["label"]) for option in question["options"]]
    choices = [
        PermissionOption(option_id=str(number), name=escape_line(label), kind="allow_once")
        for number, label in enumerate(labels)
    ]
    shown = ToolCallUpdate(
        tool_call_id=call_id, title=escape_line(str(question["question"])), kind="think", status="pending"
    )
    found = (await client.request_permission(session_id, shown, choices)).outcome
    is_one = isinstance(found, AllowedOutcome) and found.option_id.isdecimal() and int(found.option_id) < len(labels)
    return labels[int(found.option_id)] if isinstance(found, AllowedOutcome) and is_one else None
