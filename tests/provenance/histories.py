"""Generate repositories with a known history: sessions, agents, people and formatters change files in turn.

The owner of each line is tracked twice. `author` follows the lines themselves: whoever puts a line there owns it.
`differ` compares each state with the next, as difflib does. The two differ where equal lines could have moved.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from difflib import SequenceMatcher
from pathlib import Path
from random import Random
from typing import Any

from msgspec import structs

from clew.demo.talk import ABSENT, DENSE, START, Talk, ToolInput, talk, task, tool

COMMON = ("", "", "", "    }", "}", "    return result", "    else:", "        pass", "    try:", "#", "import os")
FORMS = (
    "    {a} = compute_{b}({c})",
    "def {a}_{b}({c}):",
    "    # {a} {b} {c}",
    "    if {a}.{b} > {c}:",
    '    log("{a} {b} {c}")',
)


@dataclass
class OwnedLine:
    """A line with its owners; None for what no session wrote."""

    text: str
    author: str | None = None
    differ: str | None = None


@dataclass
class History:
    """One project on the disk, and the sessions that changed it. `files` are the lines of each file now."""

    root: Path
    random: Random
    records: float = 0.7  # share of agents' calls whose record is stored
    files: dict[str, list[OwnedLine]] = field(default_factory=dict)
    ends: dict[str, str] = field(default_factory=dict)  # the line end of each file
    sessions: list[Talk] = field(default_factory=list)
    moved: bool = False
    clock: Any = START
    count: int = 0

    def __post_init__(self) -> None:
        self.folder = self.root / "project"
        self.folder.mkdir(parents=True)

    @property
    def claude(self) -> Path:
        return self.root / "claude"

    # -- what the actors write

    def words(self) -> str:
        return "".join(self.random.choice("bcdfghklmnprst") + self.random.choice("aeiou") for _ in range(3))

    def new_lines(self, most: int = 8) -> list[str]:
        return [
            self.random.choice(COMMON)
            if self.random.random() < 0.25
            else self.random.choice(FORMS).format(a=self.words(), b=self.words(), c=self.words())
            for _ in range(self.random.randint(1, most))
        ]

    def change(self, name: str, lines: list[OwnedLine], owner: str | None) -> None:
        """Give a file new lines: those without a position in the old ones belong to the owner."""
        old = self.files.get(name, [])
        matcher = SequenceMatcher(None, [x.text for x in old], [x.text for x in lines], autojunk=False)
        for tag, i, _, k, m in matcher.get_opcodes():
            for offset, line in enumerate(lines[k:m]):
                line.differ = old[i + offset].differ if tag == "equal" else owner
        self.files[name] = lines

    def save(self) -> None:
        for name, lines in self.files.items():
            end = self.ends.get(name, "\n")
            (self.folder / name).parent.mkdir(exist_ok=True)
            (self.folder / name).write_bytes("".join(line.text + end for line in lines).encode())

    def text(self, name: str) -> str:
        return "".join(line.text + "\n" for line in self.files[name])

    # -- people and programs

    def person(self) -> None:
        """Insert, delete, replace or re-indent lines without a record."""
        if not self.files:
            name = "src/old.py"
            self.change(name, [OwnedLine(text) for text in self.new_lines(30)], None)
            return
        name = self.random.choice(list(self.files))
        lines = [replace(line) for line in self.files[name]]
        at = self.random.randint(0, len(lines))
        match self.random.randrange(5):
            case 0:
                lines[at:at] = [OwnedLine(text) for text in self.new_lines()]
            case 1:
                del lines[at : at + self.random.randint(1, 4)]
            case 2:
                lines[at : at + 3] = self.trim(lines[at : at + 3], self.new_lines(4), None)
            case 3:
                lines = [OwnedLine("  " + x.text) if x.text and self.random.random() < 0.2 else x for x in lines]
            case _:
                self.ends[name] = self.random.choice(["\n", "\r\n"])
        self.change(name, lines, None)

    def trim(self, old: list[OwnedLine], texts: list[str], owner: str | None) -> list[OwnedLine]:
        """Replace lines by texts; equal lines at both ends, and equal lines between them, stay what they are."""
        matcher = SequenceMatcher(None, [x.text for x in old], texts, autojunk=False)
        new = [OwnedLine(text, owner) for text in texts]
        for block in matcher.get_matching_blocks():
            for offset in range(block.size):
                new[block.b + offset] = replace(old[block.a + offset])
        return new

    # -- sessions

    def session(self) -> None:
        """Let a session, new or continued, answer some prompts."""
        self.clock += timedelta(minutes=5)
        is_new = not self.sessions or self.random.random() < 0.6
        number = len(self.sessions)
        chat = talk(cwd=str(self.folder), seed=f"history {number}", start=self.clock, step=DENSE) if is_new else None
        place = number if chat else self.random.randrange(number)
        chat = chat or self.sessions[place].pause(seconds=(self.clock - self.sessions[place].now).total_seconds())
        for _ in range(self.random.randint(1, 3)):
            self.count += 1
            chat = chat.user(f"prompt {self.count}")
            chat = self.by_agent(chat) if self.random.random() < 0.3 else self.work(chat, True)
            chat = chat.reply("done")
        self.clock = chat.now
        self.sessions[place : place + 1] = [chat]

    def by_agent(self, chat: Talk) -> Talk:
        asked = f"subtask {self.count}"
        chat = chat.reply(call=task(asked, asked))
        child = self.work(talk(cwd=str(self.folder), seed=asked, step=DENSE).user(asked), False)
        return chat.agent(None, child.reply("finished"))

    def work(self, chat: Talk, is_recorded: bool) -> Talk:
        seen: set[str] = set()
        for _ in range(self.random.randint(1, 3)):
            self.count += 1
            key = f"key{self.count}"
            if self.random.random() < 0.1 and self.files:
                failed = tool(
                    "Edit", file_path=str(self.folder / self.any_file()), old_string="x", new_string="y", key=key
                )
                chat = chat.reply(call=failed).result("not found", error=True)
                continue
            name = self.any_file() if self.files and self.random.random() < 0.88 else ""
            if name and not is_recorded and name not in seen:
                seen.add(name)
                numbered = "\n".join(f"{i:6d}→{x}" for i, x in enumerate(self.text(name).split("\n"), 1))
                chat = structs.replace(chat, files={})
                chat = chat.reply(call=tool("Read", file_path=str(self.folder / name))).result(numbered)
            call, detail = self.change_by_call(name, key)
            kept = is_recorded or self.random.random() < self.records
            chat = structs.replace(chat, files={})  # others change the files too
            chat = chat.reply(call=call).result(self.message(detail), detail=detail if kept else ABSENT)
        return chat

    @staticmethod
    def message(detail: dict[str, Any]) -> str:
        path = detail["filePath"]
        return (
            f"File created successfully at: {path}" if detail.get("type") == "create" else f"{path} has been updated."
        )

    def any_file(self) -> str:
        return self.random.choice(list(self.files))

    def change_by_call(self, name: str, key: str) -> tuple[ToolInput, dict[str, Any]]:
        """Change a file as a tool does, or write a new one; return the call and its record."""
        if not name:
            return self.write(f"src/file{self.count}.py", [OwnedLine(text, key) for text in self.new_lines(40)], key)
        lines = [replace(line) for line in self.files[name]]
        choice = self.random.random()
        if choice < 0.1:
            texts = [line.text if self.random.random() < 0.8 else self.new_lines(1)[0] for line in lines]
            pairs = zip(lines, texts, strict=True)
            return self.write(name, [x if x.text == text else OwnedLine(text, key) for x, text in pairs], key)
        if choice < 0.2 and (token := self.token(name)):
            return self.replace_all(name, token, key)
        at = self.random.randint(0, len(lines))
        size = self.random.choice([0, 0, 1, 3, 6])
        texts = [] if size > 1 and self.random.random() < 0.2 else self.new_lines(10)
        return self.edit(name, (at, min(len(lines), at + size)), texts, key)

    def write(self, name: str, lines: list[OwnedLine], key: str) -> tuple[ToolInput, dict[str, Any]]:
        before = self.text(name) if name in self.files else None
        self.change(name, lines, key)
        path, content = str(self.folder / name), self.text(name)
        detail = {
            "type": "update" if before else "create",
            "filePath": path,
            "content": content,
            "originalFile": before,
        }
        return tool("Write", file_path=path, content=content, key=key), detail

    def token(self, name: str) -> str:
        words = [
            word for line in self.files[name] for word in line.text.split() if len(word) > 9 and word.isidentifier()
        ]
        return self.random.choice(words) if words else ""

    def replace_all(self, name: str, token: str, key: str) -> tuple[ToolInput, dict[str, Any]]:
        new = self.words() + self.words()
        lines = [
            OwnedLine(x.text.replace(token, new), key) if token in x.text else replace(x) for x in self.files[name]
        ]
        return self.record(name, lines, [(token, new, True)], key)

    def edit(self, name: str, span: tuple[int, int], texts: list[str], key: str) -> tuple[ToolInput, dict[str, Any]]:
        """Replace the lines of a span, with as many lines around them as make the old text unique."""
        lines = self.files[name]
        first, last = span
        whole = self.text(name)
        start, stop = first, last
        while start == stop or whole.count("".join(x.text + "\n" for x in lines[start:stop])) != 1:
            if start == 0 and stop == len(lines):
                return self.write(name, [OwnedLine(text, key) for text in texts or ["nothing_is_left = True"]], key)
            start, stop = max(0, start - 1), min(len(lines), stop + self.random.randint(0, 1))
        changed = [*map(replace, lines[:first]), *self.trim(lines[first:last], texts, key), *map(replace, lines[last:])]
        old = "".join(x.text + "\n" for x in lines[start:stop])
        kept = (x.text for x in (*lines[start:first], *(OwnedLine(t) for t in texts), *lines[last:stop]))
        new = "".join(text + "\n" for text in kept)
        is_blank = old.endswith("\n\n") or new.endswith("\n\n")
        if new and not is_blank and self.random.random() < 0.5:  # models often leave out the last line end
            old, new = old.removesuffix("\n"), new.removesuffix("\n")
        if whole.count(old) != 1 or old == new:
            return self.write(name, changed, key)
        return self.record(name, changed, [(old, new, False)], key)

    def record(
        self, name: str, lines: list[OwnedLine], edits: list[tuple[str, str, bool]], key: str
    ) -> tuple[ToolInput, dict[str, Any]]:
        path, before = str(self.folder / name), self.text(name)
        self.change(name, lines, key)
        [(old, new, everywhere)] = edits
        detail = {"filePath": path, "originalFile": before, "userModified": False}
        inputs = {"old_string": old, "new_string": new, "replace_all": everywhere}
        if self.random.random() < 0.2:
            return tool("MultiEdit", file_path=path, edits=[inputs], key=key), detail | {"edits": [inputs]}
        detail |= {"oldString": old, "newString": new, "replaceAll": everywhere}
        return tool("Edit", file_path=path, **inputs, key=key), detail

    # -- the whole

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self.random.choice([self.session, self.session, self.person])()
            if self.random.random() < 0.05:
                self.save()
                self.folder = self.folder.rename(self.root / f"project{self.count}")
                self.moved = True
        self.save()
        for chat in self.sessions:
            chat.write(self.claude)
        if self.sessions and self.random.random() < 0.4:  # a copy repeats the calls of its original
            self.random.choice(self.sessions).fork().write(self.claude)


def generate(root: Path, seed: int | str, steps: int = 12, records: float = 0.7) -> History:
    history = History(root, Random(f"history {seed}"), records)
    history.run(steps)
    return history


@dataclass
class Score:
    """How many lines that sessions wrote were placed right, wrong or not at all, by both ways to track them."""

    right: int = 0
    wrong: int = 0
    unknown: int = 0
    plain: int = 0  # of the unknown ones, those that are blank or have hardly a letter
    wrong_by_difference: int = 0
    invented: int = 0  # lines that no session wrote, given to one
    examples: list[Any] = field(default_factory=list)

    @property
    def share(self) -> float:
        return self.right / max(1, self.right + self.wrong + self.unknown)


def judge(history: History, score: Score) -> None:
    """Ask `clew.blame` about every file of a history."""
    from clew import blame

    for name, owned in history.files.items():
        found = blame(history.folder / name, claude=history.claude, git=False)
        assert [line.text for line in found.lines] == [line.text for line in owned]
        for line, truth in zip(found.lines, owned, strict=True):
            claim = line.change.call.input["key"] if line.change else None
            if claim is None:
                score.unknown += truth.author is not None
                score.plain += truth.author is not None and sum(map(str.isalnum, line.text)) < 10
                continue
            score.right += claim == truth.author
            score.wrong += claim != truth.author
            score.invented += truth.author is None
            score.wrong_by_difference += claim != truth.differ
            if not claim == truth.author == truth.differ:
                score.examples.append((name, line.number, line.text, claim, truth, line.evidence))
