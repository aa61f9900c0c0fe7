"""The MCP tools: a table of names, arguments and functions. All of them only read, and none depends on the protocol."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from clew.collect.archive.archived_sessions import ArchivedSessions
from clew.conversation.load import read
from clew.conversation.rounds import rounds_of
from clew.conversation.session import Session
from clew.conversation.session_listing import Outline
from clew.conversation.turn_numbers import TurnRange
from clew.conversation.turns import Turn
from clew.errors import READ_ERRORS, UNEXPECTED_ERRORS, ClewError, NotFound, Refused
from clew.index.results import next_command
from clew.index.surrounding_turns import TurnWindow, turns_around
from clew.mcp import tool_arguments
from clew.mcp.file_tools import blame_file, list_file_changes
from clew.mcp.quoted_text import LONGEST, QuotedPage, back, page, quote, quoted_rows, safe, text
from clew.mcp.search_tool import list_blocks, search_sessions
from clew.mcp.usage_tool import count_usage, projects_of
from clew.system.file_errors import describe_error
from clew.system.plural import plural
from clew.view.round_labels import describe_round, round_json
from clew.view.rows import ViewOptions, rows
from clew.view.sanitize import clean, one_line
from clew.view.surrounding_rows import around_rows, visibility
from clew.wire.content_time import is_within, newest_first
from clew.wire.known_sessions import list_gone_sessions
from clew.wire.layout import Tree
from clew.wire.lookup import find_session
from clew.wire.timestamps import parse_user_time

LONGEST_TEXT = 200  # characters of an input in a list of rounds
_ID = re.compile(r"[0-9a-fA-F-]+")
_LAST = re.compile(r"\s*last\s+(\d+)\s*")


class ServedTool(NamedTuple):
    """A tool: its description, its arguments, and the function that answers a call."""

    about: str
    question: type[msgspec.Struct]
    answer: Callable[[Tree, Any], str]


class McpToolError(Exception):
    """A call that failed; the text is for the model to read."""


def call(tree: Tree, name: str, arguments: dict[str, Any]) -> str:
    """Answer one call. Raises McpToolError with one sentence, and a second one with the next step."""
    tool = TOOLS.get(name)
    if tool is None:
        raise McpToolError(f"There is no tool {clean(name)!r}.\nThe tools are {', '.join(TOOLS)}.")
    try:
        return tool.answer(tree, msgspec.convert(arguments, tool.question, strict=False))
    except msgspec.ValidationError as error:
        wanted = ", ".join(schema(tool)["properties"])
        raise McpToolError(f"{clean(str(error))}.\nThe arguments of {name} are {wanted}.") from None
    except ClewError as error:
        raise McpToolError(clean(f"{error}\n{_hint(error)}").rstrip()) from None
    except OSError as error:
        raise McpToolError(clean(f"{error.filename or 'A file'}: {error.strerror}.\nTry again.")) from None
    except ValueError as error:
        raise McpToolError(f"{clean(str(error))}.") from None
    except UNEXPECTED_ERRORS as error:
        raise McpToolError(clean(f"The call failed: {describe_error(error)}.\nTry another session.")) from None


def schema(tool: ServedTool) -> dict[str, Any]:
    return tool_arguments.schema(tool.question)


def _hint(error: ClewError) -> str:
    """Return the next step for a client that has tools and no command line."""
    is_unexplained = isinstance(error, NotFound) and not error.hint
    return "List the sessions with list_sessions." if is_unexplained else error.hint


# -- listing


def list_sessions(tree: Tree, asked: tool_arguments.ListSessions) -> str:
    after = parse_user_time(asked.since) if asked.since else None
    found = (f for p in projects_of(tree, asked.project) for f in p.sessions() if not f.is_empty)
    blocks: list[list[str]] = []
    skipped = 0
    more = False
    for file in newest_first(f for f in found if is_within(f, after, None)):
        if (block := _listing(Outline(file))) is None:
            continue
        if skipped < asked.cursor:
            skipped += 1
        elif len(blocks) == asked.limit:
            more = True
            break
        else:
            blocks.append(block)
    if not blocks:
        raise NotFound(asked.project or asked.since or str(tree.root), "further session" if asked.cursor else "session")
    gone = len(list_gone_sessions(tree)) if not asked.project and after is None and not more else 0
    tail = [f"Sessions whose transcript is gone are not listed ({gone}): search_sessions finds them."] if gone else []
    return list_blocks("Sessions {}, newest first.", blocks, asked, more, tail)


def _listing(outline: Outline) -> list[str] | None:
    try:
        if not outline.is_conversation or outline.is_sidechain:
            return None
        dates = " to ".join(dict.fromkeys(f"{t:%Y-%m-%d}" for t in (outline.started, outline.when) if t))
        branch = f"branch {outline.branch_name}" if outline.branch_name else ""
        facts = (outline.cwd or "", branch, dates)
        about = " · ".join(safe(fact) for fact in facts if fact)
        return [f"session {outline.id}", *quote(f"title: {safe(outline.title)}"), *quote(about)]
    except READ_ERRORS:  # gone since it was listed, or full of surprises
        return None


# -- reading


def read_session(tree: Tree, asked: tool_arguments.ReadSession) -> str:
    session = _session(tree, asked.id)
    turns = _select_turns(session, asked.turns)
    last = len(session.turns)
    wanted = ViewOptions(depth=asked.depth, lines=None if asked.depth == "full" else 6)
    head = [f"Turns {turns[0].number}-{turns[-1].number} of {last} of session {session.id}."]
    branches = sum(not branch.is_active for branch in session.branches)
    if branches:
        head.append(f"Not shown: {plural(branches, 'branch')} that the conversation left.")
    body = [*_about(session), *quoted_rows(rows(session, turns, wanted))]
    shown = page(body, asked.cursor)
    following = turns[-1].number + 1
    width = max(1, len(turns))
    tail = [f'The next turns: read_session(id="{session.id}", turns="{following}-{min(last, following + width - 1)}").']
    return _paged(head, shown, tail if following <= last else [])


def list_rounds(tree: Tree, asked: tool_arguments.ListRounds) -> str:
    session = _session(tree, asked.id)
    numbers = {turn.prompt.offset: turn.number for turn in session.turns}
    found = rounds_of(session, timedelta(minutes=asked.gap))
    values = [round_json(each, numbers.get(each.entry.offset), mask=False) for each in found]
    if not values:
        raise NotFound(asked.id, "round")
    lines = []
    for value in values:
        about = ("round", "round_kind", "turn", "time", "input", "complexity")
        facts = [f"{name} {value[name]}" for name in about if value[name] is not None] + [describe_round(value)]
        lines += quote(f"{' · '.join(fact for fact in facts if fact)}: {safe(value['text'])[:LONGEST_TEXT]}")
    head = [f"{plural(len(values), 'round')} of session {session.id}, in the order of the file."]
    return _paged(head, page(lines, asked.cursor))


def read_turn(tree: Tree, asked: tool_arguments.ReadTurn) -> str:
    session = _session(tree, asked.id)
    turns = _select_turns(session, str(asked.number))
    body = quoted_rows(rows(session, turns, ViewOptions(depth="full", lines=None, diff_lines=None)))
    head = [f"Turn {asked.number} of {len(session.turns)} of session {session.id}, whole."]
    return _paged(head, page(body, asked.cursor))


def read_context(tree: Tree, asked: tool_arguments.ContextArguments) -> str:
    if bool(asked.id) == bool(asked.path):
        raise Refused(["context needs either an id or a path"])
    session = _session(tree, asked.id) if asked.id else _at(tree, asked.path)
    if asked.place:
        return _messages_around(session, asked)
    if asked.offset < 0:
        raise Refused(["context needs either an offset or a place"])
    found = turns_around(session, asked.offset, asked.around)
    if found is None:
        raise NotFound(str(asked.offset), "turn")
    wanted = ViewOptions(depth=asked.depth, lines=None if asked.depth == "full" else 6)
    body = quoted_rows(rows(session, found.turns, wanted))
    place = len(quoted_rows(rows(session, found.before, wanted)))
    start = asked.cursor
    if start < 0:
        is_short = sum(len(line) + 1 for line in body) <= LONGEST
        start = 0 if is_short else back(body, place, LONGEST // 2)
    head = [_where(session, found), f"The passage is at or above line {place} of {len(body)}."]
    return _paged(head, page(body, start))


def _messages_around(session: Session, asked: tool_arguments.ContextArguments) -> str:
    """The messages around a line or uuid."""
    wanted = ViewOptions(depth=asked.depth, lines=None if asked.depth == "full" else 6)
    found = session.around(asked.place, asked.messages, visibility(wanted))
    numbers = [entry.line.number for entry in found.entries]
    where = f" of the agent {one_line(found.agent)}" if found.agent else ""
    where += f", on branch {found.branch}, which the conversation left" if found.branch else ""
    head = [f"Lines {min(numbers)}-{max(numbers)} of {session.id}{where}; the place is line {found.place.line.number}."]
    return _paged(head, page(quoted_rows(around_rows(found, wanted)), max(0, asked.cursor)))


def _where(session: Session, found: TurnWindow) -> str:
    branch = f", on branch {found.branch}, which the conversation left" if found.branch is not None else ""
    first, last = found.turns[0].number, found.turns[-1].number
    return f"Turns {first}-{last} of {session.id}; the passage is in turn {found.turn.number}{branch}."


def _paged(head: list[str], shown: QuotedPage, tail: Iterable[str] = ()) -> str:
    going = [f"Lines {shown.start + 1}-{shown.stop} of {shown.total}."] if shown.start or shown.is_cut else []
    if shown.is_cut:
        going.append(f"There is more: ask again with cursor={shown.stop}.")
    return text(head, shown.lines, [*going, *([] if shown.is_cut else tail)])


def _about(session: Session) -> list[str]:
    dates = " to ".join(dict.fromkeys(f"{t:%Y-%m-%d %H:%M}" for t in (session.started, session.ended) if t))
    facts = (session.cwd or "", f"branch {session.branch_name}" if session.branch_name else "", dates)
    return [*quote(f"title: {safe(session.title)}"), *quote(" · ".join(safe(fact) for fact in facts if fact))]


def _session(tree: Tree, asked: str) -> Session:
    """A session by its id; a path would lead out of the folder of Claude Code."""
    if not _ID.fullmatch(asked):
        raise NotFound(asked)
    try:
        file = find_session(tree, asked)
    except NotFound as missing:
        if gone := ArchivedSessions(tree.root).find(asked)[0]:
            hint = f"Its transcript is gone. The user can type: {next_command(asked, gone)}"
            raise NotFound(missing.asked, missing.kind, hint=hint) from None
        raise
    return Session(file.path, file=file)


def _at(tree: Tree, path: str) -> Session:
    """A transcript by its path, below the projects of Claude Code and nowhere else."""
    file = Path(path)
    if file.suffix != ".jsonl" or not file.resolve().is_relative_to((tree.root / "projects").resolve()):
        raise NotFound(path, "transcript")
    if not file.is_file():
        raise NotFound(path, "transcript")
    return read(file)


def _select_turns(session: Session, text: str) -> tuple[Turn, ...]:
    """The turns of a range. Raises ValueError for text that is not a range, and NotFound if the session has none of them."""
    count = len(session.turns)
    if last := _LAST.fullmatch(text):
        turns = session.turns[max(0, count - int(last[1])) :]
    else:
        numbers = TurnRange(text).resolve(count)
        turns = tuple(turn for turn in session.turns if turn.number in numbers)
    if not turns:
        raise NotFound(text, "turn", hint=f"The session has {plural(count, 'turn')}.")
    return turns


TOOLS: dict[str, ServedTool] = {
    "search_sessions": ServedTool(
        "Find earlier Claude Code sessions by words, meaning, a substring or a regular expression, with passages.",
        tool_arguments.SearchSessions,
        search_sessions,
    ),
    "list_sessions": ServedTool("List earlier sessions, newest first.", tool_arguments.ListSessions, list_sessions),
    "read_session": ServedTool("Read some turns of a session.", tool_arguments.ReadSession, read_session),
    "list_rounds": ServedTool(
        "List the rounds of a session: kind, input, features and complexity of each.",
        tool_arguments.ListRounds,
        list_rounds,
    ),
    "read_turn": ServedTool(
        "Read one complete turn, with the input and output of its tools.", tool_arguments.ReadTurn, read_turn
    ),
    "context": ServedTool(
        "Read the turns around a passage that search_sessions returned.", tool_arguments.ContextArguments, read_context
    ),
    "file_changes": ServedTool(
        "List which sessions and prompts changed files, with the lines added and removed, newest first.",
        tool_arguments.FileChangesArguments,
        list_file_changes,
    ),
    "blame": ServedTool(
        "Name the session, turn and prompt that wrote the lines of a file, and git's commit.",
        tool_arguments.BlameArguments,
        blame_file,
    ),
    "usage": ServedTool("Count the tokens of sessions by model.", tool_arguments.UsageArguments, count_usage),
}
