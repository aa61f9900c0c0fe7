"""`clew compare`: two ways that a conversation went: two branches, two places of a session, or two sessions."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from clew.cli.output import clean, clean_name, common, is_terminal, print_json, remark
from clew.cli.select_session import session
from clew.errors import NotFound
from clew.system.plural import plural

if TYPE_CHECKING:
    from clew.view.comparison import Comparison, ConversationPath, FileDifference
    from clew.view.rows import Row


def arguments(command: ArgumentParser) -> None:
    command.add_argument("left", metavar="A", help="a session, or a place in one: ID, ID@TURN, ID@bBRANCH, ID@UUID")
    command.add_argument(
        "right", metavar="B", nargs="?", help="what to compare it with (default: A's branches with each other)"
    )
    command.add_argument("--files", action="store_true", help="only the files")
    command.add_argument("--depth", choices=("prompts", "replies", "calls", "full"), default="replies")
    command.add_argument("--reveal", action="store_true", help="do not mask secrets")
    common(command)


def call(options: Namespace) -> int:
    from clew.view.comparison import Comparison

    left, right = _ways(options)
    made = Comparison(left, right)
    if options.json:
        print_json(told(made, options.reveal))
    else:
        show(made, options)
    return 0 if made.differences or made.shared < max(len(left.turns), len(right.turns)) else 1


def _ways(options: Namespace) -> tuple[ConversationPath, ConversationPath]:
    from clew.view.comparison import way

    left = _way(options, options.left)
    if options.right is not None:
        return left, _way(options, options.right)
    others = [branch for branch in left.session.branches if not branch.is_active]
    if "@" in options.left or not others:
        missing = NotFound(options.left, kind="second way")
        missing.hint = "Name what to compare it with: clew compare A B; branches are listed by: clew trace"
        raise missing
    active = next((b.number for b in left.session.branches if b.is_active), None)
    return way(left.session, f"b{others[-1].number}"), way(left.session, f"b{active}" if active else "")


def _way(options: Namespace, asked: str) -> ConversationPath:
    from clew.view.comparison import way

    name, at, place = asked.rpartition("@")
    if not at or os.path.exists(asked):
        name, place = asked, ""
    return way(session(options, name, archived=True), place)


def show(made: Comparison, options: Namespace) -> None:
    """Print a comparison as people read it. `options` are those of this command."""
    from clew.view.mask_rows import masked
    from clew.view.row_terminal import print_rows

    found = _rows(made, None if options.files else options.depth)
    print_rows(found if options.reveal else masked(found), sys.stdout, is_terminal())
    if not made.differences and not options.quiet:
        remark("No file differs, as far as the records of the calls tell. What commands changed is not in them.")


def _rows(made: Comparison, depth: str | None) -> Iterator[Row]:
    from clew.view.rows import Row, ViewOptions, rows

    if depth:
        same = f"{made.shared} turn{' is' if made.shared == 1 else 's are'} the same"
        yield Row("about", f"{same} in {clean_name(made.left.name)} and {clean_name(made.right.name)}.")
        for way in (made.left, made.right):
            yield Row("about")
            yield Row("title", f"{way.name}: {_took(way, made.shared)}")
            yield from rows(way.session, way.turns[made.shared :], ViewOptions(depth=depth))
        yield Row("about")
    for difference in made.differences:
        yield Row("diff", "\n".join(_diff(difference, made)))


def _took(way: ConversationPath, shared: int) -> str:
    own = way.turns[shared:]
    calls = sum(len(turn.calls) for turn in own)
    parts = [f"{plural(len(own), 'turn')} of its own", plural(calls, "call")]
    models = dict.fromkeys(reply.model for turn in own for reply in turn.replies if reply.model)
    return ", ".join([*parts, *(clean_name(str(model)) for model in models)])


def _diff(difference: FileDifference, made: Comparison) -> list[str]:
    names = [
        clean_name(f"{way.name}/{difference.path.lstrip('/')}") if state.is_there else "/dev/null"
        for way, state in ((made.left, difference.left), (made.right, difference.right))
    ]
    lines = difference.lines(*names)
    return lines or [f"--- {names[0]}", f"+++ {names[1]}", "(nothing tells what one of them held)"]


def told(made: Comparison, reveal: bool) -> Iterator[dict[str, Any]]:
    """The comparison as JSON lines."""
    from clew.facts.secrets.mask_secrets import mask

    def masked(text: str) -> str:
        return text if reveal else mask(clean(text))[0]

    sides = [("a", made.left), ("b", made.right)]
    for side, way in sides:
        own = [
            {"number": t.number, "text": masked(t.text), "answer": masked(t.answer)} for t in way.turns[made.shared :]
        ]
        yield {
            "kind": "way",
            "side": side,
            "session": way.session.id,
            "name": way.name,
            "shared": made.shared,
            "turns": own,
        }
    for difference in made.differences:
        diff = masked("\n".join(_diff(difference, made)))
        is_there = {side: state.is_there for side, state in (("a", difference.left), ("b", difference.right))}
        yield {"kind": "file", "path": difference.path, "exists": is_there, "diff": diff}
