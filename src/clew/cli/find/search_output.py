"""Print the results of a search: as text, as JSON lines, or with the turns around each match."""

from __future__ import annotations

import os
import sys
import time

from clew.system.plural import plural
from clew.system.terminal_style import stdout_style

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

    from clew.index.results import SearchResult
    from clew.index.session_index import Index
    from clew.index.snippet import Passage
    from clew.system.terminal_style import TerminalStyle


class ResultPage:
    """A page of results: those after the first `offset` of `total`, or of at least that many unless `is_total_exact`.

    `instead` is the corrected query, if they are results for that.
    """

    __slots__ = ("instead", "is_total_exact", "offset", "results", "total")

    def __init__(
        self, results: list[SearchResult], offset: int, total: int, is_total_exact: bool, instead: str = ""
    ) -> None:
        self.results, self.offset = results, offset
        self.total, self.is_total_exact, self.instead = total, is_total_exact, instead

    @property
    def has_more(self) -> bool:
        return self.offset + len(self.results) < self.total


def print_page(index: Index, page: ResultPage, options: Namespace) -> None:
    results = page.results
    if not options.reveal:
        _mask(results)
    if options.json:
        from clew.cli.output import print_json

        print_json(_result_json(result, rank, page, options) for rank, result in enumerate(results, page.offset + 1))
    elif options.context is not None:
        _print_context(index, results, options.context, options.reveal)
    else:
        _print_text(results, options)


def _print_context(index: Index, results: list[SearchResult], turns: int, reveal: bool) -> None:
    """Print each result with the turns around its best passage, as `clew show` prints them."""
    from clew.conversation.load import read
    from clew.index.gone_sessions import describe_gone
    from clew.view.mask_rows import mask_rows
    from clew.view.row_terminal import print_rows
    from clew.view.rows import ViewOptions, rows

    for result in results:
        print(_heading(result, stdout_style()))
        passage = result.passages[0]
        around = index.context(passage, turns) if passage.offset >= 0 else []
        turn_rows = rows(read(passage.path), around, ViewOptions()) if passage.path else iter(())
        print_rows(turn_rows if reveal else mask_rows(turn_rows), sys.stdout)
        print(f"    {plain(describe_gone(result))}\n" if result.gone else "")


def _mask(results: list[SearchResult]) -> None:
    """Mask secrets in the results. A passage that changes loses its marks, which would be wrong."""
    from clew.facts.secrets.mask_secrets import mask, may_contain_secrets

    texts = [text for result in results for text in (result.title, *(passage.text for passage in result.passages))]
    if not any(may_contain_secrets(texts)):
        return
    for result in results:
        result.title = mask(result.title)[0]
        for passage in result.passages:
            text, secrets = mask(passage.text)
            if secrets:
                passage.text, passage.marks = text, ()


def print_position(page: ResultPage, limit: int) -> None:
    """Say on stderr which of all results were printed, if there are others, and how to see these."""
    if page.is_total_exact and not page.has_more and not page.offset:
        return
    last = page.offset + len(page.results)
    total = f"{page.total:,}" if page.is_total_exact else f"at least {page.total:,}"
    if page.has_more:
        step = f" Add --page {page.offset // limit + 2} for the next ones."
    else:
        step = "" if page.is_total_exact else " For others add words or filters, or a larger --limit."
    print(f"Sessions {page.offset + 1:,}-{last:,} of {total}.{step}", file=sys.stderr)


def _result_json(result: SearchResult, rank: int, page: ResultPage, options: Namespace) -> dict[str, Any]:
    return {
        "kind": "result",
        "rank": rank,
        "total": page.total,
        "total_is_exact": page.is_total_exact,
        "session": result.session,
        "title": result.title,
        "tag": result.tag or None,
        "cwd": result.cwd,
        "branch": result.branch,
        "ended": result.ended,
        "messages": result.messages,
        "matches": result.matches,
        "grade": result.grade,
        "missing": result.missing,
        "copies": result.copies,
        "score": round(result.score, 4),
        "similarity": _rounded(result.similarity),
        "agents": sorted(result.agents),
        "path": result.path,
        "gone": result.gone or None,
        "gone_since": result.gone_since,
        "resume": result.command or None,
        **_store_fields(result, options),
        "passages": [
            {
                "field": p.field,
                "match": p.kind or p.field,
                "tool": p.tool,
                "failed": p.failed,
                "time": p.time,
                "agent": p.agent,
                "round": p.round or None,
                "input": p.input or None,
                "text": p.text,
                "similarity": _rounded(p.similarity),
                "marks": [list(mark) for mark in p.marks],
                "path": p.path,
                "offset": p.offset,
            }
            for p in result.passages
        ],
    }


def _store_fields(result: SearchResult, options: Namespace) -> dict[str, str]:
    """Return who collected a session of a store, and how to bring it here."""
    if not options.store_tree:
        return {}
    from clew.cli.store_source import owner_fields, restore_command

    return {**owner_fields(options, result.path), "resume": restore_command(options, result.session)}


def _rounded(similarity: float | None) -> float | None:
    return None if similarity is None else round(similarity, 4)


def _print_text(results: list[SearchResult], options: Namespace) -> None:
    from clew.index.gone_sessions import describe_gone
    from clew.system import shell_quoting

    style = stdout_style()
    for result in results:
        print(_heading(result, style))
        for passage in result.passages:
            print(f"    {_passage(passage, style)}")
        last = plain(describe_gone(result)) if result.gone else shell_quoting.resume_command(result.session, result.cwd)
        if stored := _store_fields(result, options):
            last = plain(f"{stored['developer'] or stored['host']}: {stored['resume']}")
        print(style(f"    {last}", "quiet") + "\n")
    sys.stdout.flush()


def _heading(result: SearchResult, style: TerminalStyle) -> str:
    name = os.path.basename(result.cwd.replace("\\", "/").rstrip("/")) or result.folder
    facts = [
        _ago(result.ended),
        plain(name),
        plain(result.branch),
        plain(f"#{result.tag}") if result.tag else "",
        plural(result.messages, "message") if result.messages else "",
        plain(result.looseness),
    ]
    about = " · ".join(fact for fact in facts if fact)
    parts = ((plain(result.session[:8]), "link"), (plain(result.title), "bold"), (about, "quiet"))
    return "  ".join(style(text, look) for text, look in parts)


def _passage(passage: Passage, style: TerminalStyle) -> str:
    kind = passage.field if not passage.tool else f"{passage.tool} {passage.field}"
    kind = f"agent {kind}" if passage.agent else kind
    kind = kind if passage.similarity is None else f"{kind} {passage.similarity:.2f}"
    parts, at = [], 0
    for start, stop in passage.marks:
        parts += [plain(passage.text[at:start]), style(plain(passage.text[start:stop]), "bold accent")]
        at = stop
    return f"{style(plain(kind) + ':', 'quiet')} {''.join(parts)}{plain(passage.text[at:])}"


def plain(text: str) -> str:
    """Text of a transcript on one line, without control characters."""
    if text.isprintable():
        return text
    from clew.system.control_characters import clean_name

    return clean_name(text)


def _ago(then: int | None) -> str:
    seconds = time.time() - then if then else 0
    for length, unit in ((31_536_000, "y"), (2_592_000, "mo"), (604_800, "w"), (86_400, "d"), (3600, "h"), (60, "m")):
        if seconds >= length:
            return f"{int(seconds // length)}{unit} ago"
    return "now" if then else ""
