"""Sessions: turns one after the other, with forks, rewinds, compactions, commands and interruptions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random

import msgspec

from benchmarks.corpus.agent import notification, run_agent, torn_line
from benchmarks.corpus.era import EPOCH, Json, Scene
from benchmarks.corpus.files import Project
from benchmarks.corpus.lines import MODES, after_prompt, begin_session, begin_turn, end_turn, in_turn, rewound
from benchmarks.corpus.needles import Needles
from benchmarks.corpus.plan import Plan
from benchmarks.corpus.talk import Stage, Talk
from benchmarks.corpus.truth import Facts, Fork, Ledger
from benchmarks.corpus.turn import failed_reply, last_words, prompt_text, room, step
from benchmarks.corpus.words import Lexicon, Pen
from benchmarks.corpus.writer import Budget, History, Kept, Writer

FULL = 165_000  # tokens of context at which a session is compacted
COMMANDS = ("/clear", "/model", "/cost", "/review", "/compact-notes")


@dataclass(frozen=True, slots=True)
class World:
    """What all sessions share."""

    root: Path
    seed: int
    lexicon: Lexicon
    ledger: Ledger
    projects: list[Project]
    history: History


@dataclass(frozen=True, slots=True)
class Mark:
    """The end of a turn, where a fork may leave."""

    lines: int
    bytes: int
    leaf: str | None
    context: int


@dataclass(frozen=True, slots=True)
class Told:
    """A session that has been written."""

    scene: Scene
    project: Project
    name: str
    clock: int
    kept: list[Kept]
    marks: list[Mark]


class Session:
    """One main session file being written."""

    def __init__(self, world: World, plan: Plan, size: int, source: Told | None) -> None:
        self.world = world
        self.plan = plan
        self.size = size
        self.pen = Pen(world.lexicon, Random(f"{world.seed}:session:{plan.index}"))
        project = source.project if source else world.projects[plan.project]
        scene = replace(source.scene, session=self.pen.uuid()) if source else self._cast(project)
        budget = Budget(size)
        needles = Needles(plan.needles, budget, self.pen.rng)
        stage = Stage(world.ledger, budget, needles, project, plan.start)
        writer = Writer(world.root, f"projects/{project.folder}/{scene.session}.jsonl", world.ledger, stage.budget)
        self.talk = Talk(scene, self.pen, writer, stage)
        self.talk.east = plan.east
        self.talk.delegate = partial(run_agent, world.root, self.talk)
        self.leaves: list[str | None] = []  # before each prompt, since the last compaction
        self.marks: list[Mark] = []
        self.turns = 0
        self.compact_at = size // 2 if plan.compact else 0
        self.rewind = plan.rewinds  # not done yet
        self.delegate = plan.delegates

    def write(self, source: Told | None) -> Told:
        talk, plan, stage = self.talk, self.plan, self.talk.stage
        writer = talk.writer
        if plan.copied:
            writer.keep()
        writer.spoil([(int(self.size * (1 - share)), kind) for share, kind in plan.damage])
        if source is not None:
            self._copy(source)
        else:
            begin_session(talk)
        while stage.budget.left > 0 or stage.needles.waits() or self._owes():
            self._turn()
        torn = torn_line(talk) if plan.torn else b""
        writer.close(min(stage.clock, EPOCH), torn=torn, terminated=not plan.unterminated)
        stage.ledger.events["sessions"] += 1
        stage.ledger.settle()
        return Told(talk.scene, stage.project, writer.name, stage.clock, writer.kept or [], self.marks)

    def _owes(self) -> bool:
        """Whether what was planned has not come to pass yet."""
        return not self.turns or self.rewind or bool(self.compact_at) or self.talk.writer.owes

    def _cast(self, project: Project) -> Scene:
        pen, era = self.pen, self.plan.era
        entrypoint = pen.pick(("cli", "cli", "cli", "claude-vscode", "sdk-cli", "claude-desktop"))
        slug = f"{pen.name()}-{pen.name()}-{pen.name()}" if not era.late and era.name != "1.0" else ""
        return Scene(
            era=era,
            version=pen.pick(era.versions),
            model=pen.pick(era.models),
            session=pen.uuid(),
            cwd=project.cwd,
            branch=project.branch,
            entrypoint=entrypoint,
            slug=slug,
            gateway=self.plan.gateway,
            requests=era.name != "1.0" or pen.chance(0.6),
            hour=not era.linear and pen.chance(0.6),
        )

    def _copy(self, source: Told) -> None:
        """Begin with the lines of another session: same uuids and message ids, another sessionId."""
        talk = self.talk
        short = [mark for mark in source.marks if mark.bytes < 0.8 * self.size] or source.marks[:1]
        mark = self.pen.pick(short)
        old, new = (f'"sessionId":"{id_}"'.encode() for id_ in (source.scene.session, talk.scene.session))
        for line, facts in source.kept[: mark.lines]:
            talk.writer.put(line.replace(old, new), facts, copied=True)
        talk.parent, talk.context = mark.leaf, mark.context
        talk.stage.clock = max(talk.stage.clock, source.clock)
        talk.stage.ledger.forks.append(Fork(source.name, talk.writer.name, mark.lines))

    def _turn(self) -> None:
        talk, pen, stage = self.talk, self.pen, self.talk.stage
        self.turns += 1
        self._compact_when_full()
        if len(self.leaves) > 1 and pen.chance(0.5 if self.rewind else 0.01):
            self._rewind()
        self.leaves.append(talk.parent)
        if pen.chance(0.04):
            self._command()
        began = stage.clock
        text = self._prompt()
        if pen.chance(0.01):
            failed_reply(talk)
        interrupted = self._work()
        if interrupted:
            talk.user([{"type": "text", "text": "[Request interrupted by user for tool use]"}])
        else:
            last_words(talk)
        end_turn(talk, text, stage.clock - began)
        if talk.writer.kept is not None:
            size = sum(len(line) for line, _ in talk.writer.kept)
            self.marks.append(Mark(len(talk.writer.kept), size, talk.parent, talk.context))

    def _work(self) -> bool:
        """The replies of a turn but the last; whether they were interrupted."""
        talk, pen, stage = self.talk, self.pen, self.talk.stage
        steps = pen.spread(5, 0.9, 1, 60)
        for _ in range(steps):
            if stage.budget.left <= 0 and not stage.needles.waits("tool_input", "tool_result", "thinking"):
                return False
            if pen.chance(0.004) and not stage.needles.waits():
                step(talk, agents=0.0, answered=False)
                return True
            self._compact_when_full()
            step(talk, agents=1.0 if self.delegate else self.plan.agents)
            self.delegate = False
            in_turn(talk)
            if talk.scene.era.attachments and pen.chance(0.015):
                text, after = notification(pen.hexadecimal(17), pen.sentence(8))
                talk.user(text, "", after)
        return False

    def _prompt(self) -> str:
        talk, pen = self.talk, self.pen
        talk.stage.clock += pen.spread(60_000, 1.0, 4000, 1_200_000)
        text, planted = prompt_text(talk)
        if talk.scene.era.titles:
            talk.prompt_id = pen.uuid()
        begin_turn(talk, None if planted else text)
        talk.user(self._content(text), "prompt", self._extras(), planted=planted)
        if talk.scene.entrypoint == "cli" and not planted:
            self._remember(text)
        after_prompt(talk, first=self.turns == 1)
        return text

    def _content(self, text: str) -> object:
        """A prompt is a string, or blocks: from editors, with pictures."""
        pen, scene = self.pen, self.talk.scene
        said: Json = {"type": "text", "text": text}
        if pen.chance(0.012) and room(self.talk.stage.budget) > 30_000:
            source = {
                "type": "base64",
                "media_type": "image/png",
                "data": pen.base64(pen.spread(14_000, 0.5, 2000, 40_000)),
            }
            return [{"type": "image", "source": source}, said]
        if scene.entrypoint == "claude-vscode" and pen.chance(0.3):
            path = pen.pick(self.talk.stage.project.files).path
            return [{"type": "text", "text": f"<ide_opened_file>{path} is open.</ide_opened_file>"}, said]
        return [said] if pen.chance(0.2) else text

    def _extras(self) -> Json:
        era, pen = self.talk.scene.era, self.pen
        if era.name == "1.0":
            return {}
        if era.name == "2.0":
            return {"thinkingMetadata": {"level": "high", "disabled": False, "triggers": []}, "todos": []}
        after: Json = {"permissionMode": pen.pick(MODES)}
        if era.late:
            source = "sdk" if self.talk.scene.entrypoint.startswith("sdk") else "typed"
            after |= {"origin": {"kind": "human"}, "promptSource": source}
        return after

    def _remember(self, text: str) -> None:
        scene, clock = self.talk.scene, self.talk.stage.clock
        line: Json = {"display": text, "pastedContents": {}, "timestamp": clock, "project": scene.cwd}
        self.world.history.add(msgspec.json.encode({**line, "sessionId": scene.session}))

    def _command(self) -> None:
        """A slash command: a remark, the command, what it printed."""
        talk, pen = self.talk, self.pen
        name = pen.pick(COMMANDS)
        talk.user(f"<local-command-caveat>{pen.sentence(9)}</local-command-caveat>", "", {"isMeta": True})
        text = f"<command-name>{name}</command-name>\n<command-message>{name[1:]}</command-message>"
        talk.user(f"{text}\n<command-args></command-args>", "command")
        talk.user(f"<local-command-stdout>{pen.sentence(6)}</local-command-stdout>")

    def _rewind(self) -> None:
        """The next prompt hangs below an older entry; nothing is taken away."""
        at = self.pen.below(len(self.leaves) - 1) + 1
        self.talk.parent = self.leaves[at]
        del self.leaves[at:]
        self.rewind = False
        rewound(self.talk)
        self.talk.stage.ledger.events["rewinds"] += 1

    def _compact_when_full(self) -> None:
        talk = self.talk
        if talk.context > FULL or (self.compact_at and talk.stage.budget.left < self.compact_at):
            self._compact()

    def _compact(self) -> None:
        talk, pen = self.talk, self.pen
        about: Json = {"trigger": "manual" if pen.chance(0.2) else "auto", "preTokens": talk.context}
        if talk.scene.era.late:
            about |= {"postTokens": 9000, "durationMs": pen.between(20_000, 90_000)}
        core: Json = {"logicalParentUuid": talk.parent, "type": "system", "subtype": "compact_boundary"}
        core |= {
            "content": "Conversation compacted",
            "isMeta": False,
            "level": "info",
            "compactMetadata": about,
        }
        talk.parent = talk.add(core, Facts("system"), root=True, solid=True)
        summary = f"What was done so far, in short:\n\n{pen.markdown(pen.between(200, 900))}"
        talk.user(summary, "", {"isVisibleInTranscriptOnly": True, "isCompactSummary": True})
        talk.context, talk.fresh = pen.between(12_000, 22_000), len(summary) // 4
        self.leaves.clear()
        self.compact_at = 0
        talk.stage.ledger.events["compactions"] += 1
