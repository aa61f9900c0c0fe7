"""A dialogue: a conversation that goes on, in memory and on disk.

Every method that changes what is sent writes it down as well, so the two cannot part: what a resume of the file would send
is what the next request sends.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from clew.api.request_body import drop_thinking, signatures
from clew.api.token_estimate import estimate_tokens
from clew.chat.config.model_alias import in_mode
from clew.chat.config.repository import branch_of
from clew.chat.permission.decision import Mode
from clew.chat.rewind.watch_files import FileWatch
from clew.chat.store import journal_lines
from clew.chat.store.file_snapshots import Backups
from clew.chat.store.journal import Journal
from clew.chat.tools.tool import CallResult, Content, ToolState
from clew.conversation.api_messages import join_blocks
from clew.models import is_same, window_of
from clew.wire.json_codec import Json, encode
from clew.wire.session_writer import replace

NO_CONTENT = "(no content)"
CAVEAT = (
    "<local-command-caveat>What follows comes from a command that the user ran in the program. It asks for no answer."
    "</local-command-caveat>"
)


class UserPrompt(Struct, frozen=True):
    """What a person says: the words, and texts that the program puts below them for the model alone."""

    content: Content
    notes: tuple[Content, ...] = ()
    task: str = ""  # no person says it: it tells that this task in the background has ended

    @property
    def text(self) -> str:
        return text_of(self.content)


class PendingCall(Struct, frozen=True):
    """A call of a reply, and the line that it stands on."""

    id: str
    name: str
    input: Json
    line: str
    unparsed: str = ""  # its input, if that is no JSON
    is_cut: bool = False  # the reply ended in the middle of it


class LiveConversation(Struct):
    """One conversation: the session itself, or an agent's."""

    journal: Journal
    state: ToolState
    choice: str  # of a model: its full name, or `opusplan`, whose model depends on the mode
    mode: Mode = "default"
    mode_before: Mode = "default"  # the mode in which planning began
    backups: Backups | None = None
    watch: FileWatch | None = None
    parent: LiveConversation | None = None  # whose agent this is
    kind: str = ""  # of agent
    description: str = ""  # of the agent's task
    messages: list[Json] = field(default_factory=list)
    queue: deque[UserPrompt] = field(default_factory=deque)
    reported: int = 0  # tokens of the last request and its reply
    weighed: int = 0  # messages that these tokens stand for
    largest: dict[str, int] = field(default_factory=dict)  # by model: the most tokens of a request that was answered
    asked: str = ""  # the model of the last request
    thinkers: dict[str, str] = field(default_factory=dict)  # by the signature of thinking: the model that wrote it
    last_prompt: str = ""
    last_usage: Json = field(default_factory=dict)
    calls_made: int = 0
    linked: set[str] = field(default_factory=set)  # pull requests that the file names
    lists: Path | None = None  # of the session: the folder for lists of what is to be done
    is_over: bool = False  # an agent that has ended, and is told nothing any more
    watchers: set[asyncio.Task[None]] = field(default_factory=set)  # of the session: of what runs in the background
    heard: Callable[[], None] = lambda: None  # called when something in the background has ended

    @property
    def session_id(self) -> str:
        return self.journal.envelope.session_id

    @property
    def root(self) -> LiveConversation:
        """The session itself, of which this may be an agent."""
        return self.parent.root if self.parent else self

    @property
    def listener(self) -> LiveConversation:
        """Who is told of what this conversation began: itself, or once it is over, whoever sent it."""
        return self.parent.listener if self.is_over and self.parent else self

    @property
    def folder(self) -> Path:
        """The folder for what belongs to the session."""
        path = self.journal.path
        return path.parent.parent if self.journal.is_agent else path.with_suffix("")

    @property
    def size(self) -> int:
        """About how many tokens the next request has."""
        return self.reported + estimate_tokens(self.messages[self.weighed :])

    @property
    def model(self) -> str:
        """The model that is asked in the current mode."""
        return in_mode(self.choice, self.mode)

    @property
    def window(self) -> int:
        """The window of the model; a request that was answered shows that it is at least that large."""
        return window_of(self.model, self.largest.get(self.model, 0))

    # -- what the person says

    def prompt(self, said: UserPrompt) -> str:
        """A prompt, behind the state of the files; its uuid. What ended in the background is told in the same way."""
        uuid = self.journal.new_id()
        if not said.task:
            self.last_prompt = said.text
        if self.backups is not None and not said.task:
            self.journal.beside(self.backups.at_prompt(uuid, self.journal.time()))
        body = (
            journal_lines.plain(said.content)
            if self.journal.is_agent
            else journal_lines.prompt(said.content, self.mode, self.state.todos)
        )
        self.journal.add(body, uuid=uuid, is_safe=True)
        self._hear(said.content)
        for note in said.notes:
            self.note(note)
        return uuid

    def note(self, content: Content, call_id: str = "") -> str:
        """A text for the model that no person wrote."""
        uuid = self.journal.add(journal_lines.note(content, call_id))
        self._hear(content)
        return uuid

    def command(self, name: str, arguments: str, output: str) -> None:
        """A command that the person ran in the program, and what it printed."""
        self.note(CAVEAT)
        for text in (
            f"<command-name>/{name}</command-name>\n<command-message>{name}</command-message>\n"
            f"<command-args>{arguments}</command-args>",
            f"<local-command-stdout>{output}</local-command-stdout>",
        ):
            self.journal.add(journal_lines.plain(text))
            self._hear(text)

    def shell(self, command: str, output: str, error: str) -> None:
        """A shell command that the person ran, and what it said."""
        self.note(CAVEAT)
        for text in (
            f"<bash-input>{command}</bash-input>",
            f"<bash-stdout>{output}</bash-stdout><bash-stderr>{error}</bash-stderr>",
        ):
            self.journal.add(journal_lines.plain(text))
            self._hear(text)

    def enqueue(self, said: UserPrompt) -> None:
        """A prompt that waits until the model can hear it."""
        self.queue.append(said)
        self._queue_line("enqueue", said.content)

    def notify(self, said: UserPrompt) -> None:
        """Something has ended in the background: it is told as soon as the model can hear it."""
        try:
            self.enqueue(said)
        finally:
            self.heard()

    def something_waits(self) -> bool:
        """Whether something waits to be said. What the model knows by now is taken back."""
        for said in [said for said in self.queue if said.task in self.state.told]:
            self.queue.remove(said)
            self._queue_line("remove", said.content)
        return bool(self.queue)

    def endings(self) -> list[UserPrompt]:
        """Take out of the queue what has ended in the background, before a person's words are said."""
        self.something_waits()
        taken = [said for said in self.queue if said.task]
        for said in taken:
            self.queue.remove(said)
            self._queue_line("dequeue")
        return taken

    def dequeue(self) -> UserPrompt:
        said = self.queue.popleft()
        self._queue_line("dequeue")
        return said

    def unqueue(self) -> list[UserPrompt]:
        """Take back what a person said that still waits: it is not said."""
        taken = [said for said in self.queue if not said.task]
        for said in taken:
            self.queue.remove(said)
            self._queue_line("remove", said.content)
        return taken

    def _queue_line(self, operation: str, content: Content | None = None) -> None:
        if not self.journal.is_agent:
            self.journal.beside(journal_lines.queued(operation, self.session_id, self.journal.time(), content))

    def interrupt(self, in_tool: bool) -> None:
        body = journal_lines.interrupted(in_tool)
        self.journal.add(body, is_safe=True)
        self._hear(body["message"]["content"])

    def _hear(self, content: Content) -> None:
        blocks = blocks_of(content)
        at = len(self.messages) - 1
        while at >= 0 and self.messages[at]["role"] == "system":
            at -= 1
        if at >= 0 and self.messages[at]["role"] == "user":
            before = self.messages[at]
            self.messages[at] = {**before, "content": join_blocks(before["content"], blocks)}
        elif blocks:
            self.messages.append({"role": "user", "content": blocks})

    # -- what the model and its tools say

    def load(self, messages: Sequence[Json], model: str) -> None:
        """Replace the messages by those of a file, whose thinking this model wrote."""
        self.messages = list(messages)
        self.thinkers |= dict.fromkeys(signatures(messages), model)

    def begin_request(self) -> tuple[str, list[Json]]:
        """The model of the next request and its messages: a model gets its own thinking and not that of another."""
        self.asked = model = self.model
        foreign = frozenset(each for each, writer in self.thinkers.items() if not is_same(writer, model))
        return model, drop_thinking(self.messages, foreign) if foreign else self.messages

    def reply(self, blocks: Sequence[Json], usage: Mapping[str, Any]) -> None:
        """What the model said; its lines are written already."""
        if not blocks:
            return
        if self.messages and self.messages[-1]["role"] == "assistant":  # it went on after a pause
            before = self.messages.pop()
            blocks = [*before["content"], *blocks]
        self.messages.append({"role": "assistant", "content": list(blocks)})
        self.thinkers |= dict.fromkeys(signatures(self.messages[-1:]) - {*self.thinkers}, self.asked or self.model)
        self.last_usage = dict(usage)
        if counted := sum(_number(usage.get(name)) for name in _COUNTED):
            self.reported, self.weighed = counted, len(self.messages)
            model = self.asked or self.model  # the choice or the mode may have changed since the request
            self.largest[model] = max(counted, self.largest.get(model, 0))

    def result(self, call: PendingCall, found: CallResult) -> str:
        """Write down what came of a call; it is sent with the others of its reply, by `answer`."""
        self.calls_made += 1
        return self.journal.add(journal_lines.result(call.id, found, call.line, self.journal.is_agent), is_safe=True)

    def answer(self, calls: Sequence[PendingCall], results: Mapping[str, CallResult]) -> None:
        """The results of all calls of a reply, in the order of the calls, then what the tools add."""
        blocks = []
        for call in calls:
            found = results[call.id]
            content = found.content if isinstance(found.content, str) else list(found.content)
            block = {"type": "tool_result", "tool_use_id": call.id, "content": content}
            blocks.append({**block, "is_error": True} if found.is_error else block)
        self._hear(blocks)
        for call in calls:
            for note in results[call.id].notes:
                self.note(note, call.id)

    def before_change(self, path: Path, line: str) -> None:
        """Save a file before a call changes it."""
        if self.parent is not None:
            self.parent.before_change(path, line)
        elif self.backups is not None:
            if self.watch is not None:
                self.watch.before_change(path, line)
            update = self.backups.before_change(path, line, self.journal.time())
            if update is not None:
                self.journal.beside(update)

    def follow(self) -> None:
        """A shell may have moved: the lines say where it is now."""
        if str(self.state.cwd) != self.journal.envelope.cwd:
            self.journal.move(str(self.state.cwd), branch_of(self.state.cwd))

    def link(self, found: CallResult) -> None:
        """Name the pull request that a call made."""
        for made in _PULL_REQUEST.finditer(text_of(found.content)):
            if made[0] not in self.linked and not self.journal.is_agent:
                self.linked.add(made[0])
                time = self.journal.time()
                self.journal.beside(journal_lines.pull_request(int(made[2]), made[0], made[1], self.session_id, time))

    def keep_list(self, found: CallResult) -> None:
        """Keep the list of what is to be done in a file of its own, as older versions look for it; done, it is empty."""
        folder = self.root.lists
        if folder is None or not isinstance(found.detail, dict) or "newTodos" not in found.detail:
            return
        left = self.state.todos if any(todo.get("status") != "completed" for todo in self.state.todos) else []
        whose = self.journal.envelope.agent_id or self.session_id
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace(folder / f"{self.session_id}-agent-{whose}.json", encode(left))

    # -- the ends of turns

    def end_turn(self, milliseconds: int) -> None:
        if self.journal.is_agent:
            return
        leaf = self.journal.add(journal_lines.turn_duration(milliseconds, len(self.messages)))
        self.journal.beside(journal_lines.last_prompt(self.last_prompt, leaf, self.session_id), is_safe=True)

    def restart(self, summary: str, title: str, trigger: str, tokens: int, usage: Json) -> str:
        """From here on the summary is sent and what comes after it. The uuid of the boundary."""
        boundary = self.journal.add_cut(
            journal_lines.boundary(self.journal.leaf, trigger, tokens, usage),
            journal_lines.summary(summary),
            lambda leaf: journal_lines.headline(_line(title), leaf),
            lambda leaf: journal_lines.last_prompt(
                self.last_prompt, leaf, self.session_id
            ),  # an older pin would hide the cut
        )
        self.messages = [{"role": "user", "content": blocks_of(summary)}]
        self.reported, self.weighed = 0, 0
        return boundary


_PULL_REQUEST = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+)/pull/(\d+)")
_COUNTED = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")


def blocks_of(content: Content) -> list[Json]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return list(content)


def text_of(content: Content) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(b["text"]) for b in content if b.get("type") == "text" and "text" in b)


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _line(text: str) -> str:
    """The first words of a text, for a title."""
    return " ".join(text.split())[:120]
