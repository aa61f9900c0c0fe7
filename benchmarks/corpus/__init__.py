"""A benchmark corpus: a made-up `~/.claude` tree of any size, and the truth about it.

    python -m benchmarks.corpus DIR --size 300M --seed 1 [--big 50M] [--sessions-max 13M] [--manifest FILE]

writes DIR/projects, DIR/history.jsonl and the manifest (beside DIR unless told otherwise). The same arguments
give the same bytes. It shares no code with clew: the manifest is what clew's answers are held against. Sizes
are decimal.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

from benchmarks.corpus.agent import warm_up
from benchmarks.corpus.era import DAY, EPOCH, stamp
from benchmarks.corpus.files import Project, make_project
from benchmarks.corpus.needles import Needles
from benchmarks.corpus.plan import Plan, plan_big, plan_sessions
from benchmarks.corpus.session import Session, Told, World
from benchmarks.corpus.talk import Stage
from benchmarks.corpus.truth import Ledger, Manifest
from benchmarks.corpus.words import Lexicon, Pen
from benchmarks.corpus.writer import Budget, History, write_empty

LONGEST = 13_000_000
UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9}


def generate(root: Path, size: int, seed: int, big: int | None = None, longest: int = LONGEST) -> Manifest:
    """Write a tree of about `size` bytes below `root`, and one session of `big` bytes besides."""
    if root.exists() and any(root.iterdir()):
        raise FileExistsError(f"{root} is not empty")
    root.mkdir(parents=True, exist_ok=True)
    lexicon, ledger = Lexicon(seed), Ledger()
    world = World(root, seed, lexicon, ledger, _projects(lexicon, seed, size), History(root, ledger))
    plans = plan_sessions(size, seed, len(world.projects), longest)
    _write_strays(world, len(plans))
    _write_sessions(world, plans)
    path = None if big is None else Session(world, plan_big(big, len(plans)), big, None).write(None).name
    world.history.close(EPOCH)
    projects = len(list((root / "projects").iterdir()))
    return ledger.manifest(seed=seed, asked=size, epoch=stamp(EPOCH), projects=projects, big=path)


def _projects(lexicon: Lexicon, seed: int, size: int) -> list[Project]:
    """Twenty, and one more for every ten million bytes up to sixty."""
    pen = Pen(lexicon, Random(f"{seed}:projects"))
    projects: dict[str, Project] = {}
    while len(projects) < min(60, 20 + size // 10_000_000):
        project = make_project(pen, len(projects))
        projects.setdefault(project.folder, project)
    return list(projects.values())


def _write_sessions(world: World, plans: list[Plan]) -> None:
    """Every session; each makes up for what those before it wrote too much or too little."""
    due = 0
    last: Told | None = None
    for plan in plans:
        due += plan.size
        missing = due - world.ledger.events["bytes"]
        folder = world.root / "projects" / world.projects[plan.project].folder
        if missing < plan.size // 4 and plan.plain and folder.exists():
            continue  # those before it have used up its share
        size = max(1000, missing if plan is plans[-1] else min(missing, plan.size * 2))
        source = last if plan.fork else None
        last = Session(world, plan, size, source).write(source)


def _write_strays(world: World, sessions: int) -> None:
    """What is no conversation: empty files and warm-up agents."""
    pen = Pen(world.lexicon, Random(f"{world.seed}:strays"))
    for _ in range(max(2, sessions // 50)):
        project = pen.pick(world.projects)
        when = EPOCH - pen.between(60 * DAY, 89 * DAY)
        write_empty(world.root, f"projects/{project.folder}/{pen.uuid()}.jsonl", world.ledger, when)
        budget = Budget(0)
        stage = Stage(world.ledger, budget, Needles((), budget, pen.rng), project, when)
        warm_up(world.root, pen, stage)
    world.ledger.settle()


def parse_size(text: str) -> int:
    """`300M` and the like."""
    number = text.rstrip("KMGkmgB")
    return int(float(number) * UNITS[text[len(number) :].upper().rstrip("B")])
