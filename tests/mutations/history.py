"""Mutations of the sections history and overall, and of what the collector keeps as its state."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import count

from msgspec.structs import replace

from clew.collect import ingest
from clew.collect.sinks import state_file
from clew.conversation import load
from clew.report import reconcile
from clew.wire import prompt_history, timestamps
from tests.mutations import Patch, violates


@violates("R335", "the time of a prompt is read as seconds")
def times_are_seconds(patch: Patch) -> None:
    @patch.wrap(prompt_history._prompt)
    def wrong(original, value, line):
        moment = value.get("timestamp")
        return original({**value, "timestamp": moment * 1000} if isinstance(moment, int) else value, line)


@violates("R336", "prompts do not know their session")
def prompts_name_no_session(patch: Patch) -> None:
    @patch.wrap(prompt_history._prompt)
    def wrong(original, value, line):
        return replace(original(value, line), session_id=None)


@violates("R338", "numbers that differ are not compared")
def nothing_differs(patch: Patch) -> None:
    @patch.wrap(reconcile.compare_stats)
    def wrong(original, *args):
        return (each._replace(ours=each.theirs, why="") for each in original(*args))


@violates("R348", "a time with an offset is taken for one in UTC")
def offsets_are_dropped(patch: Patch) -> None:
    @patch.wrap(timestamps.parse_timestamp)
    def wrong(original, value):
        found = original(value)
        if isinstance(value, str) and found and (moment := datetime.fromisoformat(value)).utcoffset():
            return found + (moment.utcoffset() or timedelta())
        return found


@violates("R350", "sessions come in another order every other time")
def order_alternates(patch: Patch) -> None:
    times = count()

    @patch.wrap(load.sessions)
    def wrong(original, *args, **more):
        found = list(original(*args, **more))
        yield from found if next(times) % 2 else reversed(found)


@violates("R318", "what a broken state does not name counts as delivered")
def broken_state_delivers_nothing(patch: Patch) -> None:
    @patch.wrap(state_file.StateCursor._start)
    def wrong(original, self, point, saved, mtime, offset, *rest):
        return offset if point is None else original(self, point, saved, mtime, offset, *rest)


@violates("R321", "stubs are delivered")
def stubs_are_delivered(patch: Patch) -> None:
    @patch.wrap(ingest.is_warmup)
    def wrong(original, file, size):
        return False
