"""`clew show`: read a session."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator, Sequence

from clew.cli.choose import session as chosen
from clew.cli.output import clean, common, count, is_terminal, one_line, print_json, remark, size
from clew.conversation.outline import Outline
from clew.conversation.session import Session
from clew.conversation.turn import Turn
from clew.errors import NotFound
from clew.view.document import DEPTHS, Options, Row, rows
from clew.view.export import turn_json
from clew.view.opening import opening
from clew.view.terminal import print_rows


def arguments(command: ArgumentParser) -> None:
    command.add_argument("id", nargs="?", help="a session: its id, a part of it, or a path (default: the newest here)")
    command.add_argument("--depth", choices=DEPTHS, default="calls", help="how much of it (default: calls)")
    command.add_argument("--full", action="store_true", help="everything: --depth full --thinking --lines 0")
    command.add_argument("--thinking", "-t", action="store_true", help="also what the model thought")
    command.add_argument("--meta", action="store_true", help="also what the program told the model")
    command.add_argument("--no-agents", action="store_true", help="leave out what sub-agents did")
    command.add_argument("--lines", metavar="N", type=count, default=6, help="lines of a result (default 6, 0 for all)")
    command.add_argument("--turns", metavar="A-B", type=span, help="only these turns: 3, 3-7, 3-, -7")
    command.add_argument("--last", metavar="N", type=count, help="only the last N turns")
    command.add_argument("--branch", metavar="N", type=count, help="another branch, by its number in clew trace")
    command.add_argument("--reveal", action="store_true", help="do not mask secrets")
    common(command)


def span(text: str) -> tuple[int, int]:
    first, dash, last = text.partition("-")
    if not all(part.isdigit() or not part for part in (first, last)) or not (first or last):
        raise ArgumentTypeError(f"{text!r} is no range of turns: write 3, 3-7, 3- or -7")
    start = int(first or 1)
    return start, int(last) if last else (start if not dash else sys.maxsize)


def call(options: Namespace) -> int:
    session = chosen(options, options.id)
    if options.json:
        return (
            0
            if print_json(turn_json(session, turn, mask=not options.reveal) for turn in _turns(session, options))
            else 1
        )
    made = _rows(session, options)
    if not options.reveal:
        from clew.view.masked import masked

        made = masked(made)
    print_rows(made, sys.stdout, is_terminal())
    return 0


def _options(options: Namespace) -> Options:
    full = options.full or options.depth == "full"
    return Options(
        depth="full" if full else options.depth,
        thinking=options.thinking or options.full,
        agents=not options.no_agents,
        meta=options.meta,
        lines=None if full or not options.lines else options.lines,
        diff_lines=None if full or not options.lines else max(40, options.lines),
    )


def _rows(session: Session, options: Namespace) -> Iterator[Row]:
    yield from _header(session)
    wanted = _options(options)
    if options.turns or options.last is not None or options.branch is not None:
        yield from rows(session, _turns(session, options), wanted)
    else:
        yield from opening(session, wanted)
    if not options.quiet:
        _remarks(session)


def _header(session: Session) -> Iterator[Row]:
    """What is known from the two ends of the file, so that it is on the screen at once."""
    file = session.file
    if file is None:
        return
    outline = Outline(file)
    about = [
        outline.cwd or "",
        outline.branch_name or "",
        outline.when.astimezone().strftime("%Y-%m-%d %H:%M"),
        size(file.size),
        f"version {outline.version}" if outline.version else "",
    ]
    yield Row("title", outline.title or "(no prompt)")
    yield Row("about", " · ".join(part for part in about if part))
    yield Row("about", f"claude -r {session.id}")


def _turns(session: Session, options: Namespace) -> Sequence[Turn]:
    turns = session.turns
    if options.branch is not None:
        branch = next((b for b in session.branches if b.number == options.branch), None)
        if branch is None:
            raise NotFound(str(options.branch), "branch", [str(b.number) for b in session.branches])
        turns = session.turns_of(branch)
    if options.turns:
        first, last = options.turns
        turns = tuple(t for t in turns if first <= t.number <= last)
    return turns[-options.last :] if options.last else turns


def _remarks(session: Session) -> None:
    """What the reader should know and did not see."""
    others = [b for b in session.branches if not b.is_active]
    if others:
        names = ", ".join(f"{b.number} ({one_line(b.own[0].text if b.own else '', 40)})" for b in others[:3])
        remark(
            f"{len(others)} other branch{'es' if len(others) > 1 else ''}: {names}. See: clew trace {session.id[:8]}"
        )
    if session.damage:
        saved = sum(len(d.salvaged) for d in session.damage)
        remark(
            f"{len(session.damage)} damaged line{'s' if len(session.damage) > 1 else ''}, {saved} entries saved from them. "
            f"See: clew check {clean(session.id[:8])}"
        )
