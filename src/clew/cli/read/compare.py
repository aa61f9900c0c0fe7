"""`clew compare`: compare two branches, two points of a session, or two sessions."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator

from clew.cli.options import add_common_options
from clew.cli.output import clean, clean_name, print_json, print_message
from clew.errors import NotFound
from clew.system.plural import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clew.conversation.session import Session
    from clew.view.comparison import Comparison, ConversationPath, FileDifference
    from clew.view.row_types import Row


def add_arguments(command: ArgumentParser) -> None:
    command.add_argument("left", metavar="A", help="a session, or a point in one: ID, ID@TURN, ID@bBRANCH, ID@UUID")
    command.add_argument(
        "right",
        metavar="B",
        nargs="?",
        help="the session or point to compare with (default: compare the branches of A)",
    )
    command.add_argument("--files", action="store_true", help="compare only the files")
    command.add_argument(
        "--depth",
        choices=("prompts", "replies", "calls", "full"),
        default="replies",
        help="how much to show (default: replies)",
    )
    command.add_argument("--reveal", action="store_true", help="do not mask secrets")
    add_common_options(command)


def run(options: Namespace) -> int:
    left, right = parse_sides(options)
    from clew.view.comparison import Comparison

    comparison = Comparison(left, right)
    if options.json:
        print_json(comparison_json(comparison, options.reveal))
    else:
        print_comparison(comparison, options)
    return 0 if comparison.differences or comparison.shared < max(len(left.turns), len(right.turns)) else 1


def parse_sides(options: Namespace) -> tuple[ConversationPath, ConversationPath]:
    """Return the two paths to compare. A session that is on both sides is read once."""
    left = _parse_side(options, options.left)
    if options.right is not None:
        return left, _parse_side(options, options.right, left.session)
    from clew.view.comparison import conversation_path

    others = [branch for branch in left.session.branches if not branch.is_active]
    if "@" in options.left or not others:
        raise NotFound(
            options.left,
            kind="second branch",
            hint="Name both sides: clew compare A B. List the branches with: clew trace",
        )
    active = next((b.number for b in left.session.branches if b.is_active), None)
    return conversation_path(left.session, f"b{others[-1].number}"), conversation_path(
        left.session, f"b{active}" if active else ""
    )


def _parse_side(options: Namespace, text: str, other: Session | None = None) -> ConversationPath:
    """Return the path that a side names. If it is one of the `other` side's session, that is not read again."""
    from clew.cli.select_session import open_session

    name, separator, position = text.rpartition("@")
    if not separator or os.path.exists(text):
        name, position = text, ""
    session = open_session(options, name, archived=True)
    from clew.view.comparison import conversation_path

    return conversation_path(other if other and other.path == session.path else session, position)


def print_comparison(comparison: Comparison, options: Namespace) -> None:
    """Print a comparison as text. `options` are those of this command."""
    from clew.view.mask_rows import mask_rows
    from clew.view.row_terminal import print_rows

    printed_rows = _rows(comparison, None if options.files else options.depth)
    print_rows(printed_rows if options.reveal else mask_rows(printed_rows), sys.stdout)
    if not comparison.differences and not options.quiet:
        print_message("No file differs in the recorded edits. Changes made by shell commands are not recorded.")


def _rows(comparison: Comparison, depth: str | None) -> Iterator[Row]:
    from clew.view.row_types import AboutRow, DiffRow, TitleRow
    from clew.view.rows import ViewOptions, rows

    if depth:
        same = f"{comparison.shared} turn{' is' if comparison.shared == 1 else 's are'} the same"
        yield AboutRow(f"{same} in {clean_name(comparison.left.name)} and {clean_name(comparison.right.name)}.")
        for side in (comparison.left, comparison.right):
            yield AboutRow()
            yield TitleRow(f"{side.name}: {_summarise(side, comparison.shared)}")
            yield from rows(side.session, side.turns[comparison.shared :], ViewOptions(depth=depth))
        yield AboutRow()
    for difference in comparison.differences:
        yield DiffRow("\n".join(_diff(difference, comparison)))


def _summarise(side: ConversationPath, shared: int) -> str:
    turns = side.turns[shared:]
    calls = sum(len(turn.calls) for turn in turns)
    parts = [f"{plural(len(turns), 'turn')} of its own", plural(calls, "call")]
    models = dict.fromkeys(reply.model for turn in turns for reply in turn.replies if reply.model)
    return ", ".join([*parts, *(clean_name(str(model)) for model in models)])


def _diff(difference: FileDifference, comparison: Comparison) -> list[str]:
    names = [
        clean_name(f"{side.name}/{difference.path.lstrip('/')}") if state.is_there else "/dev/null"
        for side, state in ((comparison.left, difference.left), (comparison.right, difference.right))
    ]
    lines = difference.lines(*names)
    return lines or [f"--- {names[0]}", f"+++ {names[1]}", "(the content of one of them is not recorded)"]


def comparison_json(comparison: Comparison, reveal: bool) -> Iterator[dict[str, Any]]:
    """Yield the comparison as JSON lines."""
    from clew.facts.secrets.mask_secrets import mask

    def masked(text: str) -> str:
        return text if reveal else mask(clean(text))[0]

    sides = [("a", comparison.left), ("b", comparison.right)]
    for side, path in sides:
        turns = [
            {"number": t.number, "text": masked(t.text), "answer": masked(t.answer)}
            for t in path.turns[comparison.shared :]
        ]
        yield {
            "kind": "way",
            "side": side,
            "session": path.session.id,
            "name": path.name,
            "shared": comparison.shared,
            "turns": turns,
        }
    for difference in comparison.differences:
        diff = masked("\n".join(_diff(difference, comparison)))
        is_there = {side: state.is_there for side, state in (("a", difference.left), ("b", difference.right))}
        yield {"kind": "file", "path": difference.path, "exists": is_there, "diff": diff}
