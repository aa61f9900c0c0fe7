"""What is said in a turn: prompts, replies with their calls, last words. Needles are taken up on the way."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.corpus.era import Json
from benchmarks.corpus.needles import Planned
from benchmarks.corpus.talk import Part, Talk
from benchmarks.corpus.tools import Call, Task, make_call, needle_call, weave
from benchmarks.corpus.truth import Facts, ReplyLine, Usage
from benchmarks.corpus.writer import Budget

AGENT_TYPES = ("general-purpose", "Explore", "Plan", "code-reviewer")


def step(talk: Talk, *, agents: float, answered: bool = True) -> None:
    """One reply that calls tools, with their results; `agents` is the share of calls that begin one."""
    parts = _opening(talk)
    calls = [delegation(talk)] if agents == 1 else _calls(talk, agents)
    parts += [talk.part_call(call if answered else replace(call, answered=False)) for call in calls]
    talk.reply(parts, "tool_use")


def last_words(talk: Talk) -> None:
    """The reply that ends a turn."""
    talk.reply(_opening(talk, always=True), "end_turn")


def report(talk: Talk) -> str:
    """The reply that ends an agent; its text, which is repeated elsewhere and so holds no needle."""
    text = talk.pen.markdown(talk.pen.spread(110, 0.9, 8, 600))
    talk.reply([Part({"type": "text", "text": text})], "end_turn")
    return text


def failed_reply(talk: Talk) -> None:
    """A reply that is not the model's but the program's: the API gave an error."""
    pen = talk.pen
    id_ = pen.uuid()
    usage: Json = {
        "input_tokens": 0,
        "output_tokens": 0,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
    }
    message: Json = {
        "id": id_,
        "model": "<synthetic>",
        "role": "assistant",
        "stop_reason": "stop_sequence",
        "stop_sequence": "",
        "type": "message",
        "usage": usage,
        "content": [{"type": "text", "text": f"API Error: 529 {pen.sentence(5)}"}],
    }
    facts = Facts("assistant", reply=ReplyLine(id_, "<synthetic>", Usage()))
    after: Json = {"isApiErrorMessage": True}
    talk.parent = talk.add({"message": message, "type": "assistant"}, facts, after)


def prompt_text(talk: Talk) -> tuple[str, tuple[Planned, ...]]:
    """What a person asks. A needle comes late in it, behind all that titles and pins would repeat."""
    pen = talk.pen
    needle = talk.stage.needles.take("prompt")
    if needle is None:
        return talk.say(pen.spread(28, 0.9, 2, 400)), ()
    text = pen.sentence(60)
    while len(text) < 260:
        text += " " + pen.sentence(20)
    return weave(pen, text, needle), (needle,)


def delegation(talk: Talk) -> Call:
    """A call that begins an agent; the agent fills in the result."""
    pen = talk.pen
    given: Json = {
        "description": pen.sentence(4)[:-1],
        "prompt": pen.markdown(pen.between(30, 200)),
        "subagent_type": pen.pick(AGENT_TYPES),
    }
    if talk.scene.era.attachments and pen.chance(0.3):
        given["run_in_background"] = True
    return Call(talk.scene.era.delegate, given)


def room(budget: Budget) -> int:
    return budget.room(0.2, 200, 60_000)


def _calls(talk: Talk, agents: float) -> list[Call]:
    """The calls of one reply: one, or some in parallel."""
    roll, space = talk.pen.rng.random(), room(talk.stage.budget)
    count = 1 if roll < 0.7 else 2 if roll < 0.87 else min(talk.pen.between(3, 6), 2 + space // 2000)
    return [_call(talk, agents, space // count) for _ in range(count)]


def _call(talk: Talk, agents: float, size: int) -> Call:
    stage, pen = talk.stage, talk.pen
    task = Task(pen, stage.project, talk.scene.era, size)
    if stage.needles.waits("tool_input", "tool_result"):
        return needle_call(task, stage.needles.take("tool_input"), stage.needles.take("tool_result"))
    if pen.chance(agents) and stage.budget.left > 12_000:
        return delegation(talk)
    return make_call(task)


def _opening(talk: Talk, *, always: bool = False) -> list[Part]:
    """The thinking and the text of a reply; without `always` either may be missing."""
    pen, needles = talk.pen, talk.stage.needles
    parts: list[Part] = []
    if pen.chance(0.35) or needles.waits("thinking"):
        parts.append(_thinking(talk))
    if always or pen.chance(0.45) or needles.waits("reply"):
        cap = max(10, room(talk.stage.budget) // 8)
        text = talk.say(pen.spread(110, 0.9, 8, min(900, cap)) if always else pen.spread(18, 0.6, 4, 80))
        needle = needles.take("reply")
        text = text if needle is None else weave(pen, text, needle)
        parts.append(Part({"type": "text", "text": text}, () if needle is None else (needle,)))
    return parts


def _thinking(talk: Talk) -> Part:
    pen, era = talk.pen, talk.scene.era
    needle = talk.stage.needles.take("thinking")
    text = pen.markdown(pen.spread(70, 0.8, 10, 600))
    if needle is not None:
        text = weave(pen, text, needle)
    elif era.late and pen.chance(0.5):
        text = ""  # the newest versions often keep the signature only
    signature = "" if talk.scene.gateway == "chat" else pen.base64(pen.spread(420, 0.6, 150, 2200))
    block: Json = {"type": "thinking", "thinking": text, "signature": signature}
    return Part(block, () if needle is None else (needle,))
