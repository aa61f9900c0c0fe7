"""One conversation being written: who hangs below whom, which lines make a reply, what it costs.

A `Talk` writes one file: a session, or an agent below it. It knows the chain and the tokens; what is said is
decided by its callers (`corpus_session`, `corpus_agent`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from benchmarks.corpus.era import (
    Json,
    Scene,
    call_id,
    message_id,
    message_json,
    outputs,
    stamp,
    stops,
    usage_json,
)
from benchmarks.corpus.files import Project
from benchmarks.corpus.lines import after_result, bash_progress
from benchmarks.corpus.needles import Needles, Planned
from benchmarks.corpus.tools import Call
from benchmarks.corpus.truth import Facts, Ledger, Needle, ReplyLine, Usage
from benchmarks.corpus.words import Pen
from benchmarks.corpus.writer import Budget, Writer, write_side

_encode = msgspec.json.Encoder().encode
NOTHING: Json = {}


@dataclass(slots=True)
class Stage:
    """What a session shares with its agents."""

    ledger: Ledger
    budget: Budget
    needles: Needles
    project: Project
    clock: int  # milliseconds

    def tick(self, pen: Pen, low: int, high: int) -> str:
        self.clock += pen.between(low, high)
        return stamp(self.clock)


@dataclass(frozen=True, slots=True)
class Part:
    """One block of a reply."""

    block: Json
    planted: tuple[Planned, ...] = ()
    call: Call | None = None
    id: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """A call that has been written, with the uuid of its line."""

    call: Call
    id: str
    owner: str
    message: str
    usage: Usage = field(default_factory=Usage)


Delegate = Callable[[Asked], Call]


class Talk:
    def __init__(self, scene: Scene, pen: Pen, writer: Writer, stage: Stage) -> None:
        self.scene = scene
        self.pen = pen
        self.writer = writer
        self.stage = stage
        self.parent: str | None = None
        self.prompt_id = ""
        self.context = pen.between(11_000, 22_000)  # tokens cached
        self.fresh = 0  # tokens that came since
        self.spent = Usage()
        self.calls = 0
        self.delegate: Delegate | None = None
        self.east = False  # speaks an East Asian language
        self.echo: list[Json] = []  # messages that agent_progress repeats

    def say(self, count: int) -> str:
        """About so many words in the session's language."""
        pen = self.pen
        if not self.east and not pen.chance(0.006):
            return pen.markdown(count)
        runs = [pen.han(pen.between(8, 40)) for _ in range(1 + count // 12)]
        return "。\n".join(f"{run} `{pen.identifier()}` {pen.han(6)}" for run in runs)

    def add(
        self,
        core: Json,
        facts: Facts,
        after: Json = NOTHING,
        *,
        parent: str | None = None,
        planted: Sequence[Planned] = (),
        pause: tuple[int, int] = (5, 900),
        root: bool = False,
        solid: bool = False,
    ) -> str:
        """Write one entry of the chain below `parent` (else the last one); its uuid."""
        uuid = self.pen.uuid()
        above = None if root else parent or self.parent
        time = self.stage.tick(self.pen, *pause)
        line: Json = {"parentUuid": above, **self.scene.head, **core, "uuid": uuid, "timestamp": time}
        self._write(_encode({**line, **after, **self.scene.tail}), facts, planted, solid)
        return uuid

    def note(self, line: Json, kind: str = "") -> None:
        """Write one line that is not in the chain."""
        self._write(_encode(line), Facts(str(line["type"]), kind))

    def _write(self, data: bytes, facts: Facts, planted: Sequence[Planned] = (), solid: bool = False) -> None:
        offset = self.writer.put(data, facts, solid=solid or bool(planted))
        for needle in planted:
            place = Needle(needle.kind, needle.field, needle.text, self.writer.name, offset)
            self.stage.ledger.needles.append(place)

    def user(
        self,
        content: object,
        kind: str = "",
        after: Json = NOTHING,
        *,
        planted: Sequence[Planned] = (),
        pause: tuple[int, int] = (20, 2500),
        parent: str | None = None,
    ) -> str:
        """A user entry that is no tool result; the chain goes on from it."""
        core: Json = {"type": "user", "message": {"role": "user", "content": content}}
        if self.prompt_id:
            core = {"promptId": self.prompt_id, **core}
        self.parent = self.add(core, Facts("user", kind), after, planted=planted, pause=pause, parent=parent)
        self.fresh += 20 + len(str(content)) // 4
        return self.parent

    def system(self, subtype: str, body: Json) -> None:
        """A system entry in the chain."""
        core: Json = {"type": "system", "subtype": subtype, **body}
        self.parent = self.add(core, Facts("system"))

    def attach(self, body: Json, kind: str = "") -> None:
        """An attachment in the chain."""
        core: Json = {"attachment": body, "type": "attachment"}
        self.parent = self.add(core, Facts("attachment", kind))
        self.fresh += 60

    def progress(self, data: Json, tool: str, owner: str, parent: str | None) -> str:
        core: Json = {"type": "progress", "data": data, "toolUseID": tool, "parentToolUseID": owner}
        holds_entry = data["type"] == "agent_progress"  # cut short, it would leave a whole entry inside
        return self.add(core, Facts("progress"), parent=parent, solid=holds_entry)

    def reply(self, parts: Sequence[Part], stop: str) -> None:
        """One API response: a line for each block, and the results of its calls."""
        era, pen = self.scene.era, self.pen
        id_ = message_id(pen, self.scene)
        request = "req_011C" + pen.token(20) if self.scene.requests and not self.scene.gateway else ""
        size = sum(len(_encode(part.block)) for part in parts if part.block["type"] != "thinking")
        usage = self._bill(max(4, size // 4 + pen.below(40)))
        shown = zip(parts, outputs(pen, era, usage.output, len(parts)), stops(pen, era, stop, len(parts)), strict=True)
        waiting: list[Asked] = []
        mixed = pen.chance(0.15)  # results that come before the next block
        for part, output, reason in shown:
            line = Usage(usage.input, output, usage.cache_creation_5m, usage.cache_creation_1h, usage.cache_read)
            uuid = self._block(part, id_, request, line, reason)
            if part.call is not None:
                asked = Asked(part.call, part.id, uuid, id_, line)
                if mixed:
                    self.answer(asked)
                else:
                    waiting.append(asked)
        if len(waiting) > 1 and pen.chance(0.15):
            waiting.reverse()
        for asked in waiting:
            self.answer(asked)

    def _block(self, part: Part, id_: str, request: str, usage: Usage, stop: str | None) -> str:
        message = message_json(self.scene, id_, part.block, stop, usage_json(self.scene, usage))
        core: Json = {"message": message, "type": "assistant"}
        if request:
            core = {"message": message, "requestId": request, "type": "assistant"}
        if part.call is not None:
            facts = Facts("assistant", "call", part.call.name, ReplyLine(id_, self.scene.model, usage))
            self.calls += 1
            if self.scene.agent and len(self.echo) < 3 and not part.planted:
                self.echo.append(message)
        else:
            facts = Facts("assistant", reply=ReplyLine(id_, self.scene.model, usage))
        effort: Json = {"effort": "high"} if self.scene.era.late else NOTHING
        self.parent = self.add(core, facts, effort, planted=part.planted, pause=(200, 5000))
        return self.parent

    def answer(self, asked: Asked) -> None:
        """The result of a call, with the progress before it and the hooks behind it."""
        call, era = asked.call, self.scene.era
        if not call.answered:
            return
        if call.name == era.delegate and self.delegate is not None:
            call = self.delegate(asked)
        if len(call.stdout) > 9000 and era.agents == "nested":
            call = self._persist(call, asked.id)
        pause = (30, 4000)
        above: str | None = asked.owner
        if era.progress and call.stdout and self.pen.chance(0.5):
            pause = (-2500, 400)  # real results often are older than the progress before them
            for at, data in enumerate(bash_progress(self.pen, call.stdout)):
                above = self.progress(data, f"bash-progress-{at}", asked.id, above)
        block: Json = {"tool_use_id": asked.id, "type": "tool_result", "content": call.content}
        if call.failed:
            block = {
                "type": "tool_result",
                "content": call.content,
                "is_error": True,
                "tool_use_id": asked.id,
            }
        elif call.name == "Bash":
            block["is_error"] = False
        after: Json = {}
        if call.result is not None and (call.failed or not self.scene.agent):
            after["toolUseResult"] = call.result
        if not era.linear:
            after["sourceToolAssistantUUID"] = asked.owner
        core: Json = {"type": "user", "message": {"role": "user", "content": [block]}}
        if self.prompt_id:
            core = {"promptId": self.prompt_id, **core}
        planted = [needle for needle in call.planted if needle.field == "tool_result"]
        above = self.parent if era.linear else asked.owner
        facts = Facts("user", "result", call.name)
        self.parent = self.add(core, facts, after, parent=above, planted=planted, pause=pause)
        self.fresh += 30 + len(str(call.content)) // 4
        after_result(self, call.name, asked.id)

    def _persist(self, call: Call, id_: str) -> Call:
        """A large output goes to a file of its own; the transcript keeps its beginning."""
        name = f"{self.writer.session_folder}/tool-results/{id_}.txt"
        data, shown = call.stdout.encode(), call.stdout[:2000]
        write_side(self.writer.root / name, data, self.stage.ledger, self.stage.budget, self.stage.clock)
        text = f"Too large to show ({len(data)} bytes), kept in: {name}\n\n{shown}"
        text = f"<persisted-output>\n{text}\n</persisted-output>"
        result: Json = {"stdout": shown, "stderr": "", "interrupted": False, "isImage": False}
        result |= {"persistedOutputPath": name, "persistedOutputSize": len(data)}
        return replace(call, content=text, result=result, stdout="")

    def part_call(self, call: Call) -> Part:
        id_ = call_id(self.pen, self.scene)
        block: Json = {"type": "tool_use", "id": id_, "name": call.name, "input": call.input}
        if self.scene.era.late:
            block["caller"] = {"type": "direct"}
        planted = tuple(needle for needle in call.planted if needle.field == "tool_input")
        return Part(block, planted, call, id_)

    def _bill(self, output: int) -> Usage:
        """The usage of the next response: what was cached is read, what came since is written."""
        fresh, read = max(self.fresh, 40), self.context
        if self.scene.gateway == "chat":
            usage = Usage(input=read + fresh, output=output)
        elif self.scene.hour and not self.scene.agent:
            usage = Usage(self.pen.between(1, 12), output, 0, fresh, read)
        else:
            usage = Usage(self.pen.between(1, 12), output, fresh, 0, read)
        self.context = read + fresh
        self.fresh = output
        self.spent = self.spent + usage
        return usage
