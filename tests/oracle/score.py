"""Score how often clew says to the letter what the real Claude Code sends, for every version that is installed.

    python -m tests.oracle.score                                 # all versions, all cases and samples
    python -m tests.oracle.score 2.1.29 --sessions '^closing/' --show
    python -m tests.oracle.score --recorded                      # only what was asked before; starts nothing

Each session is resumed once by each version; the answers are kept beside the installed versions, so that the score of
changed code takes seconds. `equal` means that nothing differs but the form of the request (`verbatim.FORM`), `allowed`
that something of `verbatim.ALLOWED` differs. What is known to differ (`tests.oracle.differences`) counts as different.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from clew.conversation.cli_version import version_key
from tests.oracle import verbatim
from tests.oracle.cases import CASES, file_of, session_of
from tests.oracle.claude import Box, installed_versions
from tests.oracle.judge import bench, verdict
from tests.oracle.npm import cache_folder
from tests.oracle.recording import Recording

SHARED = Path(__file__).parents[3] / "shared"
ACCEPTED = "11111111-1111-4111-8111-111111111111"  # the session id of the acceptance samples


@dataclass(frozen=True)
class Sample:
    """A session to resume. `made_by` is the version that wrote it, if only that version is asked."""

    name: str
    session: str
    data: bytes
    beside: Path | None = None
    made_by: str = ""


@dataclass
class Tally:
    """The outcome for one version."""

    sessions: int = 0
    equal: int = 0
    allowed: int = 0
    missing: int = 0
    used: Counter[str] = field(default_factory=Counter)
    different: dict[str, str] = field(default_factory=dict)

    @property
    def share(self) -> float:
        return 100 * (self.equal + self.allowed) / self.sessions if self.sessions else 0.0


def case_samples(clocks: Iterable[str] = ("",)) -> Iterator[Sample]:
    """The hand-made cases, with one second between lines and, as `@life`, with the gaps of real sessions."""
    for name in (f"{case}{clock}" for clock in clocks for case in CASES):
        session = session_of(name)
        yield Sample(name, session, file_of(name, session))


def shared_samples(folder: Path) -> Iterator[Sample]:
    """The acceptance samples, for every version, and the sessions that the versions wrote, each for its own."""
    for path in sorted((folder / "acceptance").glob("*.jsonl")):
        yield Sample(f"acceptance:{path.stem}", ACCEPTED, path.read_bytes())
    for path in sorted(folder.glob("*/*/.claude/projects/*/*.jsonl")):
        version, scenario = path.relative_to(folder).parts[:2]
        if not path.stem.startswith("agent-"):
            beside = path.with_suffix("") if path.with_suffix("").is_dir() else None
            yield Sample(f"{scenario}:{path.stem[:8]}", path.stem, path.read_bytes(), beside, version)


def score(version: str, samples: Iterable[Sample], recording: Recording, *, ask: bool = True) -> Tally:
    """Compare both sides for each sample; answers that are not recorded are asked for, unless told otherwise."""
    wanted = [sample for sample in samples if sample.made_by in ("", version)]
    if ask:
        record(version, wanted, recording)
    tally = Tally()
    for sample in wanted:
        answer = recording.find(version, sample.data)
        if answer is None:
            tally.missing += 1
            continue
        used: set[str] = set()
        difference = verdict(version, sample.data, answer).difference(used)
        tally.sessions += 1
        tally.used.update(used)
        if difference:
            tally.different[sample.name] = difference
        elif used <= verbatim.FORM.keys():
            tally.equal += 1
        else:
            tally.allowed += 1
    return tally


def record(version: str, samples: Iterable[Sample], recording: Recording) -> None:
    """Ask the real program about the samples that were not asked before, in an order that mixes them."""
    left = [sample for sample in samples if recording.find(version, sample.data) is None]
    if not left:
        return
    left.sort(key=lambda sample: hashlib.sha256(sample.name.encode()).digest())
    with bench(Box, version) as boxes:
        asked = [(sample, boxes.ask(sample.data, sample.session, sample.beside)) for sample in left]
        for sample, future in asked:
            answer = future.result()
            if answer.theirs is None:  # a busy machine is slow: only what hangs twice hangs
                answer = boxes.ask(sample.data, sample.session, sample.beside).result()
            recording.keep(version, sample.data, answer)


def report(tallies: dict[str, Tally]) -> Iterator[str]:
    yield "| version | sessions | equal | allowed | different | right |"
    yield "|---|---|---|---|---|---|"
    for version, tally in tallies.items():
        counts = f"{tally.sessions} | {tally.equal} | {tally.allowed} | {len(tally.different)}"
        yield f"| {version} | {counts} | {tally.share:.1f} % |"
    yield ""
    yield f"| allowed difference | {' | '.join(tallies)} |"
    yield "|---" * (len(tallies) + 1) + "|"
    for name in (*verbatim.FORM, *verbatim.ALLOWED):
        yield f"| {name} | {' | '.join(str(tally.used[name]) for tally in tallies.values())} |"
    missing = sum(tally.missing for tally in tallies.values())
    if missing:
        yield f"\n{missing} sessions were not asked: run it without --recorded."


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle.score", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("versions", nargs="*", help="of Claude Code; all that are installed if none is given")
    parser.add_argument("--sessions", default="", metavar="REGEX", help="only the sessions whose names match")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth session")
    parser.add_argument("--life", action="store_true", help="the cases also with the gaps of real sessions")
    parser.add_argument("--recorded", action="store_true", help="only what was asked before")
    parser.add_argument("--show", action="store_true", help="print what differs")
    options = parser.parse_args(arguments)
    samples = [*case_samples(("", "@life") if options.life else ("",)), *shared_samples(SHARED / "oracle" / "samples")]
    samples = [sample for sample in samples if re.search(options.sessions, sample.name)][:: options.every]
    recording = Recording(cache_folder() / "answers")
    versions = options.versions or sorted(installed_versions(), key=version_key)
    tallies = {}
    for version in versions:
        tallies[version] = score(version, samples, recording, ask=not options.recorded)
        for name, difference in tallies[version].different.items() if options.show else ():
            print(f"{version} {name}: {difference}\n", file=sys.stderr)
    for line in report(tallies):
        print(line)
    return 0 if all(not tally.different for tally in tallies.values()) else 1


if __name__ == "__main__":
    raise SystemExit(main())
