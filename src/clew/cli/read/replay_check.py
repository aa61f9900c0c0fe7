"""`clew replay --check` and `--live`: run a session again and report the differences."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from clew.cli.output import clean, one_line, print_json, print_message
from clew.errors import ClewError, Refused
from clew.system.plural import plural

if TYPE_CHECKING:
    from clew.chat.replay.live_tools import LiveTools, RepeatedCall
    from clew.chat.replay.recording import Recording
    from clew.chat.replay.replay_diff import ReplayComparison
    from clew.conversation.session import Session

_MOST = 20  # maximum number of differences to show


def check(session: Session, options: Namespace) -> int:
    """Return 0 if the replay agrees with the recording, 1 if not."""
    from clew.chat.replay.load_recording import load_recording
    from clew.chat.replay.replay_diff import compare, with_recorded_ids
    from clew.chat.replay.replay_run import play

    recorded = load_recording(session)
    with ExitStack() as stack:
        live = _live(recorded, options, stack) if options.live else None
        played = asyncio.run(play(recorded, live))
    comparison = compare(session, recorded, played)
    if options.output:
        _write(Path(options.output), session.id, with_recorded_ids(session, recorded, played))
    runs = live.runs if live else []
    if options.json:
        print_json(_check_json(session.id, comparison, runs, options))
    else:
        _show(comparison, runs, options)
    if live:
        return 1 if any(run.state == "other" for run in runs) else 0
    return 1 if comparison.differs else 0


def _live(recorded: Recording, options: Namespace, stack: ExitStack) -> LiveTools:
    """Return tools that run in a copy of the project, or in the project itself with --in-place."""
    from clew.chat.replay.live_tools import LiveTools, load_permissions
    from clew.chat.replay.scratch_folder import copy_project
    from clew.system import environment
    from clew.wire.layout import claude_dir

    named = options.folder or recorded.cwd
    folder = Path(named).resolve() if named else None
    if folder is None or not folder.is_dir():
        raise ClewError(
            f"The folder of the session is not here: {named or '(none)'}.",
            hint="Name where the project is now with --folder DIR.",
        )
    if not options.in_place:
        scratch = Path(stack.enter_context(TemporaryDirectory(prefix="clew-replay-"))).resolve()
        folder = copy_project(folder, scratch / folder.name)
        folder.mkdir(exist_ok=True)
    permits = load_permissions(folder, claude_dir(options.claude_dir), Path(environment.user_home()), options.allow)
    return LiveTools(recorded, folder, permits)


def _write(folder: Path, session_id: str, transcripts: dict[str, list[dict[str, Any]]]) -> None:
    """Write the files of a replay in the layout of a project folder."""
    from clew.wire.session_writer import create

    for agent, lines in transcripts.items():
        path = folder / session_id / "subagents" / f"agent-{agent}.jsonl" if agent else folder / f"{session_id}.jsonl"
        if not path.resolve().is_relative_to(folder.resolve()):
            raise Refused([f"an agent of the session has a name that is not a file name: {agent!r}"])
        if lines:
            create(path, lines)


def _show(comparison: ReplayComparison, runs: list[RepeatedCall], options: Namespace) -> None:
    if not runs:
        bytewise = ", every byte of them" if comparison.identical else ""
        print(f"{comparison.same:,} of {plural(comparison.total, 'entry is', 'entries are')} the same{bytewise}.")
    for (state, kind, why), number in sorted(comparison.rest.items()) if not runs else ():
        print(clean(f"  {number} {state}: {kind}, {why}"))
    for pair in [p for p in comparison.of("other") if p.fields][:_MOST] if not runs else ():
        print(clean(f"  line {pair.line}, {pair.kind}:"))
        for name in pair.fields:
            print(f"    {name}: {_short(pair.recorded.get(name), options)} → {_short(pair.made.get(name), options)}")
    if comparison.moved and not runs and not options.quiet:
        print_message(f"{comparison.moved} of them are in a different order.")
    if options.live:
        _show_runs(runs, options)


def _show_runs(runs: list[RepeatedCall], options: Namespace) -> None:
    counts = [sum(run.state == state for run in runs) for state in ("same", "other", "not run")]
    same = f"{counts[0]} of {plural(len(runs), 'call returns', 'calls return')} the same result"
    print(f"{same}, {counts[1]} a different one, {counts[2]} were not run again.")
    for run in runs:
        if run.state == "not run":
            print(clean(f"  {run.name}: not run again, {run.why}"))
        elif run.state == "other":
            print(clean(f"  {run.name}: {run.why or 'the result is different'}"))
            for line in run.diff:
                print(f"    {_masked(line, options)}")


def _short(value: Any, options: Namespace) -> str:
    from clew.wire.json_codec import encode

    return one_line(_masked(encode(value).decode("utf-8", "replace"), options), 160)


def _masked(text: str, options: Namespace) -> str:
    from clew.facts.secrets.mask_secrets import mask

    return clean(text) if options.reveal else mask(clean(text))[0]


def _check_json(
    session_id: str, comparison: ReplayComparison, runs: list[RepeatedCall], options: Namespace
) -> Iterator[dict[str, Any]]:
    from clew.facts.secrets.mask_secrets import mask_data

    yield {
        "kind": "replay",
        "session": session_id,
        "same": comparison.same,
        "total": comparison.total,
        "identical": comparison.identical,
        "moved": comparison.moved,
        "rest": [
            {"state": state, "entry": kind, "why": why, "count": number}
            for (state, kind, why), number in sorted(comparison.rest.items())
        ],
    }
    for run in runs:
        data = {
            "kind": "call",
            "call": run.call,
            "tool": run.name,
            "state": run.state,
            "why": run.why,
            "diff": run.diff,
        }
        yield data if options.reveal else mask_data(data)[0]
