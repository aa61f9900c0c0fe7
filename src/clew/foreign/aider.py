"""aider: `.aider.chat.history.md`, one file with many chats, and beside it `.aider.llm.history` with the time of each reply.

What a person typed stands behind `####`, what the program said behind `>`, and the model's words as they are. Edits are
part of those words; aider knows no tools.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from clew.foreign.conversation_steps import Conversation, Scribe
from clew.foreign.json_values import time_of, usage
from clew.wire.json_codec import Json

TOOL = "aider"
NAME = ".aider.chat.history.md"
LLM = ".aider.llm.history"
_CHAT = "# aider chat started at "
_TYPED, _TOLD = "####", ">"
_ASKING = re.compile(r"/(?:ask|code|architect|chat|context)\s+(.+)", re.DOTALL)
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
    times = _times(path.parent / LLM)
    lines = path.read_bytes().decode("utf-8", "replace").split("\n")
    begins = [index for index, line in enumerate(lines) if line.startswith(_CHAT)]
    if not begins and any(line.strip() for line in lines):
        begins = [0]
    for number, begin in enumerate(begins):
        end = begins[number + 1] if number + 1 < len(begins) else len(lines)
        yield _Chat(path, lines[begin:end], times).conversation()


class _Chat:
    """One chat as it is read, line by line."""

    def __init__(self, path: Path, lines: list[str], times: dict[str, datetime]) -> None:
        started = lines[0].removeprefix(_CHAT).strip() if lines[0].startswith(_CHAT) else ""
        self.path, self.times, self.started = path, times, started
        self.time = time_of(started, local=True)
        self.version = ""
        self.scribe = Scribe()
        self.said: list[str] = []
        self.typed: list[str] = []
        self.told: list[str] = []
        is_code = False
        for line in lines[1:] if started else lines:
            if line.startswith("```") and not self.typed:
                is_code = not is_code
            if line.startswith("> Tokens: "):
                is_code = False
            self._take(line, is_code)
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

    def _take(self, line: str, is_code: bool) -> None:
        if not is_code and (line == _TYPED or line.startswith(f"{_TYPED} ")):
            if not self.typed:
                self._flush()
            self.typed.append(line[len(_TYPED) + 1 :].removesuffix("  "))
        elif not is_code and (line.rstrip() == _TOLD or line.startswith(f"{_TOLD} ")):
            self._tell(line[2:].rstrip())
        elif line.strip() or self.said:
            self._ask()
            self.said.append(line)
        elif self.typed and not line.strip():
            self._ask()

    def _tell(self, line: str) -> None:
        """A line of the program. It may name the model or the version, or say what the reply before it took."""
        self._ask()
        self._reply(_spent(line))
        if found := _MODEL.match(line):
            self.scribe.model = found[1].rsplit("/", 1)[-1]
        if found := _VERSION.match(line):
            self.version = found[1]
        self.told.append(line)

    def _flush(self) -> None:
        self._ask()
        self._reply({})
        self._note()

    def _note(self) -> None:
        if self.told:
            self.scribe.keep("aider", "\n".join(self.told), self.time)
        self.told = []

    def _ask(self) -> None:
        words = "\n".join(self.typed).strip()
        self.typed = []
        if not words:
            return
        self._note()
        command = _ASKING.fullmatch(words)
        if command:
            self.scribe.prompt(command[1], self.time)
        elif words.startswith(("/", "!")):
            self.scribe.keep("command", words, self.time)
        else:
            self.scribe.prompt(words, self.time)

    def _reply(self, spent: Json) -> None:
        words = "\n".join(self.said).strip("\n")
        self.said = []
        if words.strip():
            self._note()
            self.scribe.say(words, self.times.get(words.strip(), self.time))
            self.scribe.close(spent)


def _spent(line: str) -> Json:
    """`Tokens: 2.4k sent, 1k cache hit, 21 received.`, rounded as the program rounds."""
    found = _TOKENS.match(line)
    if not found:
        return {}
    cache = {kind: _count(amount) for amount, kind in _CACHE.findall(found[2])}
    read, written = cache.get("hit", 0), cache.get("write", 0)
    return usage(max(0, _count(found[1]) - read - written), _count(found[3]), read, written)


def _count(amount: str) -> int:
    factor = {"k": 1_000, "M": 1_000_000}.get(amount[-1], 1)
    try:
        return int(float(amount.rstrip("kM").replace(",", "")) * factor)
    except ValueError:
        return 0


def _times(path: Path) -> dict[str, datetime]:
    """When each reply came, by its words; nothing if the program was not asked to keep that."""
    if not path.is_file():
        return {}
    found: dict[str, datetime] = {}
    for match in _RESPONSE.finditer(path.read_bytes().decode("utf-8", "replace")):
        words = "\n".join(line.removeprefix("ASSISTANT").removeprefix(" ") for line in match[2].split("\n"))
        if time := time_of(match[1], local=True):
            found[words.strip()] = time
    return found
