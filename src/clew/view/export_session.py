"""Convert a session to Markdown, HTML, JSON or its own lines: `clew.export` and `clew export`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Literal

from clew.conversation.agent_sessions import Agent
from clew.conversation.branches import Branch
from clew.conversation.replies import Call
from clew.conversation.session import Session
from clew.conversation.turns import Turn
from clew.version import JSON_SCHEMA
from clew.view.header import About, describe_session, masked_lines
from clew.view.html_page import NO_EXTRA, Extra, render_page
from clew.view.mask_rows import MaskCount, mask_rows
from clew.view.row_html import fragments
from clew.view.row_markdown import markdown_branch, markdown_document
from clew.view.row_types import Row
from clew.view.rows import ViewOptions, preamble_rows, rows
from clew.view.turn_json import session_document
from clew.wire.json_codec import encode

Format = Literal["markdown", "html", "json", "jsonl"]
RESULT_LINES, DIFF_LINES = 60, 200  # of a result and of a diff, unless the depth is "full"


def export(
    session: Session,
    format: Format = "markdown",
    *,
    turns: Sequence[Turn] | None = None,
    depth: str = "calls",
    thinking: bool = False,
    agents: bool = True,
    reveal: bool = False,
) -> str:
    """Return a session, or some of its turns, as text. Secrets are masked unless `reveal` is true.

    `depth` is how much is included: "prompts", "replies", "calls" or "full". "json" is one JSON object per line: the
    session, then each turn; "jsonl" is the file as it is, which needs `reveal`.
    """
    if format == "jsonl" and not reveal:
        raise ValueError("The file as it is contains its secrets too. Pass reveal=True to export it.")
    counter = None if reveal else MaskCount()
    options = view_options(depth, thinking=thinking, agents=agents)
    parts = export_parts(session, format, describe_session(session, counter), options, counter, turns=turns)
    return b"".join(parts).decode("utf-8", "replace")


def view_options(depth: str, *, thinking: bool, agents: bool) -> ViewOptions:
    """Return what an exported document includes at this depth."""
    is_full = depth == "full"
    return ViewOptions(
        depth=depth,
        thinking=thinking,
        agents=agents,
        lines=None if is_full else RESULT_LINES,
        diff_lines=None if is_full else DIFF_LINES,
        details=True,
    )


def export_parts(
    session: Session,
    format: str,
    header: About,
    options: ViewOptions,
    counter: MaskCount | None,
    *,
    turns: Sequence[Turn] | None = None,
    branches: Sequence[Branch] = (),
    front_matter: bool = False,
    agents: Callable[[Call], Sequence[Agent]] | None = None,
    pass_rows: Callable[[Iterable[Row]], Iterable[Row]] = iter,
    extra: Extra = NO_EXTRA,
) -> Iterable[bytes]:
    """Return the parts of a document, as they are made. Without a `counter` nothing is masked.

    What other `branches` have of their own follows. `agents` finds the agents of a call if not `session.agents_for`,
    `pass_rows` sees every row, and `extra` is what a page shows above the conversation.
    """
    others = [(branch.number, own_turns(session, branch)) for branch in branches]
    if format == "jsonl":
        return (item.raw for item in session.items)
    if format == "json":
        values = session_document(session, counter is not None, turns, counter, others)
        return (encode({"clew": JSON_SCHEMA, **value}) + b"\n" for value in values)

    def turn_rows(chosen: Iterable[Turn], start: Iterable[Row] = ()) -> Iterable[Row]:
        body = chain(start, rows(session, chosen, options, agents))
        return pass_rows(body if counter is None else mask_rows(body, counter))

    chosen = session.turns if turns is None else turns
    first = turn_rows(chosen, preamble_rows(session, options) if turns is None else ())
    notes = {note.number: note for note in header.branches}
    if format == "markdown":
        text = markdown_document(header, first, front_matter)
        return map(_encode_text, chain(text, *(markdown_branch(notes[n], turn_rows(own)) for n, own in others)))
    mask = MaskCount() if counter else None
    titles = masked_lines([turn.text for turn in chosen], mask)
    outline = zip((turn.number for turn in chosen), titles, strict=True)
    more = ((notes[n], fragments(turn_rows(own), f"b{n}-")) for n, own in others)
    return map(_encode_text, render_page(header, fragments(first), outline, more, extra))


def own_turns(session: Session, branch: Branch) -> list[Turn]:
    """Return the turns of a branch that are not on the active one."""
    own = {entry.uuid for entry in branch.own}
    return [turn for turn in session.turns_of(branch) if turn.prompt.uuid in own]


def _encode_text(text: str) -> bytes:
    return text.encode("utf-8", "replace")
