"""Frames about subagents and background commands: started, progress, updated, notification, and the list of tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import time
from typing import Any, Protocol

from msgspec import Struct, field

from clew.chat import events
from clew.chat.events import Event
from clew.facts.tool_catalog import subject
from clew.wire.json_codec import Json


class SystemFrame(Protocol):
    """Builds a system frame."""

    def __call__(self, subtype: str, **fields: Any) -> Json: ...


class _Task(Struct):
    """A subagent or background command that the SDK was told of."""

    task_id: str
    run_id: str
    call_id: str
    kind: str  # local_agent or local_bash
    description: str
    agent_type: str = ""
    is_background: bool = False
    began: float = 0.0
    tool_uses: int = 0

    @property
    def keys(self) -> Json:
        """The keys that all frames about the task share."""
        return {"task_id": self.task_id, "run_id": self.run_id, "tool_use_id": self.call_id or None}

    @property
    def listing(self) -> Json:
        agent_type = {"subagent_type": self.agent_type} if self.agent_type else {}
        names = {"task_id": self.task_id, "run_id": self.run_id, "task_type": self.kind}
        return {**names, **agent_type, "description": self.description}


class TaskFrames(Struct):
    """Turns the events of tasks into frames, and remembers the tasks for what belongs to them."""

    new_id: Callable[[], str]
    clock: Callable[[], float] = time
    _tasks: dict[str, _Task] = field(default_factory=dict)  # by task id
    _agents: dict[str, _Task] = field(default_factory=dict)  # subagents by the call that started them

    def agent_fields(self, event: Event) -> Json:
        """Return the keys that a frame of a subagent has in addition."""
        task = self._agents.get(event.agent) if event.agent else None
        if task is None:
            return {}
        return {"agent_id": task.task_id, "subagent_type": task.agent_type, "task_description": task.description}

    def is_background(self, event: Event) -> bool:
        """Return whether the event comes from a subagent in the background."""
        task = self._agents.get(event.agent) if event.agent else None
        return task is not None and task.is_background

    def frames(self, event: Event, system: SystemFrame) -> Iterator[Json]:
        """Yield the frames of an event; none if it is not about a task."""
        match event:
            case events.AgentStarted():
                yield from self._start_agent(event, system)
            case events.BlockCompleted() if event.agent in self._agents:
                yield from self._progress(self._agents[event.agent], event.message, system)
            case events.AgentFinished() if event.agent_id in self._tasks:
                task = self._tasks[event.agent_id]
                notification = {"status": event.status, "output_file": event.output_file, "summary": event.summary}
                yield from self._end(task, event.status, {**notification, "usage": event.usage}, system)
            case events.TaskBackgrounded(kind="local_bash"):
                yield from self._start_command(event, system)
            case events.TaskBackgrounded() if event.task_id in self._tasks:
                if not self._tasks[event.task_id].is_background:  # the user sent a running subagent there
                    self._tasks[event.task_id].is_background = True
                    yield self._listing(system)
            case events.TaskFinished(kind="local_bash") if event.task_id in self._tasks:
                status = "stopped" if event.status == "killed" else event.status
                notification = {"status": status, "output_file": event.output_file, "summary": event.summary}
                yield from self._end(self._tasks[event.task_id], event.status, notification, system)

    def _start_agent(self, event: events.AgentStarted, system: SystemFrame) -> Iterator[Json]:
        task = self._add(event.agent_id, event.agent, "local_agent", event.description)
        task.agent_type, task.is_background = event.kind, event.is_background
        self._agents[event.agent] = task
        if event.is_background:
            yield self._listing(system)
        yield system(
            "task_started",
            **task.keys,
            description=event.description,
            subagent_type=event.kind,
            is_backgrounded=event.is_background,
            task_type=task.kind,
            prompt=event.prompt,
        )

    def _start_command(self, event: events.TaskBackgrounded, system: SystemFrame) -> Iterator[Json]:
        task = self._add(event.task_id, event.call_id, "local_bash", event.title)
        task.is_background = True
        yield self._listing(system)
        yield system("task_started", **task.keys, description=event.title, is_backgrounded=True, task_type="local_bash")

    def _progress(self, task: _Task, message: Json, system: SystemFrame) -> Iterator[Json]:
        """Report each tool call of a subagent."""
        for block in message.get("content") or ():
            if block.get("type") != "tool_use":
                continue
            task.tool_uses += 1
            usage = message.get("usage") or {}
            tokens = sum(value for name, value in usage.items() if name.endswith("_tokens") and isinstance(value, int))
            name, tool_input = str(block.get("name")), block.get("input") or {}
            about = tool_input.get("description") if name == "Bash" else subject(name, tool_input, "")
            milliseconds = round((self.clock() - task.began) * 1000)
            yield system(
                "task_progress",
                **task.keys,
                description=f"{name}: {about}" if about else name,
                subagent_type=task.agent_type,
                usage={"total_tokens": tokens, "tool_uses": task.tool_uses, "duration_ms": milliseconds},
                last_tool_name=name,
            )

    def _end(self, task: _Task, status: str, notification: Json, system: SystemFrame) -> Iterator[Json]:
        state = "killed" if status == "stopped" else status
        yield system("task_updated", **task.keys, patch={"status": state, "end_time": round(self.clock() * 1000)})
        yield system("task_notification", **task.keys, **notification)
        del self._tasks[task.task_id]
        if task.is_background:
            yield self._listing(system)

    def _add(self, task_id: str, call_id: str, kind: str, description: str) -> _Task:
        task = _Task(task_id, self.new_id()[:8], call_id, kind, description, began=self.clock())
        self._tasks[task_id] = task
        return task

    def _listing(self, system: SystemFrame) -> Json:
        tasks = [task.listing for task in self._tasks.values() if task.is_background]
        return system("background_tasks_changed", tasks=tasks)
