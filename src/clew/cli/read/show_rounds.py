"""`clew show --rounds`: the rounds of a session, with their kinds, features and complexity."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence

from clew.cli.output import print_json, print_message
from clew.cli.text_columns import Column, print_table
from clew.cli.turn_range import select_turns, selects_part
from clew.conversation.rounds import Round, rounds_of
from clew.conversation.session import Session
from clew.view.round_labels import describe_round, round_json
from clew.view.sanitize import clean, format_duration, one_line
from clew.wire.timestamps import parse_timestamp

WIDTH = 72  # columns of an input in a pipe; on a terminal it takes what is left
_COLUMNS: Sequence[Column] = (
    ("ROUND", lambda r: str(r["round"])),
    ("KIND", lambda r: r["round_kind"]),
    ("TIME", lambda r: f"{when.astimezone():%Y-%m-%d %H:%M}" if (when := parse_timestamp(r["time"])) else "?"),
    ("TOOK", lambda r: format_duration(r["seconds"]) if r["seconds"] is not None else ""),
    ("INPUT", lambda r: r["input"]),
    ("COMPLEXITY", lambda r: r["complexity"] or "-"),
    ("FEATURES", describe_round),
    ("TEXT", lambda r: one_line(clean(r["text"]), WIDTH) or "(no text)"),
)


def chosen_rounds(session: Session, options: Namespace) -> list[Round]:
    """Return the rounds that were asked for: all of the file, or those of some turns or of a branch."""
    rounds = session.rounds if options.gap is None else rounds_of(session, options.gap)
    if not selects_part(options):
        return list(rounds)
    wanted = {turn.round.number for turn in select_turns(session, options) if turn.round}
    return [each for each in rounds if each.number in wanted]


def print_rounds(session: Session, options: Namespace) -> int:
    """Print the rounds as a table or as JSON lines."""
    turns = {turn.prompt.offset: turn.number for turn in session.turns}
    rounds = chosen_rounds(session, options)
    values = [round_json(each, turns.get(each.entry.offset), not options.reveal) for each in rounds]
    if options.json:
        print_json(values)
    elif values:
        print_table(values, _COLUMNS)
    if not values and not options.quiet:
        print_message("This session has no rounds: it holds no user message.")
    return 0 if values else 1
