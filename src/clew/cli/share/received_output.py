"""Write sessions that arrive, and print what happened to each."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from clew.cli.output import clean_name, is_terminal, print_json, print_message
from clew.system.plural import plural
from clew.system.shell_quoting import resume_command

if TYPE_CHECKING:
    from clew.edit.arrival import Arrival
    from clew.edit.receive_sessions import Received
    from clew.wire.layout import Tree

_SENTENCES = {
    "new": ("arrived", "would arrive"),
    "same": ("is there already", "is there already"),
    "ahead": ("is there already, and longer", "is there already, and longer"),
    "grown": ("got the lines it lacked", "would get the lines it lacks"),
    "diverged": ("was continued in both places: joined as", "was continued in both places and would be joined as"),
    "merged": ("was continued in both places: joined before as", "was continued in both places: joined before as"),
    "busy": ("is in use by Claude Code and was left as it is", "is in use by Claude Code and would be left as it is"),
}


def describe(state: str, merged: str = "", problem: str = "", *, is_done: bool) -> str:
    """Say what happened to a session, or what would happen."""
    if problem and state == "diverged":
        return f"differs from the one that is there, and was left out: {problem}"
    sentence = _SENTENCES[state][not is_done]
    warning = f"; Claude Code would not resume it: {problem}" if problem else ""
    return f"{sentence}{f' {merged}' if merged else ''}{warning}"


def finish(options: Namespace, arrivals: Sequence[Arrival], tree: Tree, what: str, source: str) -> int:
    """Write the arrivals unless this is a dry run, and print the result. Return the exit code."""
    from clew.edit.receive_sessions import Received, receive

    number, results = None, [Received(arrival) for arrival in arrivals]
    if not options.dry_run:
        number, results = receive(arrivals, tree, what, source)
    if options.json:
        print_json(_json(options, result, number) for result in results)
    else:
        for result in results:
            _print(options, result)
        if number and is_terminal() and not options.quiet:
            print(f"Undo with:  clew undo {number}", file=sys.stderr)
    is_incomplete = any(result.problem or result.arrival.state == "busy" for result in results)
    return 1 if is_incomplete or not results else 0


def _json(options: Namespace, result: Received, number: str | None) -> dict[str, Any]:
    arrival = result.arrival
    return {
        "kind": "arrival",
        "session": arrival.id,
        "state": arrival.state,
        "written": arrival.changes and not options.dry_run,
        "path": str(arrival.target),
        "cwd": arrival.cwd or None,
        "files": len(arrival.files) + len(arrival.appends),
        "kept": list(arrival.kept),
        "merged": arrival.merged_id or None,
        "problem": result.problem or None,
        "undo": number,
    }


def _print(options: Namespace, result: Received) -> None:
    arrival = result.arrival
    if result.problem and arrival.state == "diverged":
        print_message(clean_name(f"clew: {arrival.id[:8]} {describe('diverged', '', result.problem, is_done=True)}."))
        return
    count = len(arrival.files) + len(arrival.appends)
    files = f" ({plural(count, 'file')})" if count else ""
    sentence = describe(arrival.state, arrival.merged_id, is_done=not options.dry_run)
    print(clean_name(f"{arrival.id}  {sentence}{files}"))
    if arrival.kept:
        print(clean_name(f"  kept as they are, though other ones arrived: {', '.join(arrival.kept)}"))
    if arrival.parts.is_loose and arrival.state == "new" and not options.quiet:
        print_message(_missing_parts(arrival))
    if result.problem:
        print_message(clean_name(f"clew: Claude Code would not resume {arrival.id[:8]}: {result.problem}."))
    elif arrival.changes and not options.dry_run:
        print(f"  Resume with:  {resume_command(arrival.merged_id or arrival.id, arrival.cwd)}")
        if arrival.cwd and not os.path.isdir(arrival.cwd) and not options.quiet:
            print_message(clean_name(f"{arrival.cwd} is not a folder on this machine. Name another with --to."))


def _missing_parts(arrival: Arrival) -> str:
    """Say what was next to a loose transcript, and what cannot be there."""
    agents, outputs = arrival.parts.count("subagents"), arrival.parts.count("tool-results")
    found = f"{plural(agents, 'agent file')} and {plural(outputs, 'long output')} were next to it"
    return f"{found}; file history, todo lists and plans were not, so a rewind of files is not possible."
