"""Convert events of a session, and the history in its file, to session updates of the protocol."""

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

PLAN_TOOL = "TodoWrite"  # its calls are shown as a plan
NO_RESULT = "The session ended before this call had a result."
_STATES: dict[str, Any] = {"in_progress": "in_progress", "completed": "completed"}


def event_updates(event: events.Event, cwd: str) -> Iterator[Any]:
    """Yield the updates for an event, in order."""
    match event:
        case events.StreamEvent(event={"type": "content_block_delta", "delta": dict(delta)}) if not event.agent:
            yield from _delta_updates(delta)
        case events.BlockCompleted():
            for block in event.message.get("content") or ():
                if block.get("type") == "tool_use" and block.get("name") != PLAN_TOOL:
                    block_input = block.get("input")
                    call_input = block_input if isinstance(block_input, dict) else {}
                    yield tool_call_updates.call_started(
                        str(block["id"]), str(block["name"]), call_input, cwd, event.agent
                    )
        case events.CallStarted() if event.name != PLAN_TOOL:
            yield tool_call_updates.call_running(event.call_id, event.input)
        case events.CallProgressed(data={"output": str(output)}) if output:
            yield tool_call_updates.call_progressed(event.call_id, str(event.data.get("fullOutput") or output))
        case events.CallFinished() if event.name == PLAN_TOOL:
            if not event.agent and not event.result.is_error and isinstance(event.result.detail, dict):
                yield plan_update(event.result.detail.get("newTodos"))
        case events.CallFinished():
            result = event.result
            yield tool_call_updates.call_finished(
                event.call_id, event.name, result.content, result.detail, result.is_error
            )


def _delta_updates(delta: Mapping[str, Any]) -> Iterator[Any]:
    if delta.get("type") == "text_delta" and delta.get("text"):
        yield message_chunk(str(delta["text"]))
    elif delta.get("type") == "thinking_delta" and delta.get("thinking"):
        yield thought_chunk(str(delta["thinking"]))


def message_chunk(text: str) -> AgentMessageChunk:
    return AgentMessageChunk(session_update="agent_message_chunk", content=TextContentBlock(type="text", text=text))


def thought_chunk(text: str) -> AgentThoughtChunk:
    return AgentThoughtChunk(session_update="agent_thought_chunk", content=TextContentBlock(type="text", text=text))


def plan_update(todos: Any) -> AgentPlanUpdate:
    """Return the complete to-do list as a plan."""
    entries = [
        PlanEntry(
            content=str(todo.get("content") or ""),
            priority="medium",
            status=_STATES.get(str(todo.get("status")), "pending"),
        )
        for todo in objects(todos)
    ]
    return AgentPlanUpdate(session_update="plan", entries=entries)


# -- history


def history_updates(session: Session, cwd: str) -> Iterator[Any]:
    """Yield everything on the active path, across compactions, then the current plan."""
    calls = {call.id: call for call in session.calls}
    todos: Any = None
    yield from _reply_updates(merge_replies(session.preamble), calls, cwd)
    for turn in session.turns:
        yield from _prompt_updates(turn)
        yield from _reply_updates(turn.replies, calls, cwd)
        todo_calls = [call for call in turn.calls if call.name == PLAN_TOOL and not call.failed]
        todos = todo_calls[-1].input.get("todos") if todo_calls else todos
    if todos:
        yield plan_update(todos)


def _reply_updates(replies: Iterable[Reply], calls: Mapping[str, Call], cwd: str) -> Iterator[Any]:
    for block in (block for reply in replies if not reply.is_synthetic for block in reply.blocks):
        if block.type == "text" and block.text:
            yield message_chunk(block.text)
        elif block.type == "thinking" and block.thinking:
            yield thought_chunk(block.thinking)
        elif block.type == "tool_use" and block.name != PLAN_TOOL and (call := calls.get(block.id or "")):
            yield tool_call_updates.call_started(call.id, call.name, call.input, cwd)
            content = call.result.content if call.result else NO_RESULT
            yield tool_call_updates.call_finished(call.id, call.name, content, call.detail, call.failed or call.is_open)


def _prompt_updates(turn: Turn) -> Iterator[UserMessageChunk]:
    if turn.text:
        yield _user_chunk(TextContentBlock(type="text", text=turn.text))
    for block in turn.images:
        if picture := _image_block(block):
            yield _user_chunk(picture)


def _user_chunk(content: TextContentBlock | ImageContentBlock) -> UserMessageChunk:
    return UserMessageChunk(session_update="user_message_chunk", content=content)


def _image_block(block: Block) -> ImageContentBlock | None:
    source = decode(block.source) if block.type == "image" else None
    if not isinstance(source, dict) or source.get("type") != "base64":
        return None
    return ImageContentBlock(type="image", data=str(source.get("data")), mime_type=str(source.get("media_type")))


def notice_text(event: events.Event) -> str:
    """Return the text of an event that is reported outside of the conversation; otherwise empty."""
    match event:
        case events.Notice():
            return event.text
        case events.RequestRetried():
            return f"{event.message} Again in {event.delay:.0f} s ({event.number} of {event.of})."
        case events.ConversationCompacted():
            return f"The conversation was compacted, from {event.before:,} tokens to {event.after:,}."
    return ""
