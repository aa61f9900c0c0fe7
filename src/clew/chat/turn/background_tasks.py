"""Wait for background commands and subagents, and report their end to the conversation that started them."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from clew.chat import events
from clew.chat.deps import Deps
from clew.chat.store.live_conversation import LiveConversation
from clew.chat.store.pending_prompts import UserPrompt
from clew.chat.store.task_notifications import notification, summary
from clew.chat.tools.builtin import background
from clew.chat.tools.builtin.background import Background


def watch_task(
    task: Background, call_id: str, conversation: LiveConversation, deps: Deps, agent: str = ""
) -> asyncio.Task[None]:
    """Register a background task; the returned watcher ends when its end is reported."""
    conversation.state.background[task.id] = task
    deps.emit(
        events.TaskBackgrounded(
            agent=agent,
            task_id=task.id,
            call_id=call_id,
            kind=task.kind,
            title=task.title,
            output_file=str(task.path),
        )
    )
    watchers = conversation.root.watchers
    watcher = asyncio.create_task(_report_end(task, call_id, conversation, deps, agent))
    watchers.add(watcher)
    watcher.add_done_callback(watchers.discard)
    return watcher


async def _report_end(task: Background, call_id: str, conversation: LiveConversation, deps: Deps, agent: str) -> None:
    await task.wait()
    deps.emit(
        events.TaskFinished(
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
    if task.id not in conversation.state.reported_tasks:
        with suppress(OSError):  # the queue line could not be written; the report itself will be
            conversation.report_target.queue.add(UserPrompt(notification(task, call_id), task=task.id))


async def stop_tasks(conversation: LiveConversation) -> None:
    """Stop all background tasks of a session and wait until their end is recorded, so that a resume reports it."""
    await background.stop_all(conversation.state)
    await asyncio.gather(*conversation.watchers)
