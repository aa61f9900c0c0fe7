"""Build a recording from the lines of a session, in the order in which they were written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from clew.chat.replay.recording import (
    HANG,
    HANG_IN_BLOCK,
    WRITER_PREFIX,
    Interruption,
    Item,
    ManualCompaction,
    RecordedCommand,
    RecordedCompaction,
    RecordedFailure,
    RecordedProgress,
    RecordedPrompt,
    RecordedQueued,
    RecordedReply,
    RecordedResult,
    RecordedSnapshot,
    Recording,
    StopHookBlock,
    TitleChange,
    build_command,
    build_failure,
    build_outcome,
    build_reply,
    build_retry,
    raw_blocks,
    raw_content,
    summary_step,
)
from clew.chat.turn.compaction import OPENING
from clew.conversation.agent_sessions import SUBAGENT_TOOLS
from clew.conversation.replies import Reply, merge_replies
from clew.conversation.session import Session
from clew.conversation.speaker import speaker
from clew.wire.entry import Entry
from clew.wire.entry_types import tag_text
from clew.wire.json_codec import Json, decode

_STOP_HOOK = re.compile(
    r"\A<system-reminder>\n(?:Before you may stop, a hook says: |Stop hook feedback:\n)?(.*)\n</system-reminder>\Z",
    re.DOTALL,
)
BEGINNING = -1  # before every action
_FINAL_STOPS = ("end_turn", "stop_sequence", "refusal")


def load_recording(session: Session, root: Session | None = None) -> Recording:
    """Return the recording of a session, with those of its agents."""
    root = root or session
    entries = [e for e in session.entries if e.is_sidechain == session.is_agent or e.type not in ("user", "assistant")]
    reader = _RecordingReader(session, entries)
    for index, entry in enumerate(entries):
        reader.take(entry, entries[index + 1 : index + 4])
    recording = reader.recording
    for call in session.calls:
        for agent in root.agents_for(call)[:1]:
            if call.name in SUBAGENT_TOOLS and agent.session is not session and call.id in recording.names:
                recording.agents[call.id] = load_recording(agent.session, root)
                recording.agents[call.id].agent_id = agent.id
    _drop_agent_progress(recording)
    for number, line, backups in reader.loose:
        if not any(_place_backups(agent, line, backups) for agent in recording.all()):
            recording.left_out[number] = "its call is not known"
    return recording


def _place_backups(agent: Recording, line: str, backups: Json) -> bool:
    """Insert the backups that a call of an agent made before its result; return False if the call is not the
    agent's.
    """
    call = agent.lines.get(line)
    for action in agent.actions:
        if isinstance(action, RecordedPrompt) and call is not None:
            place = next(
                (
                    i
                    for i, item in enumerate(action.items)
                    if isinstance(item, RecordedProgress | RecordedResult) and item.call == call
                ),
                None,
            )
            if place is not None:
                action.items.insert(place, RecordedSnapshot(call, backups))
                return True
    return False


def _drop_agent_progress(recording: Recording) -> None:
    """Remove the progress of agents: the engine that plays them writes it."""
    for action in recording.actions:
        if isinstance(action, RecordedPrompt):
            action.items = [item for item in action.items if not _is_agent_progress(item, recording)]


def _is_agent_progress(item: Item, recording: Recording) -> bool:
    if not isinstance(item, RecordedProgress) or item.call not in recording.agents:
        return False
    return item.data.get("type") == "agent_progress"


class _RecordingReader:
    """Reads the lines once, in order."""

    def __init__(self, session: Session, entries: Sequence[Entry]) -> None:
        self.recording = _new_recording(session, entries)
        self._replies: dict[int, Reply] = {r.entries[0].offset: r for r in merge_replies(entries)}
        self._snapshots: dict[str, Any] = {}
        self.loose: list[tuple[int, str, Json]] = []  # backups that a call of an agent made
        self._waiting: list[Item] = []  # for the next prompt
        self._boundary: tuple[Entry, str] | None = None
        self._is_over = True
        self._cut = 0  # the line of an error that reports a cut reply
        self._latest = BEGINNING  # the action of the newest line of the chain
        self._heard: RecordedQueued | None = None

        if session.is_agent and self._replies and not any(speaker(e) == "prompt" for e in entries):
            self.recording.actions.append(RecordedPrompt("", 0))  # some versions do not record the prompt of an agent

    def take(self, entry: Entry, ahead: Sequence[Entry]) -> None:
        match entry.type:
            case "user":
                self._user(entry, ahead)
            case "assistant":
                self._assistant(entry)
            case "system":
                self._system(entry)
            case "progress":
                self._progress(entry)
            case "file-history-snapshot":
                self._snapshot(entry)
            case "queue-operation":
                self._queue(entry)
            case "custom-title" if title := entry.data.get("customTitle"):
                self.recording.actions.append(TitleChange(str(title)))
        if entry.uuid:
            self._latest = self.recording.owners[entry.uuid] = len(self.recording.actions) - 1

    @property
    def _action(self) -> RecordedPrompt | None:
        last = next((a for a in reversed(self.recording.actions) if not isinstance(a, TitleChange)), None)
        return last if isinstance(last, RecordedPrompt) else None

    def _add(self, item: Item, entry: Entry) -> None:
        if self._action is None:
            self.recording.left_out[entry.line.number] = "it does not follow a prompt"
        else:
            self._action.items.append(item)

    # -- user lines

    def _user(self, entry: Entry, ahead: Sequence[Entry]) -> None:
        kind = speaker(entry)
        match kind:
            case "result":
                self._results(entry)
            case "summary":
                self._summary(entry)
            case "interrupt":
                self._interrupt(entry)
            case "meta":
                self._note(entry)
            case "command" if any(speaker(e) == "output" for e in ahead[:2]):
                self._command(entry)
            case "output":
                self._output(entry)
            case "prompt" | "command" | "bash" | "notification" | "teammate" | "peer" | "coordinator":
                self._prompt(entry)  # the model answers all of these
            case _:
                self.recording.left_out[entry.line.number] = "the engine does not write it by itself"

    def _prompt(self, entry: Entry) -> None:
        content, action = raw_content(entry), self._action
        waiting = (i for i in action.items if isinstance(i, RecordedQueued) and not i.is_heard) if action else iter(())
        queued = next((item for item in waiting if item.content == content), None)
        self._is_over = False
        if queued is not None:
            queued.is_heard, self._heard = True, queued
            return
        self._heard = None
        todos = decode(entry.todos)
        prompt = RecordedPrompt(content, entry.line.number, self._back(entry), mode=entry.permission_mode or "")
        prompt.todos = todos if isinstance(todos, list) else []
        prompt.backups = self._snapshots.get(entry.uuid or "")
        prompt.cwd, prompt.branch = entry.cwd or "", entry.git_branch or ""
        prompt.items, self._waiting = self._waiting, []
        self.recording.actions.append(prompt)

    def _back(self, entry: Entry) -> int | None:
        """Return the action that a prompt goes back to."""
        owner = self.recording.owners.get(entry.parent, self._latest) if entry.parent else BEGINNING
        return owner if owner != self._latest else None

    def _note(self, entry: Entry) -> None:
        content, action = raw_content(entry), self._action
        call = entry.source_tool_use
        if call and call in self.recording.outcomes:
            self.recording.outcomes[call].notes.append(content)
        elif action is not None and not self._is_over and not _is_answered(action):
            action.notes.append(content)
        elif self._heard is not None and action is not None and action.items[-1:] == [self._heard]:
            self._heard.notes = (*self._heard.notes, content)
        elif action is not None and isinstance(content, str):
            held = _STOP_HOOK.match(content)
            action.items.append(StopHookBlock(held[1] if held else content))

    def _interrupt(self, entry: Entry) -> None:
        action = self._action
        self._is_over = True
        if action is None:
            self.recording.left_out[entry.line.number] = "it does not follow a prompt"
            return
        place = next(
            (i for i in range(len(action.items) - 1, -1, -1) if isinstance(action.items[i], RecordedReply)), None
        )
        last = action.items[place] if place is not None else None
        if isinstance(last, RecordedReply) and place is not None and not last.calls:
            action.items[place] = _interrupted_step(last)
        else:
            action.items.append(Interruption())

    def _command(self, entry: Entry) -> None:
        command = build_command(entry)
        last = self.recording.actions[-1] if self.recording.actions else None
        if command.name == "compact" and isinstance(last, ManualCompaction):
            last.wish, last.is_typed = command.arguments, True
        else:
            self.recording.actions.append(command)

    def _output(self, entry: Entry) -> None:
        last = self.recording.actions[-1] if self.recording.actions else None
        if isinstance(last, RecordedCommand) and not last.is_closed:
            last.output, last.is_closed = tag_text(entry.text, "local-command-stdout"), True
        elif not isinstance(last, ManualCompaction):
            self.recording.left_out[entry.line.number] = "it is not the output of a command"

    # -- replies and results

    def _assistant(self, entry: Entry) -> None:
        for use in entry.uses:
            if use.id and entry.uuid:
                self.recording.lines[entry.uuid] = use.id
        reply = self._replies.get(entry.offset)
        if reply is None:
            return
        if entry.is_api_error:
            self._mark_cut(entry.line.number)
            self._add(build_failure(entry), entry)
            self._is_over = True
        elif entry.is_synthetic:
            self.recording.left_out[entry.line.number] = "the program wrote it in the name of the model"
        else:
            self._reply(reply, entry)

    def _reply(self, reply: Reply, entry: Entry) -> None:
        recorded = build_reply(reply, self.recording.is_own)
        for block in raw_blocks(reply):
            if block.get("type") == "tool_use" and block.get("id"):
                self.recording.names[str(block["id"])] = str(block.get("name") or "")
                given = block.get("input")
                if isinstance(given, dict) and given.get("subagent_type"):
                    self.recording.kinds.add(str(given["subagent_type"]))
        if self._cut and self._action and self._action.items and isinstance(self._action.items[-1], RecordedFailure):
            self._action.items.pop()
            self.recording.left_out[self._cut] = "clew adds a note for the model that its reply was cut"
        self._cut = 0
        self._add(recorded, entry)
        is_last = not recorded.calls and recorded.step.stop_reason in _FINAL_STOPS and not recorded.step.fault
        self._is_over = is_last and not self.recording.is_own

    def _mark_cut(self, line: int) -> None:
        """Mark a reply without calls as cut off if an error follows it; some versions do not record that."""
        items = self._action.items if self._action else []
        last = items[-1] if items else None
        if isinstance(last, RecordedReply) and not last.calls and not last.step.fault and not self.recording.is_own:
            items[-1] = replace(last, step=replace(last.step, stop_reason="max_tokens"))
            self._cut = line

    def _results(self, entry: Entry) -> None:
        for block in entry.results:
            call = block.tool_use_id or ""
            if call not in self.recording.names:
                self.recording.left_out[entry.line.number] = "it is not the result of a known call"
            elif call in self.recording.outcomes:
                self.recording.left_out[entry.line.number] = "the call already has a result"
            else:
                self.recording.outcomes[call] = build_outcome(entry, call)
                self._add(RecordedResult(call), entry)

    def _progress(self, entry: Entry) -> None:
        data = decode(entry.progress)
        if isinstance(data, dict) and entry.parent_tool_use in self.recording.names:
            self._add(RecordedProgress(str(entry.parent_tool_use), data), entry)
        else:
            self.recording.left_out[entry.line.number] = "it does not belong to a call"

    # -- lines of the program

    def _system(self, entry: Entry) -> None:
        action = self._action
        if entry.is_boundary:
            meta = entry.data.get("compactMetadata")
            self._boundary = (entry, str(meta.get("trigger") or "auto") if isinstance(meta, dict) else "auto")
        elif entry.subtype == "api_error":
            self._add(build_retry(entry), entry)
            tries = entry.data.get("maxRetries")
            self.recording.tries = tries if isinstance(tries, int) else self.recording.tries
        elif entry.subtype == "turn_duration":
            self._is_over = True
            if action is not None:
                action.ends = True

    def _summary(self, entry: Entry) -> None:
        if self._boundary is None:
            self.recording.left_out[entry.line.number] = "a summary without its boundary"
            return
        boundary, trigger = self._boundary
        self._boundary = None
        step = summary_step(entry.text, boundary.data, OPENING, self.recording.is_own)
        cut = RecordedCompaction(step, trigger)
        if trigger == "manual" and self._is_over:
            self.recording.actions.append(ManualCompaction(items=[cut]))
        elif self._is_over or self._action is None:
            self._waiting.append(cut)
        else:
            self._action.items.append(cut)

    def _snapshot(self, entry: Entry) -> None:
        data = entry.data
        inner = data.get("snapshot")
        backups = inner.get("trackedFileBackups") if isinstance(inner, dict) else None
        if not isinstance(backups, dict):
            return
        self.recording.has_backups = True
        if not data.get("isSnapshotUpdate"):
            self._snapshots[str(data.get("messageId"))] = backups
        elif call := self.recording.lines.get(str(data.get("messageId"))):
            self._add(RecordedSnapshot(call, backups), entry)
        else:
            self.loose.append((entry.line.number, str(data.get("messageId")), backups))

    def _queue(self, entry: Entry) -> None:
        data = entry.data
        content = data.get("content")
        if data.get("operation") == "enqueue" and not self._is_over and isinstance(content, str | list):
            self._add(RecordedQueued(content), entry)


def _new_recording(session: Session, entries: Sequence[Entry]) -> Recording:
    spoken = [e for e in entries if e.type in ("user", "assistant")]
    first = next(iter(spoken), None)
    data = first.data if first else {}
    begun = entries[: entries.index(first)] if first else []
    queues = any(e.type == "queue-operation" for e in begun)
    model = next((r.model for r in merge_replies(entries) if r.model and not r.is_synthetic), None)
    return Recording(
        session_id=session.id,
        cwd=(first.cwd if first else None) or "",
        branch=(first.git_branch if first else None) or "",
        name=next((e.slug for e in entries if e.slug), None) or "",
        entrypoint=(first.entrypoint if first else None) or ("sdk-cli" if queues else "cli"),
        model=model or "",
        is_own=str(data.get("writer") or "").startswith(WRITER_PREFIX),
    )


def _is_answered(action: RecordedPrompt) -> bool:
    """Return True if the model has answered the prompt, or was requested to."""
    return any(
        isinstance(item, RecordedReply | RecordedFailure | RecordedQueued | Interruption) for item in action.items
    )


def _interrupted_step(take: RecordedReply) -> RecordedReply:
    """Return a reply that the user interrupts."""
    fault = HANG_IN_BLOCK if take.is_aborted else HANG
    return replace(take, step=replace(take.step, fault=fault), calls=())
