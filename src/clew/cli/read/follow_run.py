"""Run `clew follow`: print what is written to a session and its agents."""

from __future__ import annotations

import select
import sys
import time
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from clew.cli.output import one_line, print_json, print_message
from clew.cli.select_session import open_session
from clew.conversation.replies import Call
from clew.conversation.reply_ids import reply_key
from clew.conversation.session import Session
from clew.conversation.speaker import is_prompt, prompt_text, speaker
from clew.facts.secrets.mask_secrets import mask, mask_data
from clew.facts.tool_catalog import label
from clew.system import shell_quoting
from clew.view.mask_rows import mask_rows
from clew.view.row_terminal import print_rows
from clew.view.row_types import (
    AgentRow,
    CallRow,
    DiffRow,
    ErrorRow,
    PromptRow,
    ReplyRow,
    ResultRow,
    Row,
    ThinkingRow,
    TodoRow,
)
from clew.view.rows import ViewOptions, ViewScope, call_rows, entry_rows, rows
from clew.wire.content_block import THINKING_TYPES, Block
from clew.wire.content_time import sort_key
from clew.wire.entry import Damaged, Entry, Item, entries
from clew.wire.entry_types import ProgressDetail
from clew.wire.layout import AgentFile, Project, SessionFile
from clew.wire.side_files import AgentMeta
from clew.wire.tail_reader import Tail
from clew.wire.timestamps import format_timestamp

EVERY = 10  # seconds between two signs of life from one running call
SHARE = 20  # looking for new files takes at most 1/SHARE of the time
WIDEST = 160  # characters of a call in a line
_LONG_AGO = datetime.min.replace(tzinfo=UTC)
_RESULTS = (ResultRow, DiffRow, TodoRow)


def follow_session(options: Namespace) -> int:
    session = open_session(options, options.id)
    watch = FollowedSession(session, options)
    if not options.quiet:
        print_message(f"Following {session.id}{'' if options.once else '. Ctrl-C ends it'}.")
    try:
        _run(watch, 0.0 if options.once else options.until_idle, options.interval)
    except KeyboardInterrupt:
        return 130
    return 0


def _run(watch: FollowedSession, idle: float | None, interval: float) -> None:
    watch.begin()
    changed = time.monotonic()
    while True:
        if watch.poll():
            changed = time.monotonic()
        elif idle is not None and time.monotonic() - changed >= idle:
            return
        _wait(interval)


def _wait(interval: float) -> None:
    """Sleep, but stop when the reader of the pipe is gone, which would otherwise be noticed at the next write only."""
    sys.stdout.flush()
    if sys.platform == "win32":  # it has no poll
        time.sleep(interval)
        return
    try:
        ends = select.poll()
        ends.register(sys.stdout.fileno(), 0)
    except OSError:  # stdout may be replaced by something that is not a file
        time.sleep(interval)
        return
    if any(event & select.POLLERR for _, event in ends.poll(interval * 1000)):
        raise BrokenPipeError


class Stream:
    """One file that is followed, the session's or an agent's: what was said in it, and the calls that wait."""

    def __init__(self, session: Session, path: Path, options: Namespace, agent: AgentFile | None = None) -> None:
        whole = [item.line for item in session.items if item.line.is_terminated]
        self.tail = Tail(path, whole[-1].end, whole[-1].number + 1) if whole else Tail(path)
        self.seen = {e.offset for e in entries(session.items[len(whole) :])}  # shown before its newline has come
        self.agent = agent
        self.is_agent = agent is not None or session.is_agent
        self.options = ViewOptions(thinking=options.thinking)
        self.has_results: bool = options.results
        self.reveals: bool = options.reveal
        self.depth = 0
        self.name = ""
        self.kind = ""
        self.calls = {call.id: call for call in session.calls}
        self.waiting = {call.id for call in session.calls if call.is_open}
        self._said: dict[str | None, list[Block]] = {}
        self._signs: dict[str, datetime] = {}

    def rows(self, item: Item) -> Iterator[Row]:
        """Yield what a new line has to say."""
        if isinstance(item, Damaged):
            yield ErrorRow(f"line {item.line.number} is damaged ({item.kind})", self.depth)
        for entry in entries([item]):
            if entry.offset in self.seen:
                continue
            depth = self.depth + (entry.is_sidechain and not self.is_agent)
            scene = ViewScope(Session(entry.raw), self.options, lambda _: (), depth)
            if entry.type == "assistant":
                yield from self._reply(entry, scene)
            elif entry.type == "progress":
                yield from self._sign(entry, scene)
            elif entry.results:
                yield from self._results(entry, scene)
            elif not is_prompt(entry):
                yield from entry_rows([entry], scene)
            elif not entry.is_sidechain or (self.is_agent and not self.agent):
                images = sum(block.type in ("image", "document") for block in entry.blocks)
                yield PromptRow(prompt_text(entry), depth, entry.time, images=images)

    def _reply(self, entry: Entry, scene: ViewScope) -> Iterator[Row]:
        blocks_shown = self._said.setdefault(reply_key(entry), [])
        for block in [b for b in entry.blocks if b not in blocks_shown]:
            blocks_shown.append(block)
            if block.type == "text" and block.text and block.text.strip():
                row_type = ErrorRow if entry.is_api_error else ReplyRow
                yield row_type(block.text, scene.depth, entry.time)
            elif block.type in THINKING_TYPES and self.options.thinking:
                yield ThinkingRow(block.thinking or "(not stored)", scene.depth, entry.time)
            elif block.type == "tool_use" and block.id:
                self.calls[block.id] = Call(block, entry)
                self.waiting.add(block.id)
                yield self._call(self.calls[block.id], scene, " …")

    def _results(self, entry: Entry, scene: ViewScope) -> Iterator[Row]:
        for block in entry.results:
            if block.tool_use_id not in self.waiting:
                continue
            self.waiting.discard(block.tool_use_id)
            done = replace(self.calls[block.tool_use_id], result=block, result_entry=entry)
            self.calls[block.tool_use_id] = done
            yield self._call(done, scene, "" if done.failed else " → ok", failed=done.failed, seconds=done.seconds)
            yield from brief(list(call_rows(done, scene))[1:], self.has_results)

    def _call(
        self, call: Call, scene: ViewScope, state: str, failed: bool = False, seconds: float | None = None
    ) -> CallRow:
        text = self.short(label(call, scene.session.cwd), WIDEST) + state
        return CallRow(text, scene.depth, call.entry.time, tool=call.name, id=call.id, failed=failed, seconds=seconds)

    def short(self, text: str, width: int) -> str:
        """Return a text cut to a line. Secrets are masked before: half of one looks like none."""
        return one_line(text if self.reveals else mask(text)[0], width)

    def _sign(self, entry: Entry, scene: ViewScope) -> Iterator[Row]:
        """Yield a running call says now and then what it is at; what agents say stands in their own files."""
        number = entry.parent_tool_use or ""
        sign = ProgressDetail.of(entry)
        if number not in self.waiting or sign.type in ("hook_progress", "agent_progress"):
            return
        running = self.calls[number]
        now, begun = entry.time, running.entry.time
        last = self._signs.get(number, begun)
        if now and begun and last and (now - last).total_seconds() >= EVERY:
            self._signs[number] = now
            progress = (sign.output or sign.full_output).strip().split("\n")[-1] or sign.query or sign.task_description
            yield self._call(
                running, scene, f" … {self.short(progress, 60)}".rstrip(), seconds=(now - begun).total_seconds()
            )

    def json(self, item: Item) -> Iterator[dict[str, Any]]:
        whose = {"agent": self.agent.id if self.agent else None}
        if isinstance(item, Damaged):
            yield {
                "kind": "damaged",
                "reason": item.reason,
                **whose,
                "line": item.line.number,
                "offset": item.line.offset,
            }
        for entry in entries([item]):
            yield {
                "kind": "entry",
                "type": entry.type,
                "subtype": entry.subtype,
                "time": format_timestamp(entry.time) if entry.time else None,
                "role": entry.type if entry.message else None,
                "speaker": speaker(entry) or None,
                "text": prompt_text(entry) if is_prompt(entry) else entry.text,
                "calls": [self._call_json(use.id, entry) for use in entry.uses],
                "results": [
                    {
                        **(called := self._call_json(r.tool_use_id, entry)),
                        "failed": entry.failed(r, called["tool"] or ""),
                        "text": r.result_text,
                    }
                    for r in entry.results
                ],
                "uuid": entry.uuid,
                "parent": entry.parent,
                "sidechain": entry.is_sidechain,
                **whose,
                "line": entry.line.number,
                "offset": entry.offset,
            }

    def _call_json(self, number: str | None, entry: Entry) -> dict[str, Any]:
        call = self.calls.get(number or "")
        value = {"id": number, "tool": call.name if call else None, "label": label(call, entry.cwd) if call else None}
        return {**value, "seconds": call.seconds} if call and call.result_entry is entry else value


def brief(all_rows: Iterable[Row], has_results: bool) -> Iterator[Row]:
    """Yield rows without results of calls unless they were requested; failures are always shown."""
    return (row for row in all_rows if has_results or not isinstance(row, _RESULTS))


class FollowedSession:
    """A session with its agents, and the project that it lies in."""

    def __init__(self, session: Session, options: Namespace) -> None:
        if not isinstance(session.file, SessionFile):
            raise ValueError(f"{session.id} cannot be followed, because it is not in a file.")
        self.file = session.file
        self.wish = options
        self.streams: dict[Path, Stream] = {}
        self._known = {file.id for file in self._sessions()}
        self._speaker: Stream | None = None
        self._looks_at = 0.0
        self._is_gone = False

    def _sessions(self) -> list[SessionFile]:
        return [file for file in Project(self.file.project_folder).sessions() if not file.is_empty]

    def begin(self) -> None:
        """Print the last turns, and take note of where every file ends."""
        session = Session(self.file.path, file=self.file)
        self.streams = {self.file.path: Stream(session, self.file.path, self.wish)}
        for agent in session.agents:
            if agent.file is not None:
                self.streams[agent.file.path] = Stream(agent.session, agent.file.path, self.wish, agent.file)
        for stream in self.streams.values():
            self._introduce(stream)
        turns = session.turns[-self.wish.last :] if self.wish.last else ()
        if self.wish.json:
            main = self.streams[self.file.path]
            self._print_json([(main, entry) for turn in turns for entry in turn.entries])
        else:
            self._print(brief(rows(session, turns, ViewOptions(thinking=self.wish.thinking)), self.wish.results))

    def poll(self) -> bool:
        """Print what is new; says whether anything was."""
        if self._look():
            return True
        fresh: list[tuple[datetime, Stream, Item]] = []
        for stream in list(self.streams.values()):
            items = stream.tail.read()
            if stream.tail.restarted and stream.agent is None:
                self._remark("The file was rewritten.")
                self.begin()
                return True
            now = _LONG_AGO
            for item in (i for i in items if i.line.offset not in stream.seen or isinstance(i, Damaged)):
                now = max([now, *(e.time for e in entries([item]) if e.time)])
                fresh.append((now, stream, item))
        fresh.sort(key=lambda one: one[0])
        if self.wish.json:
            self._print_json([(stream, item) for _, stream, item in fresh])
        else:
            self._print(row for _, stream, item in fresh for row in self._format_item(stream, item))
        return bool(fresh)

    def _format_item(self, stream: Stream, item: Item) -> Iterator[Row]:
        """Yield the rows of a line; when another agent speaks than before, its name first."""
        if stream.agent and not stream.name:
            self._introduce(stream, item)
        rows = list(stream.rows(item))
        if rows and self._speaker is not stream and stream.agent:
            yield AgentRow(stream.name, stream.depth, agent_type=stream.kind, id=stream.agent.id)
        if rows:
            self._speaker = stream
        yield from rows

    def _introduce(self, stream: Stream, item: Item | None = None) -> None:
        """Set the name and depth of an agent from its meta file, the call that started it, or its prompt."""
        if stream.agent is None:
            return
        meta = stream.agent.meta() or AgentMeta()
        owner = next((s for s in self.streams.values() if meta.tool_use_id in s.calls), None)
        given = owner.calls[meta.tool_use_id or ""].input if owner else {}
        stream.depth = owner.depth + 1 if owner else 1
        stream.kind = str(meta.agent_type or given.get("subagent_type") or "")
        prompt = item.text if isinstance(item, Entry) else ""
        stream.name = stream.short(str(meta.description or given.get("description") or prompt or stream.agent.id), 80)

    def _look(self) -> bool:
        """Find new agents, and a newer session; says whether it went over to one."""
        began = time.monotonic()
        if began < self._looks_at:
            return False
        for agent in self.file.agents():
            if agent.path not in self.streams and not agent.is_warmup:
                self.streams[agent.path] = Stream(Session(b""), agent.path, self.wish, agent)
        if not self.file.path.exists() and not self._is_gone:
            self._remark(f"{self.file.path} is gone.")
        self._is_gone = not self.file.path.exists()
        newer = [file for file in self._sessions() if file.id not in self._known] if self.wish.id is None else []
        self._known |= {file.id for file in newer}
        self._looks_at = time.monotonic() + SHARE * (time.monotonic() - began)
        if not newer:
            return False
        newest = min(newer, key=sort_key)
        if not self.wish.switch:
            self._remark(
                f"A newer session has begun here. Follow it with: {shell_quoting.session_command('follow', newest.id)}"
            )
            return False
        self._remark(f"Going over to {newest.id}.")
        self.file = newest
        self.begin()
        return True

    def _remark(self, text: str) -> None:
        if not self.wish.quiet:
            sys.stdout.flush()
            print_message(text)

    def _print(self, rows: Iterable[Row]) -> None:
        print_rows(rows if self.wish.reveal else mask_rows(rows), sys.stdout)

    def _print_json(self, items: Sequence[tuple[Stream, Item]]) -> None:
        for stream, item in items:
            for _ in stream.rows(item):  # which keeps the calls of the stream
                pass
            print_json(value if self.wish.reveal else mask_data(value)[0] for value in stream.json(item))
