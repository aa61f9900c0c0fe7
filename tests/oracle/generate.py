"""Random sessions: conversations as people have them, and lines of them changed at random. A seed gives the same bytes.

The conversations come from the builder of `clew.demo`, so they hold what Claude Code writes: prompts, replies with thinking
and parallel calls, agents, attachments, commands, interrupts, compactions, branches. The changes are those of crashes, full
disks, other tools and other versions: lines are torn, lost, repeated and moved, and fields get values that nobody wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from random import Random

from clew.demo.talk import NIL, Talk, bash, read, talk, task
from clew.wire.timestamps import format_timestamp
from tests.oracle.changes import change

MODELS = ("claude-opus-5-5", "claude-opus-5-5", "claude-sonnet-4-5-20250929", "claude-haiku-4-5-20251001")
VERSIONS = ("2.1.325", "2.1.232", "2.1.200", "2.1.120", "2.1.45", "2.1.29")
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
        made = _commands(made, chance)
    elif kind < 0.22:
        made = made.user(f"note {number}", meta=True)
    if chance.random() < 0.15:
        made = made.snapshot({"a.py": chance.choice((None, "x = 1\n"))})
    images = [PIXEL] if chance.random() < 0.08 else []
    made = made.user(f"prompt {number}", images=images)
    return _attached(made, chance, 0.3)


def _commands(made: Talk, chance: Random) -> Talk:
    """Commands of the program's own, one or more under one caveat."""
    made = made.user("<local-command-caveat>Caveat.</local-command-caveat>", meta=True)
    for _ in range(chance.choice((1, 1, 2, 3))):
        made = made.user("<command-name>/clear</command-name>", meta=chance.random() < 0.3)
        if chance.random() < 0.8:
            stream = chance.choice(("stdout", "stdout", "stderr"))
            made = made.user(f"<local-command-{stream}>done</local-command-{stream}>", meta=chance.random() < 0.3)
    return made


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
    if kind < 0.26:
        return _commands(made.reply("Done."), chance)
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
        "queued_command", prompt=[{"type": "text", "text": "in blocks"}], commandMode="prompt", source_uuid=NIL
    ),
    lambda made: made.attachment("queued_command", prompt="task over", commandMode="task-notification"),
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
    if kind < 0.35:
        for operation in chance.choice((("enqueue", "remove"), ("enqueue", "dequeue"), ("enqueue",), ("popAll",))):
            made = made.queue(operation, "also this" if operation == "enqueue" else None)
        return made
    if kind < 0.42:
        return made.snapshot({"a.py": "x = 2\n"}, of=made.leaf, update=True)
    return _sidechain(made, chance) if kind < 0.5 else made


def _sidechain(made: Talk, chance: Random) -> Talk:
    """An agent's entries in the file of the conversation, as versions before 2.0 wrote them; some hang below the leaf."""
    child = talk(seed=f"aside {made.made}").user("Look.").reply(call=bash("ls")).result("x").reply("Found.")
    top = made.leaf if chance.random() < 0.3 else None
    for entry in child.data():
        made = _wait(made, chance, (0, 1, 4))
        if "uuid" in entry:
            parent = entry["parentUuid"] or top
            own = {"isSidechain": True, "sessionId": made.session_id, "timestamp": format_timestamp(made.now)}
            made = made.line({**entry, **own, "parentUuid": parent})
    return made
