"""Build a recording from the lines of a session, in the order in which they were written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from clew.chat.replay import recording as tape
from clew.chat.replay.recording import (
    Compact,
    Hold,
    Item,
    RecordedCompaction,
    RecordedQueued,
    RecordedResult,
    Recording,
    Rename,
    Save,
    Say,
    Sign,
    Stop,
    Take,
)
from clew.chat.turn.compaction import OPENING
from clew.conversation.agent_sessions import SUBAGENT_TOOLS
from clew.conversation.replies import Reply, merge_replies
from clew.conversation.session import Session
from clew.conversation.speaker import speaker
from clew.wire.entry import Entry
from clew.wire.entry_types import tag_text
from clew.wire.json_codec import Json, decode

_HELD = re.compile(r"\A<system-reminder>\n(?:Before you may stop, a hook says: )?(.*)\n</system-reminder>\Z", re.DOTALL)
BEGINNING = -1  # before every act
_OVER = ("end_turn", "stop_sequence", "refusal")


def load_recording(session: Session, root: Session | None = None) -> Recording:
    """Return the recording of a session, with those of its agents."""
    root = root or session
    entries = [e for e in session.entries if e.is_sidechain == session.is_agent or e.type not in ("user", "assistant")]
    reader = _RecordingReader(session, entries)
    for index, entry in enumerate(entries):
        reader.take(entry, entries[index + 1 : index + 4])
    recording = reader.made
    for call in session.calls:
        for agent in root.agents_for(call)[:1]:
            if call.name in SUBAGENT_TOOLS and agent.session is not session and call.id in recording.names:
                recording.agents[call.id] = load_recording(agent.session, root)
                recording.agents[call.id].agent_id = agent.id
    _drop_agent_signs(recording)
    for number, line, backups in reader.loose:
        if not any(_place_backups(agent, line, backups) for agent in recording.all()):
            recording.left_out[number] = "the call that it belongs to is not known"
    return recording


def _place_backups(agent: Recording, line: str, backups: Json) -> bool:
    """Insert the backups that a call of an agent made before its result; return False if the call is not the
    agent's.
    """
    call = agent.lines.get(line)
    for act in agent.acts:
        if isinstance(act, Say) and call is not None:
            place = next(
                (
                    i
                    for i, item in enumerate(act.items)
                    if isinstance(item, Sign | RecordedResult) and item.call == call
                ),
                None,
            )
            if place is not None:
                act.items.insert(place, Save(call, backups))
                return True
    return False


def _drop_agent_signs(made: Recording) -> None:
    """What an agent is doing is written by the engine that plays it."""
    for act in made.acts:
        if isinstance(act, Say):
            act.items = [i for i in act.items if not (isinstance(i, Sign) and i.call in made.agents and _is_agent(i))]


def _is_agent(sign: Sign) -> bool:
    return sign.data.get("type") == "agent_progress"


class _RecordingReader:
    """Reads the lines once, in order."""

    def __init__(self, session: Session, entries: Sequence[Entry]) -> None:
        self.made = _head(session, entries)
        self._replies: dict[int, Reply] = {r.entries[0].offset: r for r in merge_replies(entries)}
        self._snapshots: dict[str, Any] = {}
        self.loose: list[tuple[int, str, Json]] = []  # backups that a call of an agent made
        self._waiting: list[Item] = []  # for the next prompt
        self._boundary: tuple[Entry, str] | None = None
        self._is_over = True
        self._cut = 0  # the line of an error that says that a reply was cut
        self._latest = BEGINNING  # the act of the newest line of the chain
        self._heard: RecordedQueued | None = None

        if session.is_agent and self._replies and not any(speaker(e) == "prompt" for e in entries):
            self.made.acts.append(Say("", 0))  # some versions do not repeat what an agent was asked

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
                self.made.acts.append(Rename(str(title)))
        if entry.uuid:
            self._latest = self.made.owners[entry.uuid] = len(self.made.acts) - 1

    @property
    def _act(self) -> Say | None:
        found = next((a for a in reversed(self.made.acts) if not isinstance(a, Rename)), None)
        return found if isinstance(found, Say) else None

    def _add(self, item: Item, entry: Entry) -> None:
        if self._act is None:
            self.made.left_out[entry.line.number] = "no prompt leads to it"
        else:
            self._act.items.append(item)

    # -- what was said

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
                self._prompt(entry)  # whoever says it, the model is asked
            case _:
                self.made.left_out[entry.line.number] = "the engine does not write it by itself"

    def _prompt(self, entry: Entry) -> None:
        content, act = tape.content_of(entry), self._act
        waiting = (i for i in act.items if isinstance(i, RecordedQueued) and not i.is_heard) if act else iter(())
        found = next((item for item in waiting if item.content == content), None)
        self._is_over = False
        if found is not None:
            found.is_heard, self._heard = True, found
            return
        self._heard = None
        todos = decode(entry.todos)
        said = Say(content, entry.line.number, self._back(entry), mode=entry.permission_mode or "")
        said.todos = todos if isinstance(todos, list) else []
        said.backups = self._snapshots.get(entry.uuid or "")
        said.cwd, said.branch = entry.cwd or "", entry.git_branch or ""
        said.items, self._waiting = self._waiting, []
        self.made.acts.append(said)

    def _back(self, entry: Entry) -> int | None:
        """Return the act that a prompt goes back to."""
        owner = self.made.owners.get(entry.parent, self._latest) if entry.parent else BEGINNING
        return owner if owner != self._latest else None

    def _note(self, entry: Entry) -> None:
        content, act = tape.content_of(entry), self._act
        call = entry.source_tool_use
        if call and call in self.made.outcomes:
            self.made.outcomes[call].notes.append(content)
        elif act is not None and not self._is_over and not _is_answered(act):
            act.notes.append(content)
        elif self._heard is not None and act is not None and act.items[-1:] == [self._heard]:
            self._heard.notes = (*self._heard.notes, content)
        elif act is not None and isinstance(content, str):
            held = _HELD.match(content)
            act.items.append(Hold(held[1] if held else content))

    def _interrupt(self, entry: Entry) -> None:
        act = self._act
        self._is_over = True
        if act is None:
            self.made.left_out[entry.line.number] = "no prompt leads to it"
            return
        place = next((i for i in range(len(act.items) - 1, -1, -1) if isinstance(act.items[i], Take)), None)
        last = act.items[place] if place is not None else None
        if isinstance(last, Take) and place is not None and not last.calls:
            act.items[place] = _interrupted_step(last)
        else:
            act.items.append(Stop())

    def _command(self, entry: Entry) -> None:
        made = tape.command_of(entry)
        last = self.made.acts[-1] if self.made.acts else None
        if made.name == "compact" and isinstance(last, Compact):
            last.wish, last.is_typed = made.arguments, True
        else:
            self.made.acts.append(made)

    def _output(self, entry: Entry) -> None:
        last = self.made.acts[-1] if self.made.acts else None
        if isinstance(last, tape.RecordedCommand) and not last.is_closed:
            last.output, last.is_closed = tag_text(entry.text, "local-command-stdout"), True
        elif not isinstance(last, Compact):
            self.made.left_out[entry.line.number] = "it is no answer to a command"

    # -- what was answered

    def _assistant(self, entry: Entry) -> None:
        for use in entry.uses:
            if use.id and entry.uuid:
                self.made.lines[entry.uuid] = use.id
        reply = self._replies.get(entry.offset)
        if reply is None:
            return
        if entry.is_api_error:
            self._mark_cut(entry.line.number)
            self._add(tape.failure_of(entry), entry)
            self._is_over = True
        elif entry.is_synthetic:
            self.made.left_out[entry.line.number] = "the program said it in the model's name"
        else:
            self._reply(reply, entry)

    def _reply(self, reply: Reply, entry: Entry) -> None:
        found = tape.take_of(reply, self.made.is_own)
        for block in tape.blocks_of(reply):
            if block.get("type") == "tool_use" and block.get("id"):
                self.made.names[str(block["id"])] = str(block.get("name") or "")
                given = block.get("input")
                if isinstance(given, dict) and given.get("subagent_type"):
                    self.made.kinds.add(str(given["subagent_type"]))
        if self._cut and self._act and self._act.items and isinstance(self._act.items[-1], tape.Fail):
            self._act.items.pop()
            self.made.left_out[self._cut] = "clew tells the model in a note that its reply was cut"
        self._cut = 0
        self._add(found, entry)
        is_last = not found.calls and found.step.stop_reason in _OVER and not found.step.fault
        self._is_over = is_last and not self.made.is_own

    def _mark_cut(self, line: int) -> None:
        """Mark a reply without calls as cut off if an error follows it; some versions do not record that."""
        items = self._act.items if self._act else []
        last = items[-1] if items else None
        if isinstance(last, Take) and not last.calls and not last.step.fault and not self.made.is_own:
            items[-1] = replace(last, step=replace(last.step, stop_reason="max_tokens"))
            self._cut = line

    def _results(self, entry: Entry) -> None:
        for block in entry.results:
            call = block.tool_use_id or ""
            if call not in self.made.names:
                self.made.left_out[entry.line.number] = "it answers no call"
            elif call in self.made.outcomes:
                self.made.left_out[entry.line.number] = "the call has a result already"
            else:
                self.made.outcomes[call] = tape.outcome_of(entry, call)
                self._add(RecordedResult(call), entry)

    def _progress(self, entry: Entry) -> None:
        data = decode(entry.progress)
        if isinstance(data, dict) and entry.parent_tool_use in self.made.names:
            self._add(Sign(str(entry.parent_tool_use), data), entry)
        else:
            self.made.left_out[entry.line.number] = "it belongs to no call"

    # -- what the program says

    def _system(self, entry: Entry) -> None:
        act = self._act
        if entry.is_boundary:
            meta = entry.data.get("compactMetadata")
            self._boundary = (entry, str(meta.get("trigger") or "auto") if isinstance(meta, dict) else "auto")
        elif entry.subtype == "api_error":
            self._add(tape.retry_of(entry), entry)
            tries = entry.data.get("maxRetries")
            self.made.tries = tries if isinstance(tries, int) else self.made.tries
        elif entry.subtype == "turn_duration":
            self._is_over = True
            if act is not None:
                act.ends = True

    def _summary(self, entry: Entry) -> None:
        if self._boundary is None:
            self.made.left_out[entry.line.number] = "a summary without its boundary"
            return
        boundary, trigger = self._boundary
        self._boundary = None
        step = tape.summary_step(entry.text, boundary.data, OPENING, self.made.is_own)
        cut = RecordedCompaction(step, trigger)
        if trigger == "manual" and self._is_over:
            self.made.acts.append(Compact(items=[cut]))
        elif self._is_over or self._act is None:
            self._waiting.append(cut)
        else:
            self._act.items.append(cut)

    def _snapshot(self, entry: Entry) -> None:
        data = entry.data
        inner = data.get("snapshot")
        backups = inner.get("trackedFileBackups") if isinstance(inner, dict) else None
        if not isinstance(backups, dict):
            return
        self.made.has_backups = True
        if not data.get("isSnapshotUpdate"):
            self._snapshots[str(data.get("messageId"))] = backups
        elif call := self.made.lines.get(str(data.get("messageId"))):
            self._add(Save(call, backups), entry)
        else:
            self.loose.append((entry.line.number, str(data.get("messageId")), backups))

    def _queue(self, entry: Entry) -> None:
        data = entry.data
        content = data.get("content")
        if data.get("operation") == "enqueue" and not self._is_over and isinstance(content, str | list):
            self._add(RecordedQueued(content), entry)


def _head(session: Session, entries: Sequence[Entry]) -> Recording:
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
        is_own=str(data.get("writer") or "").startswith(tape.OWN),
    )


def _is_answered(act: Say) -> bool:
    """Return True if the model has answered the prompt, or was requested to."""
    return any(isinstance(item, Take | tape.Fail | RecordedQueued | Stop) for item in act.items)


def _interrupted_step(take: Take) -> Take:
    """Return a reply that the user interrupts."""
    fault = tape.HANG_IN_BLOCK if take.is_aborted else tape.HANG
    return replace(take, step=replace(take.step, fault=fault), calls=())
