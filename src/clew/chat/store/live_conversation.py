"""The state of a running conversation, in memory and in its session file.

Every method that changes the messages also writes the lines, so that the next request sends exactly what a resume of
the file would send.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec import Struct

from clew.api.reasoning import Reasoning
from clew.api.request_body import drop_thinking, signatures
from clew.api.token_estimate import estimate_tokens
from clew.chat.config.model_alias import model_in_mode
from clew.chat.config.permission_mode import Mode
from clew.chat.config.repository import current_branch
from clew.chat.store import journal_lines
from clew.chat.store.file_snapshots import Backups, CallWatch
from clew.chat.store.journal import Journal
from clew.chat.store.pending_prompts import PromptQueue, UserPrompt
from clew.chat.store.result_records import ResultRecords
from clew.chat.tools.tool import CallResult, Content, ToolState
from clew.conversation.api_messages import join_blocks
from clew.models import is_same, window_of, without_suffix
from clew.system.environment import limit_window
from clew.wire.json_codec import Json

NO_CONTENT = "(no content)"
CAVEAT = (
    "<local-command-caveat>What follows comes from a command that the user ran in the program. It asks for no answer."
    "</local-command-caveat>"
)


class PendingCall(Struct, frozen=True):
    """A tool call of a reply, and the uuid of its line."""

    id: str
    name: str
    input: Json
    line: str
    unparsed: str = ""  # its input, if that is not JSON
    is_cut: bool = False  # the reply ended in the middle of it


@dataclass
class LiveConversation:
    """One conversation: the main one of a session, or that of a subagent."""

    journal: Journal
    state: ToolState
    choice: str  # full name of a model, or `opusplan`, whose model depends on the mode
    mode: Mode = "default"
    reasoning: Reasoning = field(default_factory=Reasoning)  # thinking and effort of the next requests
    mode_before: Mode = "default"  # the mode before plan mode
    backups: Backups | None = None
    watch: CallWatch | None = None
    parent: LiveConversation | None = None  # the conversation that started this subagent
    kind: str = ""  # of the subagent
    description: str = ""  # of the subagent's task
    messages: list[Json] = field(default_factory=list)
    known_tokens: int = 0  # tokens of the last request and its reply
    known_messages: int = 0  # number of messages that known_tokens covers
    largest_requests: dict[str, int] = field(default_factory=dict)  # by model: the most tokens of an answered request
    requested_model: str = ""  # the model of the last request
    thinking_models: dict[str, str] = field(default_factory=dict)  # by signature of a thinking block: its model
    last_prompt: str = ""
    prompt_id: str = ""  # of the newest prompt, for hooks and the status line
    last_usage: Json = field(default_factory=dict)
    replied_at: float = -math.inf  # when the last reply ended, by the monotonic clock
    hook_context: list[str] = field(default_factory=list)  # what hooks between turns said, for the next request
    calls_made: int = 0
    records: ResultRecords = field(default_factory=ResultRecords)
    is_over: bool = False  # the subagent has ended and gets no more reports
    watchers: set[asyncio.Task[None]] = field(default_factory=set)  # of the main conversation: wait for background work
    queue: PromptQueue = field(init=False)

    def __post_init__(self) -> None:
        self.queue = PromptQueue(self.journal, self.state)

    @property
    def session_id(self) -> str:
        return self.journal.envelope.session_id

    @property
    def root(self) -> LiveConversation:
        """The main conversation of the session; itself unless this is a subagent's."""
        return self.parent.root if self.parent else self

    @property
    def report_target(self) -> LiveConversation:
        """The conversation that gets reports of the tasks this one started: itself, or its parent once it is over."""
        return self.parent.report_target if self.is_over and self.parent else self

    @property
    def folder(self) -> Path:
        """The folder for the side files of the session."""
        path = self.journal.path
        return path.parent.parent if self.journal.is_agent else path.with_suffix("")

    @property
    def size(self) -> int:
        """The estimated size of the next request in tokens."""
        # The API reported known_tokens for the first known_messages messages; only what came later is estimated.
        # Example: 12 messages and a reported size of 40,000 after the 11th: 40,000 + an estimate of the 12th.
        return self.known_tokens + estimate_tokens(self.messages[self.known_messages :])

    @property
    def model(self) -> str:
        """The model of the next request in the current permission mode."""
        return model_in_mode(self.choice, self.mode)

    @property
    def window(self) -> int:
        """The context window of the model in tokens; an answered request proves that it is at least that large."""
        return limit_window(window_of(self.model, self.largest_requests.get(self.model, 0)))

    # -- user input

    def prompt(self, prompt: UserPrompt) -> str:
        """Write a prompt (or a task report) after a snapshot of the saved files. Return its uuid."""
        uuid = prompt.uuid or self.journal.new_id()
        if not prompt.task:
            self.last_prompt = prompt.text
        if self.backups is not None and not prompt.task:
            self.journal.beside(self.backups.at_prompt(uuid, self.journal.time()))
        body = (
            journal_lines.plain(prompt.content)
            if self.journal.is_agent
            else journal_lines.prompt(prompt.content, self.mode, self.state.todos)
        )
        self.journal.add(body, uuid=uuid, is_safe=True)
        self._append_user(prompt.content)
        for note in prompt.notes:
            self.note(note)
        return uuid

    def note(self, content: Content, call_id: str = "") -> str:
        """Write a text for the model that the user did not write. Return its uuid."""
        uuid = self.journal.add(journal_lines.note(content, call_id))
        self._append_user(content)
        return uuid

    def command(self, name: str, arguments: str, output: str) -> None:
        """Record a slash command that the user ran, and its output."""
        self.note(CAVEAT)
        for text in (
            f"<command-name>/{name}</command-name>\n<command-message>{name}</command-message>\n"
            f"<command-args>{arguments}</command-args>",
            f"<local-command-stdout>{output}</local-command-stdout>",
        ):
            self.journal.add(journal_lines.plain(text))
            self._append_user(text)

    def shell(self, command: str, output: str, error: str) -> None:
        """Record a shell command that the user ran, and its output."""
        self.note(CAVEAT)
        for text in (
            f"<bash-input>{command}</bash-input>",
            f"<bash-stdout>{output}</bash-stdout><bash-stderr>{error}</bash-stderr>",
        ):
            self.journal.add(journal_lines.plain(text))
            self._append_user(text)

    def interrupt(self, in_tool: bool) -> None:
        body = journal_lines.interrupted(in_tool)
        self.journal.add(body, is_safe=True)
        self._append_user(body["message"]["content"])

    def _append_user(self, content: Content) -> None:
        """Append content to the last user message, or start one."""
        # Roles must alternate: the results of calls, a note and a queued prompt are three lines in the file but one
        # user message in the request. System messages between them do not count.
        blocks = blocks_of(content)
        last = len(self.messages) - 1
        while last >= 0 and self.messages[last]["role"] == "system":
            last -= 1
        if last >= 0 and self.messages[last]["role"] == "user":
            before = self.messages[last]
            self.messages[last] = {**before, "content": join_blocks(before["content"], blocks)}
        elif blocks:
            self.messages.append({"role": "user", "content": blocks})

    # -- replies and results

    def load(self, messages: Sequence[Json], model: str) -> None:
        """Replace the messages by those of a file; its thinking blocks were written by `model`."""
        self.messages = list(messages)
        self.thinking_models |= dict.fromkeys(signatures(messages), model)

    def begin_request(self) -> tuple[str, list[Json]]:
        """Return the model and the messages of the next request, without thinking blocks of other models."""
        # The API rejects a thinking block that another model signed, for example after /model opus in a session that
        # sonnet began, or when opusplan leaves plan mode.
        self.requested_model = model = self.model
        foreign = frozenset(
            signature for signature, author in self.thinking_models.items() if not is_same(author, model)
        )
        return model, drop_thinking(self.messages, foreign) if foreign else self.messages

    def charged_model(self, answered: str) -> str:
        """Return the name under which the usage of a reply is counted: it keeps the `[1m]` of the request."""
        requested = self.requested_model
        is_long = without_suffix(requested)[1] and is_same(requested, answered)
        return requested if is_long or not answered else answered

    def take_hook_context(self) -> tuple[str, ...]:
        """Return what hooks between turns said for the model since the last call."""
        said, self.hook_context = tuple(self.hook_context), []
        return said

    def reply(self, blocks: Sequence[Json], usage: Mapping[str, Any]) -> None:
        """Append a reply whose lines are already written."""
        if not blocks:
            return
        if self.messages and self.messages[-1]["role"] == "assistant":  # continues after pause_turn
            before = self.messages.pop()
            blocks = [*before["content"], *blocks]
        self.messages.append({"role": "assistant", "content": list(blocks)})
        self.thinking_models |= dict.fromkeys(
            signatures(self.messages[-1:]) - {*self.thinking_models}, self.requested_model or self.model
        )
        self.last_usage = dict(usage)
        self.replied_at = time.monotonic()
        if size := sum(_number(usage.get(name)) for name in _USAGE_FIELDS):
            self.known_tokens, self.known_messages = size, len(self.messages)
            model = self.requested_model or self.model  # the choice or the mode may have changed since the request
            self.largest_requests[model] = max(size, self.largest_requests.get(model, 0))

    def result(self, call: PendingCall, result: CallResult) -> str:
        """Write the result of a call; `answer` adds it to the messages with the others of its reply."""
        self.calls_made += 1
        return self.journal.add(journal_lines.result(call.id, result, call.line, self.journal.is_agent), is_safe=True)

    def answer(self, calls: Sequence[PendingCall], results: Mapping[str, CallResult]) -> None:
        """Add the results of all calls of a reply to the messages, in the order of the calls, then the notes of the
        tools.
        """
        blocks = []
        for call in calls:
            result = results[call.id]
            content = result.content if isinstance(result.content, str) else list(result.content)
            block = {"type": "tool_result", "tool_use_id": call.id, "content": content}
            blocks.append({**block, "is_error": True} if result.is_error else block)
        self._append_user(blocks)
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

    def update_cwd(self) -> None:
        """Let later lines state the working directory that a shell command changed to."""
        if str(self.state.cwd) != self.journal.envelope.cwd:
            self.journal.move(str(self.state.cwd), current_branch(self.state.cwd))

    # -- end of a turn, compaction

    def end_turn(self, milliseconds: int) -> None:
        if self.journal.is_agent:
            return
        leaf = self.journal.add(journal_lines.turn_duration(milliseconds, len(self.messages)))
        self.journal.beside(journal_lines.last_prompt(self.last_prompt, leaf, self.session_id), is_safe=True)

    def restart(self, summary: str, title: str, trigger: str, tokens: int, usage: Json) -> str:
        """Replace the messages by a summary. Return the uuid of the boundary."""
        boundary = self.journal.add_compaction(
            journal_lines.boundary(self.journal.leaf, trigger, tokens, usage),
            journal_lines.summary(summary),
            lambda leaf: journal_lines.headline(_title_line(title), leaf),
            lambda leaf: journal_lines.last_prompt(
                self.last_prompt, leaf, self.session_id
            ),  # an older last-prompt line would hide the boundary
        )
        self.messages = [{"role": "user", "content": blocks_of(summary)}]
        self.known_tokens, self.known_messages = 0, 0
        return boundary


_USAGE_FIELDS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")


def blocks_of(content: Content) -> list[Json]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return list(content)


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _title_line(text: str) -> str:
    """Return the first 120 characters of a text on one line."""
    return " ".join(text.split())[:120]
