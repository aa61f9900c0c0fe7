"""Receive sessions from a pack, a file or another tree: plan all of them, write them as one edit, check each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from clew.edit.arrival import DIVERGED, Arrival, check_arrival, plan_arrival, write_merged
from clew.edit.move_files import MoveJob, is_interrupted, move_files
from clew.errors import Refused
from clew.wire.layout import Tree
from clew.wire.session_parts import SessionParts


class Received(Struct, frozen=True):
    """What happened to one session: `problem` says why Claude Code would not resume it, or why it was left out."""

    arrival: Arrival
    problem: str = ""


def plan_all(sessions: Sequence[SessionParts], tree: Tree, to: str = "") -> list[Arrival]:
    """Plan the arrival of sessions in a tree; a file that several of them have is written once."""
    arriving = frozenset(parts.id for parts in sessions)
    planned: list[Arrival] = []
    taken: set[Path] = set()
    for parts in sessions:
        arrival = plan_arrival(parts, tree, to, arriving)
        files = tuple(move for move in arrival.files if move.target not in taken)
        appends = tuple(each for each in arrival.appends if each.path not in taken)
        taken |= {*(move.target for move in files), *(each.path for each in appends)}
        planned.append(replace(arrival, files=files, appends=appends))
    return planned


def receive(arrivals: Sequence[Arrival], tree: Tree, what: str, source: str) -> tuple[str | None, list[Received]]:
    """Write all arrivals; return the number of the undo record and the result for each session."""
    files = [move for arrival in arrivals for move in arrival.files]
    appends = [each for arrival in arrivals for each in arrival.appends]
    job = MoveJob(what, source, str(tree.root.absolute()), tree.root, files, appends=appends, is_copy=True)
    number = move_files(job) if files or appends or is_interrupted(job) else None
    return number, [_settle(arrival, tree) for arrival in arrivals]


def _settle(arrival: Arrival, tree: Tree) -> Received:
    """Join a session that was continued in both places, then look it up as Claude Code does."""
    try:
        if arrival.state == DIVERGED:
            write_merged(arrival)
        return Received(arrival, check_arrival(tree, arrival) if arrival.changes else "")
    except Refused as refused:
        return Received(arrival, "; ".join(refused.violations))
