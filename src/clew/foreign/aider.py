"""Read aider chats: `.aider.chat.history.md`, with times from `.aider.llm.history`.

The file contains many chats. Lines of the user begin with `####`, lines of the program with `>`, and replies of the
model are plain Markdown. Edits are part of the replies; aider has no tools.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from clew.foreign.conversation_steps import Conversation, StepRecorder
from clew.foreign.json_values import build_usage, parse_time
from clew.wire.json_codec import Json

TOOL = "aider"
NAME = ".aider.chat.history.md"
LLM = ".aider.llm.history"
_CHAT = "# aider chat started at "
_TYPED, _OUTPUT = "####", ">"
_CHAT_COMMAND = re.compile(r"/(?:ask|code|architect|chat|context)\s+(.+)", re.DOTALL)
_MODEL = re.compile(r"(?:Main m|M)odel: (\S+)")
_VERSION = re.compile(r"Aider v(\S+)")
_TOKENS = re.compile(r"Tokens: ([\d.,]+[kM]?) sent(.*?), ([\d.,]+[kM]?) received")
_CACHE = re.compile(r"([\d.,]+[kM]?) cache (write|hit)")
_RESPONSE = re.compile(r"^LLM RESPONSE (\S+)\n((?:ASSISTANT.*\n?)+)", re.MULTILINE)


def find(folder: Path) -> Iterator[Path]:
    yield from folder.glob(NAME)
    yield from folder.glob(f"*/{NAME}")


def fits(path: Path, head: Json) -> bool:
    if path.name == NAME:
        return True
    with path.open("rb") as file:
        return file.read(4096).lstrip().startswith(_CHAT.encode())


def read(path: Path) -> Iterator[Conversation]:
    times = _read_times(path.parent / LLM)
    lines = path.read_bytes().decode("utf-8", "replace").split("\n")
    begins = [index for index, line in enumerate(lines) if line.startswith(_CHAT)]
    if not begins and any(line.strip() for line in lines):
        begins = [0]
    for number, begin in enumerate(begins):
        end = begins[number + 1] if number + 1 < len(begins) else len(lines)
        yield _Chat(path, lines[begin:end], times).conversation()


class _Chat:
    """Reads one chat line by line."""

    def __init__(self, path: Path, lines: list[str], times: dict[str, datetime]) -> None:
        started = lines[0].removeprefix(_CHAT).strip() if lines[0].startswith(_CHAT) else ""
        self.path, self.times, self.started = path, times, started
        self.time = parse_time(started, local=True)
        self.version = ""
        self.scribe = StepRecorder()
        self.said: list[str] = []
        self.typed: list[str] = []
        self.told: list[str] = []
        is_code = False
        for line in lines[1:] if started else lines:
            if line.startswith("```") and not self.typed:
                is_code = not is_code
            if line.startswith("> Tokens: "):
                is_code = False
            self._take_line(line, is_code)
        self._flush()

    def conversation(self) -> Conversation:
        return Conversation(
            tool=TOOL,
            id=f"{self.path.resolve()}#{self.started}",
            path=str(self.path),
            steps=tuple(self.scribe.steps),
            version=self.version,
            cwd=str(self.path.resolve().parent),
            problems=tuple(self.scribe.problems),
        )

    def _take_line(self, line: str, is_code: bool) -> None:
        if not is_code and (line == _TYPED or line.startswith(f"{_TYPED} ")):
            if not self.typed:
                self._flush()
            self.typed.append(line[len(_TYPED) + 1 :].removesuffix("  "))
        elif not is_code and (line.rstrip() == _OUTPUT or line.startswith(f"{_OUTPUT} ")):
            self._take_output(line[2:].rstrip())
        elif line.strip() or self.said:
            self._end_prompt()
            self.said.append(line)
        elif self.typed and not line.strip():
            self._end_prompt()

    def _take_output(self, line: str) -> None:
        """Handle a line of the program. It may name the model or version, or the usage of the reply before it."""
        self._end_prompt()
        self._end_reply(_parse_usage(line))
        if match := _MODEL.match(line):
            self.scribe.model = match[1].rsplit("/", 1)[-1]
        if match := _VERSION.match(line):
            self.version = match[1]
        self.told.append(line)

    def _flush(self) -> None:
        self._end_prompt()
        self._end_reply({})
        self._end_output()

    def _end_output(self) -> None:
        if self.told:
            self.scribe.keep("aider", "\n".join(self.told), self.time)
        self.told = []

    def _end_prompt(self) -> None:
        prompt = "\n".join(self.typed).strip()
        self.typed = []
        if not prompt:
            return
        self._end_output()
        command = _CHAT_COMMAND.fullmatch(prompt)
        if command:
            self.scribe.prompt(command[1], self.time)
        elif prompt.startswith(("/", "!")):
            self.scribe.keep("command", prompt, self.time)
        else:
            self.scribe.prompt(prompt, self.time)

    def _end_reply(self, tokens: Json) -> None:
        reply_text = "\n".join(self.said).strip("\n")
        self.said = []
        if reply_text.strip():
            self._end_output()
            self.scribe.say(reply_text, self.times.get(reply_text.strip(), self.time))
            self.scribe.close(tokens)


def _parse_usage(line: str) -> Json:
    """Parse `Tokens: 2.4k sent, 1k cache hit, 21 received.`; the numbers are rounded by the program."""
    match = _TOKENS.match(line)
    if not match:
        return {}
    cache = {kind: _parse_count(amount) for amount, kind in _CACHE.findall(match[2])}
    read, written = cache.get("hit", 0), cache.get("write", 0)
    return build_usage(max(0, _parse_count(match[1]) - read - written), _parse_count(match[3]), read, written)


def _parse_count(amount: str) -> int:
    factor = {"k": 1_000, "M": 1_000_000}.get(amount[-1], 1)
    try:
        return int(float(amount.rstrip("kM").replace(",", "")) * factor)
    except ValueError:
        return 0


def _read_times(path: Path) -> dict[str, datetime]:
    """Return the time of each reply by its text; empty if the program did not record them."""
    if not path.is_file():
        return {}
    times: dict[str, datetime] = {}
    for match in _RESPONSE.finditer(path.read_bytes().decode("utf-8", "replace")):
        reply_text = "\n".join(line.removeprefix("ASSISTANT").removeprefix(" ") for line in match[2].split("\n"))
        if time := parse_time(match[1], local=True):
            times[reply_text.strip()] = time
    return times
