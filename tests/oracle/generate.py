"""Random sessions: conversations as people have them, and lines of them changed at random. A seed gives the same bytes.

The conversations come from the builder of `clew.demo`, so they hold what Claude Code writes: prompts, replies with thinking
and parallel calls, agents, attachments, commands, interrupts, compactions, branches. The changes are those of crashes, full
disks, other tools and other versions: lines are torn, lost, repeated and moved, and fields get values that nobody wrote.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import Any

from clew.demo.talk import NIL, Talk, bash, read, talk, task

Json = dict[str, Any]

MODELS = ("claude-opus-5-5", "claude-opus-5-5", "claude-sonnet-4-5-20250929", "claude-haiku-4-5-20251001")
VERSIONS = ("2.1.325", "2.1.232", "2.1.200", "2.1.120", "2.1.45", "2.1.29")
NOWHERE = "ffffffff-0000-4000-8000-000000000000"
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6364f8cf500f0003860180"
    "5a347d6b0000000049454e44ae426082"
)


@dataclass(frozen=True)
class Generated:
    """A session file, and what was done to it."""

    seed: int
    session: str
    lines: tuple[bytes, ...]
    changes: tuple[str, ...]

    @property
    def data(self) -> bytes:
        return b"".join(self.lines)


def generate(seed: int, most: int = 4) -> Generated:
    """A conversation with at most so many changes; one of five has none."""
    chance = Random(seed)
    made = conversation(chance, f"generated {seed}")
    lines = [bytes(line) for line in made.lines()]
    count = 0 if chance.random() < 0.2 else chance.randint(1, most)
    changes = [change(lines, chance) for _ in range(count) if lines]
    return Generated(seed, made.session_id, tuple(lines), tuple(changes))


# -- conversations


def conversation(chance: Random, seed: str) -> Talk:
    made = talk(seed=seed, version=chance.choice(VERSIONS), model=chance.choice(MODELS))
    has_pins = chance.random() < 0.5
    for number in range(chance.randint(1, 6)):
        made = _wait(made, chance, (3, 6, 20, 90, 600, 7200, 60000))
        if number > 1 and chance.random() < 0.15:
            made = made.compact(f"Summary {number}.", keep=chance.choice((0, 0, 1, 2, 3)))
        elif made.turn > 1 and chance.random() < 0.15:
            with suppress(ValueError):  # not every turn was begun by a prompt that can be gone back to
                made = made.rewind(to=chance.randint(1, made.turn))
            made = made.last_prompt(leaf=NIL, explicit=True) if has_pins and chance.random() < 0.7 else made
        made = _turn(_prompt(made, chance, number), chance)
        made = made.last_prompt() if has_pins else made
        made = _beside(made, chance, number)
    return made


def _wait(made: Talk, chance: Random, seconds: Sequence[float] = (0, 0.4, 2, 4, 7, 15, 40)) -> Talk:
    return made.pause(seconds=round(chance.choice(seconds) * chance.uniform(0.6, 1.5), 3))


def _prompt(made: Talk, chance: Random, number: int) -> Talk:
    kind = chance.random()
    if kind < 0.08:
        made = made.command("model", "opus", "Set model")
    elif kind < 0.16:
        made = made.user("<local-command-caveat>Caveat.</local-command-caveat>", meta=True)
        made = made.user("<command-name>/clear</command-name>", meta=chance.random() < 0.5)
        made = made.user("<local-command-stdout>done</local-command-stdout>", meta=chance.random() < 0.5)
    elif kind < 0.22:
        made = made.user(f"note {number}", meta=True)
    images = [PIXEL] if chance.random() < 0.08 else []
    made = made.user(f"prompt {number}", images=images)
    return _attached(made, chance, 0.3)


def _turn(made: Talk, chance: Random) -> Talk:
    for step in range(chance.choice((0, 0, 1, 1, 2, 3))):
        thought = "Hm." if chance.random() < 0.3 else None
        words = f"Step {step}:" if chance.random() < 0.5 else None
        kind = chance.random()
        if kind < 0.5:
            made = _wait(made, chance).reply(words, thinking=thought, call=bash(f"ls {step}"))
            made = _answered(made, chance, 1)
        elif kind < 0.85:
            count = chance.randint(2, 3)
            calls = [read(f"/home/ada/garden/{place}") for place in range(count)]
            made = _answered(_wait(made, chance).reply(words, thinking=thought, calls=calls), chance, count)
        else:
            child = talk(seed=f"{step} {made.made}").user("Look.").reply(call=bash("ls")).result("x").reply("Found.")
            made = _wait(made, chance).reply(words, call=task("Look", "Look."))
            made = _wait(made, chance).agent(0, child)
        made = _attached(made, chance, 0.25)
    return _ending(_wait(made, chance), chance)


def _answered(made: Talk, chance: Random, count: int) -> Talk:
    for place in chance.sample(range(count), count):
        made = _wait(made, chance)
        if chance.random() < 0.2:
            made = made.progress(chance.choice(("hook_progress", "bash_progress")))
        if chance.random() < 0.1:
            made = made.result("failed", for_=place, error=True)
        elif chance.random() < 0.1:
            made = made.result([{"type": "text", "text": f"part {place}"}], for_=place)
        else:
            made = made.result(f"content {place}", for_=place)
    return made


def _ending(made: Talk, chance: Random) -> Talk:
    kind = chance.random()
    if kind < 0.05:
        return made.interrupt()
    if kind < 0.1:
        return made.reply("Half", call=bash("sleep 9")).interrupt(in_tool=True)
    if kind < 0.14:
        return made.api_error("API Error: overloaded")
    if kind < 0.18:
        return made.reply(call=bash("sleep 9"))
    if kind < 0.22:
        return made
    made = made.reply("Done.", thinking="Well." if chance.random() < 0.3 else None)
    return made.turn_duration() if chance.random() < 0.4 else made


def _attached(made: Talk, chance: Random, odds: float) -> Talk:
    while chance.random() < odds:
        made = _wait(made, chance, (0, 0.1, 3))
        made = chance.choice(_ATTACH)(made)
    return made


_ATTACH: tuple[Callable[[Talk], Talk], ...] = (
    lambda made: made.attachment("queued_command", prompt="also this", commandMode="prompt"),
    lambda made: made.attachment(
        "queued_command", prompt="and that", commandMode="prompt", origin={"kind": "human"}, humanTurn=True
    ),
    lambda made: made.attachment(
        "nested_memory", path="/x/CLAUDE.md", content={"path": "/x/CLAUDE.md", "content": "m"}
    ),
    lambda made: made.attachment("hook_additional_context", hookName="Stop", content=["h1", "h2"]),
    lambda made: made.attachment("hook_success", hookName="SessionStart", hookEvent="SessionStart", content="ok"),
    lambda made: made.attachment("date_change", newDate="2026-01-04"),
    lambda made: made.attachment("directory", path="/x", content="a\nb"),
    lambda made: made.attachment(
        "file",
        filename="/x/a",
        content={"type": "text", "file": {"filePath": "/x/a", "content": "1\n2", "startLine": 1}},
    ),
    lambda made: made.attachment("todo_reminder", rendered="<system-reminder>\nTodo.\n</system-reminder>", content=[]),
    lambda made: made.attachment("x_unknown", rendered="Plain words."),
    lambda made: made.attachment("x_unknown", value=1),
    lambda made: made.attachment(
        "x_system", rendered="<system-reminder>\nTurn.\n</system-reminder>", fields={"renderedRole": "system"}
    ),
)


def _beside(made: Talk, chance: Random, number: int) -> Talk:
    kind = chance.random()
    if kind < 0.1:
        return made.title(f"Title {number}")
    if kind < 0.2:
        return made.summary_line(f"Summary {number}")
    if kind < 0.3:
        return made.queue("enqueue", "also this").queue("remove")
    return made


# -- changes


def change(lines: list[bytes], chance: Random) -> str:
    """Change one line, and say how."""
    at = chance.randrange(len(lines))
    if chance.random() < 0.45:
        name = chance.choice(list(_LINES))
        _LINES[name](lines, at, chance)
        return f"line {at + 1}: {name}"
    entry = _entry(lines[at])
    if not entry or "uuid" not in entry:
        return f"line {at + 1}: untouched"
    name = chance.choice(list(_FIELDS))
    others = [other for line in lines if (other := _entry(line)) and "uuid" in other]
    _FIELDS[name](entry, others, chance)
    lines[at] = json.dumps(entry).encode() + b"\n"
    return f"line {at + 1}: {name}"


def _entry(line: bytes) -> Json | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _torn(lines: list[bytes], at: int, chance: Random) -> None:
    lines[at] = lines[at][: chance.randrange(len(lines[at]))].rstrip(b"\n") + b"\n"


def _joined(lines: list[bytes], at: int, chance: Random) -> None:
    lines[at] = lines[at][: chance.randrange(len(lines[at]))].rstrip(b"\n")


def _moved(lines: list[bytes], at: int, chance: Random) -> None:
    lines.insert(chance.randint(0, len(lines) - 1), lines.pop(at))


def _swapped(lines: list[bytes], at: int, chance: Random) -> None:
    lines[at : at + 2] = reversed(lines[at : at + 2])


_LINES: dict[str, Callable[[list[bytes], int, Random], object]] = {
    "torn": _torn,
    "lost": lambda lines, at, chance: lines.pop(at),
    "lost with the next": lambda lines, at, chance: lines.__delitem__(slice(at, at + 2)),
    "cut off here": lambda lines, at, chance: lines.__delitem__(slice(at + 1, None)),
    "joined with the next": _joined,
    "twice": lambda lines, at, chance: lines.insert(at, lines[at]),
    "again later": lambda lines, at, chance: lines.insert(chance.randint(at, len(lines)), lines[at]),
    "moved": _moved,
    "swapped with the next": _swapped,
    "blank line": lambda lines, at, chance: lines.insert(at, b"\n"),
    "line of another kind": lambda lines, at, chance: lines.insert(at, chance.choice((b"[]\n", b"null\n", b"7\n"))),
}

ODD_CONTENT: tuple[Any, ...] = (
    "",
    " ",
    "plain",
    None,
    [],
    [{"type": "text", "text": ""}],
    [{"type": "text", "text": " \n"}],
    [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}],
    [{"type": "x-unknown", "x": 1}],
)
ODD_TIMES: tuple[Any, ...] = (
    None,
    "",
    "yesterday",
    0,
    "2026-01-03",
    "2020-01-01T00:00:00.000Z",
    "2099-01-01T00:00:00Z",
)


def _other(others: Sequence[Json], chance: Random) -> Json:
    return chance.choice(others)


def _set(key: str, values: Iterable[Any]) -> Callable[[Json, Sequence[Json], Random], None]:
    choices = list(values)

    def apply(entry: Json, others: Sequence[Json], chance: Random) -> None:
        entry[key] = chance.choice(choices)

    return apply


def _take(*keys: str) -> Callable[[Json, Sequence[Json], Random], None]:
    """The value that another line has."""

    def apply(entry: Json, others: Sequence[Json], chance: Random) -> None:
        source = _other(others, chance)
        for key in keys:
            if key in source:
                entry[key] = source[key]
                return

    return apply


def _drop(key: str) -> Callable[[Json, Sequence[Json], Random], None]:
    return lambda entry, others, chance: entry.pop(key, None)


def _in_message(
    apply: Callable[[Json, Sequence[Json], Random], object],
) -> Callable[[Json, Sequence[Json], Random], None]:
    def inside(entry: Json, others: Sequence[Json], chance: Random) -> None:
        if isinstance(entry.get("message"), dict):
            messages = [other["message"] for other in others if isinstance(other.get("message"), dict)]
            apply(entry["message"], messages, chance)

    return inside


def _in_block(apply: Callable[[Json, Random], object]) -> Callable[[Json, Sequence[Json], Random], None]:
    def inside(entry: Json, others: Sequence[Json], chance: Random) -> None:
        message = entry.get("message")
        blocks = message.get("content") if isinstance(message, dict) else None
        if isinstance(blocks, list) and blocks and isinstance(blocks[0], dict):
            apply(chance.choice(blocks), chance)

    return inside


def _blank(block: Json, chance: Random) -> None:
    key = next((key for key in ("text", "thinking", "content") if key in block), "text")
    block[key] = chance.choice(("", " ", "\n\n", "odd <system-reminder>\nx\n</system-reminder> text\n"))


def _parent_of(entry: Json, others: Sequence[Json], chance: Random) -> None:
    entry["parentUuid"] = _other(others, chance)["uuid"]


def _lines_of_one_reply(message: Json, others: Sequence[Json], chance: Random) -> None:
    ids = [other["id"] for other in others if other.get("id")]
    if ids and "id" in message:
        message["id"] = chance.choice(ids)


_FIELDS: dict[str, Callable[[Json, Sequence[Json], Random], None]] = {
    "another parent": _parent_of,
    "no parent": _set("parentUuid", (None, None, "", NOWHERE)),
    "its own parent": lambda entry, others, chance: entry.update(parentUuid=entry["uuid"]),
    "without parentUuid": _drop("parentUuid"),
    "uuid of another": _take("uuid"),
    "without uuid": _drop("uuid"),
    "another type": _set("type", ("user", "assistant", "system", "attachment", "progress", "x-unknown")),
    "another time": _take("timestamp"),
    "an odd time": _set("timestamp", ODD_TIMES),
    "without time": _drop("timestamp"),
    "an agent's": _set("isSidechain", (True,)),
    "meta": _set("isMeta", (True, False)),
    "without message": _drop("message"),
    "a summary": _set("isCompactSummary", (True,)),
    "id of another reply": _in_message(_lines_of_one_reply),
    "without message id": _in_message(_drop("id")),
    "without request": _drop("requestId"),
    "odd content": _in_message(_set("content", ODD_CONTENT)),
    "without content": _in_message(_drop("content")),
    "content of another": _in_message(_take("content")),
    "another model": _in_message(_set("model", (*MODELS, "claude-3-opus", "<synthetic>"))),
    "another role": _in_message(_set("role", ("user", "assistant", "system"))),
    "a blank block": _in_block(_blank),
    "another call": _in_block(
        lambda block, chance: block.update(dict.fromkeys(set(block) & {"id", "tool_use_id"}, "t"))
    ),
    "another block": _in_block(lambda block, chance: block.update(type=chance.choice(("text", "x-unknown")))),
}
