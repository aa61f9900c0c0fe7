"""The frames that events become, beside those that whole talks with an SDK show."""

from __future__ import annotations

from itertools import count

import pytest

from clew.chat import events
from clew.chat.events import Event
from clew.chat.sdk.prompt_inbox import IncomingPrompt, PromptInbox, read_prompt
from clew.chat.sdk.sdk_frames import FrameBuilder
from clew.wire.json_codec import Json

UUID = "22222222-2222-4222-8222-222222222222"
USAGE = {"input_tokens": 10, "output_tokens": 1, "service_tier": "standard"}


def builder(shows_partial: bool = False) -> FrameBuilder:
    numbers = count(1)
    return FrameBuilder(session_id="s", new_id=lambda: f"id-{next(numbers)}", shows_partial=shows_partial)


def frames(made: FrameBuilder, *happened: Event) -> list[Json]:
    return [frame for event in happened for frame in made.frames(event)]


def told(made: list[Json]) -> list[str]:
    return [str(frame.get("subtype") or frame["type"]) for frame in made]


def call(name: str, **given: str) -> Json:
    block = {"type": "tool_use", "id": "toolu_2", "name": name, "input": given}
    return {"role": "assistant", "model": "m", "content": [block], "usage": USAGE}


@pytest.mark.parametrize("is_background", [False, True])
def test_a_subagent_is_told_from_start_to_end(is_background: bool) -> None:
    started = events.AgentStarted(
        agent="toolu_1", agent_id="a1", kind="Explore", description="Look", prompt="look", is_background=is_background
    )
    usage = {"total_tokens": 11, "tool_uses": 1, "duration_ms": 5}
    made = frames(
        builder(),
        started,
        events.PromptRecorded(agent="toolu_1", uuid="u1", content="look"),
        events.BlockCompleted(agent="toolu_1", uuid="u2", message=call("Bash", command="ls", description="List")),
        events.AgentFinished(agent="toolu_1", agent_id="a1", status="completed", summary="Seen.", usage=usage),
    )
    common = ["task_progress", "assistant", "task_updated", "task_notification"]
    listed = ["background_tasks_changed"]
    expected = [*listed, "task_started", *common, *listed] if is_background else ["task_started", "user", *common]
    assert told(made) == expected
    progress = made[told(made).index("task_progress")]
    assert progress["usage"]["tool_uses"] == 1 and progress["usage"]["total_tokens"] == 11
    spoken = made[told(made).index("assistant")]
    assert (spoken["agent_id"], spoken["subagent_type"], spoken["task_description"]) == ("a1", "Explore", "Look")
    assert spoken["parent_tool_use_id"] == "toolu_1" and spoken["timestamp"].endswith("Z")
    assert made[told(made).index("task_notification")]["usage"] == usage


def test_a_compaction_a_denial_and_a_stop_hook_are_told() -> None:
    made = frames(
        builder(),
        events.CompactionStarted(),
        events.CompactionEnded(is_success=True),
        events.ConversationCompacted(uuid="u", trigger="manual", before=9, after=2, summary="All."),
        events.CommandOutput(text="Compacted"),
        events.CallDenied(call_id="toolu_1", name="Write", message="No."),
        events.StopBlocked(uuid="u3", text="Stop hook feedback:\nmore"),
        events.RequestStarted(),
    )
    assert told(made) == ["status", "status", "compact_boundary", "user", "user", "permission_denied", "user"]
    assert (made[0]["status"], made[1]["compact_result"]) == ("compacting", "success")
    assert made[2]["compact_metadata"] == {"trigger": "manual", "pre_tokens": 9, "post_tokens": 2}
    assert (made[5]["tool_name"], made[5]["message"]) == ("Write", "No.")
    assert made[6]["isSynthetic"] and made[6]["message"]["content"][0]["text"].startswith("Stop hook feedback:")
    assert frames(builder(shows_partial=True), events.RequestStarted())[0]["status"] == "requesting"


def test_thinking_is_counted_while_it_arrives() -> None:
    delta = {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "12345678"}}
    made = frames(builder(), events.StreamEvent(event=delta), events.StreamEvent(event=delta))
    assert [(frame["estimated_tokens"], frame["estimated_tokens_delta"]) for frame in made] == [(2, 2), (4, 2)]


def test_a_prompt_with_a_uuid_can_be_cancelled_until_it_starts() -> None:
    states: list[tuple[str, str]] = []
    inbox = PromptInbox(lambda uuid, state: states.append((uuid, state)))
    inbox.receive(read_prompt({"uuid": UUID}, "one"))
    inbox.receive(read_prompt({"uuid": UUID}, "the same uuid again"))
    inbox.receive(read_prompt({"uuid": "no uuid"}, "/two"))
    assert inbox.uuids == [UUID]
    assert inbox.cancel([UUID, "other"]) == [UUID] and inbox.cancel([UUID]) == []
    assert states == [(UUID, "queued"), (UUID, "cancelled")]
    assert inbox.drain() == [IncomingPrompt("the same uuid again"), IncomingPrompt("/two")]
