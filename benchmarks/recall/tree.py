"""Write the tree: generated sessions, the demo tree, and real samples where they are at hand.

The same seed gives the same sessions, with the same ids and words; their times are counted back from `now`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

from benchmarks.recall.english import inflect
from benchmarks.recall.lexicon import Topic, common, phrases, topics
from benchmarks.recall.word_lists import word_lists
from clew.demo.demo_tree import write_demo
from clew.demo.talk import Talk, bash, edit, grep, read, talk, write

SAMPLES = Path(__file__).parents[3] / "shared" / "corpus"
ENGLISH, FOREIGN = 4, 2  # sessions of a topic
DAYS = 150
VERSIONS = ("1.0.60", "2.0.50", "2.1.29", "2.1.80", "2.1.120", "2.1.232", "2.1.300")
BRANCHES = ("main", "main", "develop", "fix/{K}-{N}", "feature/{V}-{N}", "chore/{W}-{K}")
ERRORS = (
    "TypeError: {N1} {K1} is not {V1+ed} after {#} attempts",
    "panic: {N2} index {#} out of range while {V1+ing} {N1+s}",
    "fatal: {K1} of {N1} {#} was {W1+ed} by another {K2}",
    "E{#}: cannot {V1} {A1} {N1} without {N2}",
    "assertion failed: {N1} {#} and {N2} {#} share one {N3}",
    "{C1} timed out after {#} ms on {K1} {K2}",
)
COMMANDS = ("make test", "{S1} --verbose", "pytest -k {N1}", "git log -3 {P1}", "npm run {W1}", "git show {H}")
ARTICLE = re.compile(r"\b([Aa])n? ([aeiou])")
SLOT = re.compile(r"\{([A-Z#])(\d?)(?:\+(\w+))?\}")


def write_tree(root: Path, seed: int, now: datetime) -> None:
    """Write all sessions below a new folder."""
    write_demo(root, now)
    for number, topic in enumerate(topics()):
        for part in range(ENGLISH if topic.nouns else FOREIGN):
            _write_session(root, Author(topic, part, Random(f"{seed}:{topic.project}:{part}")), number, now)
    if SAMPLES.is_dir():
        _copy_samples(root)


@dataclass
class Author:
    """Fills the slots of sentences with the words of one session."""

    topic: Topic
    part: int
    rng: Random
    names: dict[str, str] = field(default_factory=dict)

    def say(self, section: str) -> str:
        return self.fill(self.rng.choice(phrases()[section]))

    def several(self, section: str, least: int, most: int) -> str:
        """Return some sentences of a section, as one paragraph."""
        chosen = self.rng.sample(phrases()[section], self.rng.randint(least, most))
        return " ".join(map(self.fill, chosen))

    def fill(self, sentence: str) -> str:
        """Fill the slots of a sentence; a slot that comes twice gets one word."""
        chosen: dict[str, str] = {}

        def word(match: re.Match[str]) -> str:
            kind, number, ending = match.groups()
            if kind == "#":
                return str(self.rng.choice((self.rng.randint(2, 99), self.rng.randint(100, 9000))))
            slot = kind + number
            if slot not in chosen:
                chosen[slot] = self._word(kind, number, list(chosen.values()))
            return inflect(chosen[slot], ending or "")

        filled = ARTICLE.sub(r"\1n \2", SLOT.sub(word, sentence))
        return filled[:1].upper() + filled[1:] if sentence.startswith(("{N", "{V", "{W")) else filled

    def _word(self, kind: str, number: str, taken: list[str]) -> str:
        words, rng = common(), self.rng
        if kind in "CSPERH":
            return self._name(kind + number)
        if kind in "NVA":
            own = {"N": self.topic.nouns, "V": self.topic.verbs, "A": self.topic.adjectives}[kind]
            free = [word for word in own if word not in taken] or own
            if free:
                return free[(self.part * 2 + rng.randrange(5)) % len(free)]
            kind = {"N": "K", "V": "W", "A": "B"}[kind]
        several = {"K": words.nouns, "W": words.verbs, "B": words.adjectives, "L": word_lists()["ly"]}[kind]
        while True:
            word = several[int(len(several) * rng.random() ** 2.2)]  # the first ones more often
            if word not in taken:
                return word

    def _name(self, slot: str) -> str:
        """Return an identifier, a path, an error line, a version or a hash: the same all through the session."""
        if slot not in self.names:
            self.names[slot] = self._new_name(slot[0])
        return self.names[slot]

    def _new_name(self, kind: str) -> str:
        rng = self.rng
        taken: list[str] = []
        for part in (rng.choice("VW"), "N", "N", "K"):
            taken.append(self._word(part, "", taken))
        verb, noun, other, thing = taken
        if kind == "C":
            humps = rng.choice(((verb, noun, thing), (noun, other, thing), (verb, noun, other, thing)))
            return humps[0] + "".join(hump.capitalize() for hump in humps[1:])
        if kind == "S":
            return "_".join(rng.choice(((verb, noun, thing), (noun, thing, inflect(verb, "er")), (verb, thing, noun))))
        if kind == "P":
            base = rng.choice((f"{noun}_{inflect(verb, 'er')}", f"{thing}_{other}", f"{noun}{thing.capitalize()}"))
            return f"{rng.choice(('src', 'lib', 'app', 'tests'))}/{other}/{base}.{self.topic.ending}"
        if kind == "R":
            return f"v{rng.randint(0, 9)}.{rng.randint(0, 40)}.{rng.randint(0, 30)}"
        if kind == "H":
            return f"{rng.getrandbits(160):040x}"
        return self.topic.error if self.part == 0 and self.topic.error else self.fill(rng.choice(ERRORS))


def _write_session(root: Path, author: Author, number: int, now: datetime) -> None:
    rng, topic = author.rng, author.topic
    start = now - timedelta(days=1 + rng.random() * DAYS, minutes=number)
    cwd = f"/home/ada/{rng.choice(('work', 'code', 'src'))}/{topic.project}"
    branch = author.fill(rng.choice(BRANCHES))
    seed = f"recall/{topic.project}/{author.part}"
    conversation = talk(cwd=cwd, version=rng.choice(VERSIONS), branch=branch, start=start, seed=seed)
    turns = rng.choice((1, 2, 2, 3, 3, 4, 6))
    for turn in range(turns):
        conversation = _tell_turn(conversation, author, cwd, turn)
    if rng.random() < 0.4:
        conversation = conversation.ai_title(author.say("title"))
    path = conversation.write(root)
    moment = conversation.now.timestamp()
    os.utime(path, (moment, moment))


def _tell_turn(conversation: Talk, author: Author, cwd: str, turn: int) -> Talk:
    rng, own = author.rng, author.topic.sentences
    half = own[: len(own) // 2] if author.part == 0 else own[len(own) // 2 :]
    prompt = author.say("follow") if turn else author.several("prompt", 1, 2)
    if half:
        prompt = "\n".join([half[turn % len(half)], *([prompt] if turn else [])])
    conversation = conversation.user(prompt)
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        conversation = _tell_call(conversation, author, cwd)
    answer = author.several("reply", 2, 4)
    if half:
        answer = half[(turn + 1) % len(half)] + "\n\n" + answer if turn == 0 else answer
    return conversation.reply(answer)


def _tell_call(conversation: Talk, author: Author, cwd: str) -> Talk:
    """Add a reply with one tool call, and its result."""
    rng = author.rng
    path = f"{cwd}/{author.fill('{P1}') if rng.random() < 0.6 else author.fill('{P2}')}"
    note, thought = author.say("note"), author.several("reply", 1, 2) if rng.random() < 0.3 else None
    choice = rng.random()
    if choice < 0.3:
        text = _code(author, rng.randint(8, 60))
        return conversation.reply(note, thinking=thought, call=read(path, text)).result()
    if choice < 0.65:
        command = author.fill(rng.choice(COMMANDS))
        lines = [author.say("log") for _ in range(rng.choice((4, 20, 60, 150)))]
        return conversation.reply(note, thinking=thought, call=bash(command)).result("\n".join(lines))
    if choice < 0.8:
        found = [f"{path}:{rng.randint(1, 400)}: {author.say('code').strip()}" for _ in range(rng.randint(1, 12))]
        return conversation.reply(note, call=grep(author.fill("{S1}"), cwd)).result("\n".join(found))
    if choice < 0.9:
        call = write(path, _code(author, rng.randint(5, 20)))
        return conversation.reply(note, call=call).result()
    old = conversation.files.get(path, author.say("code")).partition("\n")[0]
    return conversation.reply(note, call=edit(path, old, author.say("code"))).result()


def _code(author: Author, lines: int) -> str:
    return "\n".join(author.fill(line) for line in (phrases()["code"] * (lines // 4))[:lines])


def _copy_samples(root: Path) -> None:
    """Copy the real samples to where Claude Code would have written them."""
    for path in sorted(SAMPLES.rglob("*.jsonl")):
        folder = root / "projects" / f"-samples-{path.relative_to(SAMPLES).parts[0].replace('_', '-')}"
        if path.parent.name == "subagents":
            target = folder / path.parent.parent.name / "subagents" / path.name
        elif path.name.startswith("agent-"):
            target = folder / path.name
        else:
            target = folder / f"{_session_id(path)}.jsonl"
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target)
            target.chmod(0o600)


def _session_id(path: Path) -> str:
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict) and found.get("sessionId"):
            return str(found["sessionId"])
    return path.stem
