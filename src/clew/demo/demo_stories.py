"""Build the sessions of the demo tree from `stories/`: one TOML file for each session, a list of steps.

A step names a method of `Talk` and its arguments, or one of the functions in `_STEPS`:

    [[steps]]
    do = "reply"
    text = "Where is a move finished?"
    calls = [{tool = "Bash", input = {command = "rg -n OnMove src", description = "Find moves"}}]

Texts may contain `{session}` (the session id), `{use:0}` (the id of the first call of the last reply), `{text:NAME}` or
`{text:NAME:2000}` (a text of the table `texts`, or its first characters), `{row:0}` (in a `repeat` step: a column of the
row), and `{+}` (nothing: it splits made-up credentials, so that scanners of this repository do not report them).
"""

from __future__ import annotations

import re
import tomllib
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from clew.demo import identifiers
from clew.demo.line_script import NewestLines, encode_line
from clew.demo.talk import Talk, talk
from clew.demo.tool_inputs import ToolInput
from clew.wire.json_codec import Json

_FOLDER = Path(__file__).parent / "stories"
_PLACEHOLDER = re.compile(r"\{(session|\+|(?:use|row|text):[\w:]+)\}")


class Story(Struct, frozen=True):
    """One session of the demo: its key, how long before now it began, and its file."""

    key: str
    ago: timedelta
    data: Json

    def build(self, begin: datetime) -> Talk:
        """Return the session as if it had begun at this time."""
        settings = {key: self.data[key] for key in self.data if key not in ("hours_ago", "session", "steps", "texts")}
        empty = talk(session_id(self.data["session"]), start=begin, **settings)
        return _StoryBuilder(self.data.get("texts", {})).run(empty, self.data["steps"])


def load_stories() -> list[Story]:
    """Return the stories of the demo, oldest first."""
    files = ((path.stem, tomllib.loads(path.read_text(encoding="utf-8"))) for path in _FOLDER.glob("*.toml"))
    stories = [Story(key, timedelta(hours=data["hours_ago"]), data) for key, data in files]
    return sorted(stories, key=lambda story: (-story.ago, story.key))


def session_id(key: str) -> str:
    """Return the id of a demo session: the same in every tree."""
    return identifiers.uuid("demo", key)


class _StoryBuilder(Struct):
    """Executes the steps of one story. `fragments` are lines of which other steps write a part."""

    texts: Mapping[str, str]
    fragments: dict[str, bytes] = field(default_factory=dict)

    def run(self, talk: Talk, steps: Sequence[Json], row: Sequence[str] = ()) -> Talk:
        for step in steps:
            arguments = dict(step)
            name = arguments.pop("do")
            if name not in ("repeat", "fragment", "agent", "workflow"):  # their own steps are filled in later
                arguments = self._fill(arguments, talk, row)
            special = _STEPS.get(name)
            talk = special(self, talk, **arguments) if special else getattr(talk, name)(**arguments)
        return talk

    def child(self, data: Json) -> Talk:
        """Return the conversation of a sub-agent."""
        return self.run(talk(**{key: data[key] for key in data if key != "steps"}), data["steps"])

    def _fill(self, value: Any, talk: Talk, row: Sequence[str]) -> Any:
        """Return a value with all placeholders replaced."""
        if isinstance(value, str):
            return _PLACEHOLDER.sub(lambda match: self._value(match[1], talk, row), value)
        if isinstance(value, list):
            return [self._fill(item, talk, row) for item in value]
        if isinstance(value, dict):
            return {key: self._fill(item, talk, row) for key, item in value.items()}
        return value

    def _value(self, placeholder: str, talk: Talk, row: Sequence[str]) -> str:
        match placeholder.split(":"):
            case ["session"]:
                return talk.session_id
            case ["use", index]:
                return talk.uses[int(index)].id
            case ["row", index]:
                return row[int(index)]
            case ["text", name, *length]:
                return self.texts[name][: int(length[0]) if length else None]
        return ""


# -- steps that are not methods of Talk, and those whose arguments TOML cannot express


def _ask(_: _StoryBuilder, talk: Talk, tracked: Mapping[str, str] | None = None, **arguments: Any) -> Talk:
    """Add a prompt, with a snapshot of the tracked files before it."""
    if talk.setup.since("2.0.5"):
        talk = talk.snapshot(tracked)
    images = [b64decode(image) for image in arguments.pop("images", ())]
    return talk.user(arguments.pop("text"), images=images, **arguments)


def _close(_: _StoryBuilder, talk: Talk, **gap: float) -> Talk:
    """End a turn with the lines that the version writes there; then wait, if a pause is given."""
    if talk.setup.since("2.1.1"):
        talk = talk.turn_duration()
    if talk.setup.since("2.1.77"):
        talk = talk.last_prompt()
    return talk.pause(**gap) if gap else talk


def _reply(_: _StoryBuilder, talk: Talk, calls: Sequence[Json] = (), **arguments: Any) -> Talk:
    return talk.reply(calls=map(_tool_input, calls), **arguments)


def _tool_input(call: Json) -> ToolInput:
    image = b64decode(call["image"]) if "image" in call else None
    return ToolInput(call["tool"], call["input"], call.get("id"), call.get("text"), image)


def _agent(builder: _StoryBuilder, talk: Talk, call: int, child: Json, **arguments: Any) -> Talk:
    return talk.agent(call, builder.child(child), **arguments)


def _workflow(builder: _StoryBuilder, talk: Talk, call: int, children: Mapping[str, Json], run: str) -> Talk:
    return talk.workflow(call, {name: builder.child(child) for name, child in children.items()}, run=run)


def _fork(_: _StoryBuilder, talk: Talk, session: str) -> Talk:
    return talk.fork(session_id(session))


def _file(_: _StoryBuilder, talk: Talk, path: str, content: str) -> Talk:
    return talk.file(path, content.encode())


def _repeat(builder: _StoryBuilder, talk: Talk, rows: Sequence[Sequence[str]], of: Sequence[Json]) -> Talk:
    """Execute the steps `of` for each row."""
    for row in rows:
        talk = builder.run(talk, of, row)
    return talk


def _fragment(
    builder: _StoryBuilder, talk: Talk, of: Sequence[Json] = (), name: str = "", first: float = 0, last: int = 0
) -> Talk:
    """Write a part of the last line of the steps `of`: the first bytes, a first fraction, or the last bytes.

    A line with a name can be used again.
    """
    if of:
        builder.fragments[name] = encode_line(builder.run(talk, of).data()[-1])
    line = builder.fragments[name]
    end = int(len(line) * first) if first < 1 else int(first)
    return talk.raw(line[-last:] if last else line[:end])


def _nul_bytes(_: _StoryBuilder, talk: Talk, count: int) -> Talk:
    """Write what a crash of the file system leaves."""
    return talk.raw(b"\0" * count)


def _drop_newline(_: _StoryBuilder, talk: Talk) -> Talk:
    """Remove the final newline, so that the next line continues the last one."""
    newest = talk.newest
    return replace(talk, newest=NewestLines(newest.earlier, encode_line(newest.said)[:-1])) if newest else talk


_STEPS: Mapping[str, Callable[..., Talk]] = {
    "agent": _agent,
    "ask": _ask,
    "close": _close,
    "drop_newline": _drop_newline,
    "file": _file,
    "fork": _fork,
    "fragment": _fragment,
    "nul_bytes": _nul_bytes,
    "repeat": _repeat,
    "reply": _reply,
    "workflow": _workflow,
}
