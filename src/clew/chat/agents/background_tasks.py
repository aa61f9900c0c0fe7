"""Beside the conversation: commands and agents that go on by themselves, watched until they end.

Whoever began one is told of its end: with the next results while it is at work, else as the beginning of a turn.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from clew.chat import events
from clew.chat.deps import Deps
from clew.chat.store.live_conversation import LiveConversation, UserPrompt
from clew.chat.store.task_notifications import notification, summary
from clew.chat.tools.builtin import background
from clew.chat.tools.builtin.background import Background


def watch(
    task: Background, call_id: str, dialogue: LiveConversation, means: Deps, agent: str = ""
) -> asyncio.Task[None]:
    """Let a task of this conversation go on; the watcher ends when its end is told."""
    dialogue.state.background[task.id] = task
    means.tell(
        events.TaskLeft(
            agent=agent,
            task_id=task.id,
            call_id=call_id,
            kind=task.kind,
            title=task.title,
            output_file=str(task.path),
        )
    )
    watchers = dialogue.root.watchers
    watcher = asyncio.create_task(_watch(task, call_id, dialogue, means, agent))
    watchers.add(watcher)
    watcher.add_done_callback(watchers.discard)
    return watcher


async def _watch(task: Background, call_id: str, dialogue: LiveConversation, means: Deps, agent: str) -> None:
    await task.wait()
    means.tell(
        events.TaskEnded(
            agent=agent,
            task_id=task.id,
            call_id=call_id,
            kind=task.kind,
            status=task.status,
            summary=summary(task),
            output_file=str(task.path),
            exit_code=task.exit_code,
        )
    )
    if task.id not in dialogue.state.told:
        with suppress(OSError):  # that it waits could not be written down; what it says will be
            dialogue.listener.notify(UserPrompt(notification(task, call_id), task=task.id))


async def close(dialogue: LiveConversation) -> None:
    """Stop all that goes on beside a session. That it was stopped is written down: whoever resumes is told."""
    await background.close(dialogue.state)
    await asyncio.gather(*dialogue.watchers)
