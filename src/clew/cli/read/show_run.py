"""Run `clew show`: print the selected part of a session."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator
from itertools import chain

from clew.cli.output import clean, format_size, one_line, print_json, print_message
from clew.cli.read.show_rounds import print_rounds
from clew.cli.turn_range import select_turns, selects_part
from clew.conversation.load import request
from clew.conversation.session import Session
from clew.conversation.session_listing import Outline
from clew.conversation.surroundings import Surroundings
from clew.errors import ClewError
from clew.facts.secrets.mask_secrets import mask
from clew.system import shell_quoting
from clew.system.plural import noun, plural
from clew.view.mask_rows import mask_rows
from clew.view.progressive import progressive_rows
from clew.view.row_terminal import print_rows
from clew.view.row_types import AboutRow, Row, TitleRow
from clew.view.rows import ViewOptions, rows
from clew.view.surrounding_rows import around_json, around_rows, visibility
from clew.view.turn_json import turn_json


def show_session(session: Session, options: Namespace) -> int:
    if options.todos:
        from clew.cli.read.show_todos import show_todos

        return show_todos(session, options)
    if options.rounds:
        if not options.json:
            _print(_header(session, options), options)
            print()
        return print_rounds(session, options)
    if options.around is not None or options.messages is not None:
        return _show_around(session, options)
    if options.json:
        turns = select_turns(session, options)
        shown = print_json(turn_json(session, turn, mask=not options.reveal) for turn in turns)
        if left_out := request(session).left_out:
            print_json([{"kind": "left_out", "attachments": left_out}])
        return 0 if shown else 1
    _print(_rows(session, options), options)
    if not options.quiet:
        sys.stdout.flush()
        _print_notices(session, options.branch, options.reveal)
    return 0


def _print(printed_rows: Iterator[Row], options: Namespace) -> None:
    if not options.reveal:
        printed_rows = mask_rows(printed_rows)
    print_rows(printed_rows, sys.stdout)


def _show_around(session: Session, options: Namespace) -> int:
    if options.around is None:
        raise ClewError("-n counts the messages around a place: name it with --around LINE or --around UUID.")
    if selects_part(options):
        raise ClewError("--around chooses its own part of a session: leave out --turns, --last and --branch.")
    count = 5 if options.messages is None else options.messages
    surroundings = session.around(options.around, count, None if options.json else visibility(_options(options)))
    if options.json:
        return 0 if print_json(around_json(surroundings, not options.reveal)) else 1
    _print(chain(_header(session, options), around_rows(surroundings, _options(options))), options)
    if not options.quiet and (where := _elsewhere(surroundings)):
        sys.stdout.flush()
        print_message(where)
    return 0


def _elsewhere(surroundings: Surroundings) -> str:
    """Where the messages stand, if that is not the active path of the session."""
    if surroundings.agent:
        return f"These messages are those of the agent {one_line(surroundings.agent)}."
    return (
        f"These messages are on branch {surroundings.branch}, which the conversation left."
        if surroundings.branch
        else ""
    )


def _options(options: Namespace) -> ViewOptions:
    full = options.full or options.depth == "full"
    return ViewOptions(
        depth="full" if full else options.depth,
        thinking=options.thinking or options.full,
        agents=not options.no_agents,
        meta=options.meta,
        lines=None if full or not options.lines else options.lines,
        diff_lines=None if full or not options.lines else max(40, options.lines),
    )


def _rows(session: Session, options: Namespace) -> Iterator[Row]:
    view = _options(options)
    body = (
        rows(session, select_turns(session, options), view)
        if selects_part(options)
        else progressive_rows(session, view)
    )
    yield from _header(session, options)
    yield from body


def _header(session: Session, options: Namespace) -> Iterator[Row]:
    """Yield the header as known from the two ends of the file, so that it is shown immediately."""
    file = session.file
    if file is None:
        return
    outline = Outline(file)
    about = [
        outline.cwd or "",
        outline.branch_name or "",
        outline.when.astimezone().strftime("%Y-%m-%d %H:%M"),
        format_size(file.size),
        outline.program,
        outline.slug or "",
        f"#{outline.tag}" if outline.tag else "",
    ]
    yield TitleRow(one_line(outline.title) or "(no prompt)")
    yield AboutRow(" · ".join(one_line(part) for part in about if part))
    if options.store_tree:
        from clew.cli.store_source import describe_owner, restore_command

        yield AboutRow(one_line(describe_owner(options, str(file.path))))
        yield AboutRow(restore_command(options, _resumable(session)))
        return
    yield AboutRow(shell_quoting.join_command(shell_quoting.resume_arguments(_resumable(session))))


def _resumable(session: Session) -> str:
    """Return the id to resume: for the file of a sub-agent that of its session."""
    if session.path is None or not session.path.name.startswith("agent-"):
        return session.id
    return next((entry.session_id for entry in session.entries if entry.session_id), session.id)


def _print_notices(session: Session, shown: int | None, reveal: bool) -> None:
    """Print what was left out and what a reader should know about it."""
    if not session.turns:
        print_message("This session has no prompts.")
    others = [b for b in session.branches if (b.number != shown if shown else not b.is_active)]
    if others:
        prompts = [clean((b.own or b.prompts[-1:])[0].text) for b in others[:3]]
        texts = prompts if reveal else [mask(text)[0] for text in prompts]
        names = ", ".join(f"{b.number} ({one_line(text, 40)})" for b, text in zip(others, texts, strict=False))
        print_message(
            f"{plural(len(others), 'other branch')}: {names}. See: {shell_quoting.session_command('trace', session.id)}"
        )
    if session.cut is not None:
        kept = {entry.uuid for entry in session.resume_links.path_to(session.leaf)} if session.leaf else set()
        lost = [turn for turn in session.turns if turn.prompt.uuid not in kept]
        back = f"Bring {noun(len(lost), 'it', 'them')} back with: {shell_quoting.session_command('repair', session.id)}"
        print_message(
            f"A resume begins at line {session.cut.line.number}, whose parent is missing: it loses "
            f"{plural(len(lost), 'prompt')} before it. {back}"
        )
    if left_out := request(session).left_out:
        print_message(
            f"A resume also sends {plural(left_out, 'attachment')} in the words of Claude Code, "
            f"which {noun(left_out, 'is', 'are')} not shown here. See: {shell_quoting.session_command('check', session.id)}"
        )
    if session.damage:
        count, saved = len(session.damage), sum(len(d.salvaged) for d in session.damage)
        entries = f"{plural(saved, 'entry')} saved from {'it' if count == 1 else 'them'}"
        print_message(
            f"{plural(count, 'damaged line')}, {entries}. See: {shell_quoting.session_command('check', session.id)}"
        )
