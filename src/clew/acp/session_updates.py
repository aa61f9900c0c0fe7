"""What a session tells, in the words of the protocol: as it happens, and as its file remembers it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from acp.schema import (
    AgentMessageChunk,
    AgentPlanUpdate,
    AgentThoughtChunk,
    ImageContentBlock,
    PlanEntry,
    TextContentBlock,
    UserMessageChunk,
)

from clew.acp import tool_call_updates
from clew.chat import events
from clew.conversation.replies import Call, Reply, merge_replies
from clew.conversation.session import Session
from clew.conversation.turns import Turn
from clew.facts.tool_catalog import objects
from clew.wire.content_block import Block
from clew.wire.json_codec import decode

PLANS = "TodoWrite"  # it is shown as a plan, and not as a call
NO_RESULT = "The session ended before this call had a result."
_STATES: dict[str, Any] = {"in_progress": "in_progress", "completed": "completed"}


def live(told: events.Event, cwd: str) -> Iterator[Any]:
    """The updates for an event, in order."""
    match told:
        case events.StreamEvent(event={"type": "content_block_delta", "delta": dict(delta)}) if not told.agent:
            yield from _said(delta)
        case events.BlockCompleted():
            for block in told.message.get("content") or ():
                if block.get("type") == "tool_use" and block.get("name") != PLANS:
                    given = block.get("input")
                    asked = given if isinstance(given, dict) else {}
                    yield tool_call_updates.begun(str(block["id"]), str(block["name"]), asked, cwd, told.agent)
        case events.CallStarted() if told.name != PLANS:
            yield tool_call_updates.running(told.call_id, told.input)
        case events.CallProgressed(data={"output": str(output)}) if output:
            yield tool_call_updates.heard(told.call_id, str(told.data.get("fullOutput") or output))
        case events.CallFinished() if told.name == PLANS:
            if not told.agent and not told.result.is_error and isinstance(told.result.detail, dict):
                yield plan(told.result.detail.get("newTodos"))
        case events.CallFinished():
            result = told.result
            yield tool_call_updates.ended(told.call_id, told.name, result.content, result.detail, result.is_error)


def _said(delta: Mapping[str, Any]) -> Iterator[Any]:
    if delta.get("type") == "text_delta" and delta.get("text"):
        yield message(str(delta["text"]))
    elif delta.get("type") == "thinking_delta" and delta.get("thinking"):
        yield thought(str(delta["thinking"]))


def message(text: str) -> AgentMessageChunk:
    return AgentMessageChunk(session_update="agent_message_chunk", content=TextContentBlock(type="text", text=text))


def thought(text: str) -> AgentThoughtChunk:
    return AgentThoughtChunk(session_update="agent_thought_chunk", content=TextContentBlock(type="text", text=text))


def plan(todos: Any) -> AgentPlanUpdate:
    """The list of what is to be done, as a whole."""
    entries = [
        PlanEntry(
            content=str(todo.get("content") or ""),
            priority="medium",
            status=_STATES.get(str(todo.get("status")), "pending"),
        )
        for todo in objects(todos)
    ]
    return AgentPlanUpdate(session_update="plan", entries=entries)


# -- as the file remembers it


def history(session: Session, cwd: str) -> Iterator[Any]:
    """All that was said on the active path, compactions or not; then the plan as it is."""
    calls = {made.id: made for made in session.calls}
    todos: Any = None
    yield from _replied(merge_replies(session.preamble), calls, cwd)
    for turn in session.turns:
        yield from _prompted(turn)
        yield from _replied(turn.replies, calls, cwd)
        done = [made for made in turn.calls if made.name == PLANS and not made.failed]
        todos = done[-1].input.get("todos") if done else todos
    if todos:
        yield plan(todos)


def _replied(said: Iterable[Reply], calls: Mapping[str, Call], cwd: str) -> Iterator[Any]:
    for block in (block for reply in said if not reply.is_synthetic for block in reply.blocks):
        if block.type == "text" and block.text:
            yield message(block.text)
        elif block.type == "thinking" and block.thinking:
            yield thought(block.thinking)
        elif block.type == "tool_use" and block.name != PLANS and (made := calls.get(block.id or "")):
            yield tool_call_updates.begun(made.id, made.name, made.input, cwd)
            found = made.result.content if made.result else NO_RESULT
            yield tool_call_updates.ended(made.id, made.name, found, made.detail, made.failed or made.is_open)


def _prompted(turn: Turn) -> Iterator[UserMessageChunk]:
    if turn.text:
        yield _user(TextContentBlock(type="text", text=turn.text))
    for block in turn.images:
        if picture := _picture(block):
            yield _user(picture)


def _user(content: TextContentBlock | ImageContentBlock) -> UserMessageChunk:
    return UserMessageChunk(session_update="user_message_chunk", content=content)


def _picture(block: Block) -> ImageContentBlock | None:
    source = decode(block.source) if block.type == "image" else None
    if not isinstance(source, dict) or source.get("type") != "base64":
        return None
    return ImageContentBlock(type="image", data=str(source.get("data")), mime_type=str(source.get("media_type")))


def aside(told: events.Event) -> str:
    """What is worth a remark beside the conversation; empty if nothing is."""
    match told:
        case events.Notice():
            return told.text
        case events.RequestRetried():
            return f"{told.message} Again in {told.delay:.0f} s ({told.number} of {told.of})."
        case events.ConversationCompacted():
            return f"The conversation was compacted, from {told.before:,} tokens to {told.after:,}."
    return ""
