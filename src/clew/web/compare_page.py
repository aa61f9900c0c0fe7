"""Compare two sessions, or two branches of one: aligned turns, and the files that they left in different states."""

from __future__ import annotations

import asyncio
from typing import Any

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from clew.conversation.turns import Turn
from clew.system.plural import plural
from clew.view.comparison import Comparison, ConversationPath, FileDifference
from clew.view.diff_html import changed_words, count_changes
from clew.view.display_time import time_tag
from clew.view.lexing.code_lines import Line
from clew.view.mask_rows import MaskCount, mask_rows
from clew.view.row_html import fragments
from clew.view.row_types import DiffRow, Row
from clew.view.sanitize import clean
from clew.view.syntax import render_line
from clew.view.turn_alignment import TurnPair, align_turns
from clew.web.app_state import AppState
from clew.web.paging import split_pages
from clew.web.parameters import as_time, parse_number
from clew.web.session_cache import Reading
from clew.web.turn_html import ReaderChoice, part_rows, session_url

PAIRS_PER_PAGE = 20
CHOICES = 60  # sessions of the picker at a time
MAX_FILES, FILE_LINES = 60, 400  # files whose differences are shown, and lines of each
PROMPT_WORDS = 2000  # of a prompt that is compared word by word
_LABELS = {"same": "same", "different": "different turns", "left": "only in A", "right": "only in B"}


class ComparePage:
    """Answers `?left=ID&right=ID`; a branch other than the active one follows its id after a colon."""

    def __init__(self, state: AppState) -> None:
        self._state = state

    async def full_page(self, request: Request) -> Response:
        left, right = (request.query_params.get(name, "") for name in ("left", "right"))
        if not left or not right:
            return await self._choose(request, left)
        start = parse_number(request.query_params.get("from", ""))
        one, other = await self._reading(left), await self._reading(right)
        values = await asyncio.to_thread(self._values, one, other, max(0, start - 1))
        return self._state.renderer.page(request, "compare", "Side by side", left=left, right=right, **values)

    async def _reading(self, target: str) -> Reading:
        session, _, branch = target.partition(":")
        snapshot = await self._state.shelf.open(session)
        return await asyncio.to_thread(snapshot.reading, "", parse_number(branch))

    # -- choosing what to compare

    async def _choose(self, request: Request, left: str) -> Response:
        reading = await self._reading(left) if left else None
        query, limit = request.query_params.get("q", "")[:500], parse_number(request.query_params.get("limit", ""))
        values = await asyncio.to_thread(self._sessions, query, left, max(CHOICES, min(limit, 100_000)))
        branches = [
            {
                "id": f"{left.partition(':')[0]}:{branch.number}" if not branch.is_active else left.partition(":")[0],
                "title": self._state.clean_text(branch.last.text, 100) or "(no text)",
                "name": f"branch {branch.number}{', active' if branch.is_active else ''}",
            }
            for branch in (reading.session.branches if reading and len(reading.session.branches) > 1 else ())
            if reading and branch.number != (reading.branch.number if reading.branch else _active(reading))
        ]
        name = self._name(reading) if reading else ""
        return self._state.renderer.page(
            request, "choose", "Compare", left=left, left_name=name, q=query, branches=branches, **values
        )

    def _sessions(self, query: str, left: str, limit: int) -> dict[str, Any]:
        """Return the sessions that contain all words of a query, the newest first, and how many there are."""
        summaries = self._state.summaries
        snapshot = summaries.current(0.1 if summaries.snapshot.is_loaded else 3.0)
        words = query.lower().split()
        found = [
            each
            for each in sorted(snapshot.summaries.values(), key=lambda each: -each.ended)
            if each.is_conversation
            and each.session != left
            and all(word in f"{each.title} {each.first_prompt} {each.cwd} {each.session}".lower() for word in words)
        ]
        clean_text = self._state.clean_text
        sessions = [
            {
                "id": each.session,
                "title": clean_text(each.title or each.first_prompt, 120) or "(no prompt)",
                "project": clean_text(each.project),
                "facts": f"{plural(each.turns, 'turn')}",
                "when": as_time(each.ended),
            }
            for each in found[:limit]
        ]
        more = limit * 4 if len(found) > limit else 0
        return {"sessions": sessions, "total": len(found), "more": more}

    # -- the comparison

    def _values(self, left: Reading, right: Reading, start: int) -> dict[str, Any]:
        sides = [_turns(left), _turns(right)]
        paths = [
            ConversationPath("", side.session, tuple(turns), side.session.cwd or "")
            for side, turns in zip((left, right), sides, strict=True)
        ]
        comparison = Comparison(*paths)
        shared = comparison.shared
        pairs = align_turns(sides[0][shared:], sides[1][shared:])
        stop = start + PAIRS_PER_PAGE
        files = comparison.differences
        counts = {
            kind: sum(pair.kind == kind for pair in pairs) for kind in ("same", "changed", "different", "left", "right")
        }
        return {
            "shared": [self._prompt(turn) for turn in sides[0][:shared]],
            "counts": counts,
            "pairs": [self._pair(pair, left, right) for pair in pairs[start:stop]],
            "earlier": max(0, start - PAIRS_PER_PAGE) + 1 if start else 0,
            "later": stop + 1 if stop < len(pairs) else 0,
            "files": [self._file(each) for each in files[:MAX_FILES]],
            "file_count": len(files),
            "sides": [self._side(reading, turns, shared) for reading, turns in zip((left, right), sides, strict=True)],
        }

    def _side(self, reading: Reading, turns: list[Turn], shared: int) -> dict[str, Any]:
        own = turns[shared:]
        models = dict.fromkeys(reply.model for turn in own for reply in turn.replies if reply.model)
        facts = [plural(len(turns), "turn"), plural(sum(len(turn.calls) for turn in own), "call") + " of its own"]
        return {
            "name": self._name(reading),
            "link": session_url(reading.root.id) + ReaderChoice(_branch(reading)).query(),
            "facts": [*facts, *(self._state.clean_text(model) for model in models)],
            "key": f"{reading.root.id}:{_branch(reading)}" if reading.branch else reading.root.id,
        }

    def _name(self, reading: Reading) -> str:
        name = self._state.clean_text(reading.session.title, 100) or "(no prompt)"
        return f"{name}, branch {reading.branch.number}" if reading.branch else name

    def _prompt(self, turn: Turn) -> dict[str, Any]:
        return {"number": turn.number, "text": self._state.clean_text(turn.text, 160) or "(no text)"}

    def _pair(self, pair: TurnPair, left: Reading, right: Reading) -> dict[str, Any]:
        turns = [turn for turn in (pair.left, pair.right) if turn]
        numbers = " and ".join(dict.fromkeys(str(turn.number) for turn in turns))
        label = _LABELS.get(pair.kind) or f"other {', '.join(pair.differences)}"
        if pair.kind == "same":
            return {"kind": "same", "number": numbers, "label": label, "prompt": self._prompt(turns[0])["text"]}
        one, other = self._text(pair.left), self._text(pair.right)
        spans = changed_words(one, other, PROMPT_WORDS) if pair.kind == "changed" else ([], [])
        return {
            "kind": pair.kind,
            "number": numbers,
            "label": label,
            "left": self._turn(left, pair.left, "left-", one, spans[0]),
            "right": self._turn(right, pair.right, "right-", other, spans[1]),
        }

    def _text(self, turn: Turn | None) -> str:
        text = turn.text if turn else ""
        return clean(text if self._state.is_revealed else MaskCount().mask(text)).strip("\n")

    def _turn(
        self, reading: Reading, turn: Turn | None, prefix: str, text: str, spans: list[tuple[int, int]]
    ) -> Markup:
        """Return a turn as HTML, with the changed words of its prompt marked."""
        if turn is None:
            return Markup()
        first, *more_parts = [piece for page in split_pages([turn]) for piece in page]
        _, *body = self._masked(list(part_rows(reading, first, ReaderChoice(_branch(reading)).options)))
        name = f"{prefix}turn-{turn.number}"
        link = f"{session_url(reading.root.id)}/turn/{turn.number}{ReaderChoice(_branch(reading)).query()}"
        prompt = Markup(render_line(Line((("", text),)), spans)) if text else Markup("<em>(no text)</em>")
        head = Markup('<header><h2><a href="{}">Turn {}</a></h2>{}</header>').format(
            link, turn.number, Markup(time_tag(turn.time))
        )
        html = Markup(
            '<section class="turn" id="{}">{}<div class="prompt"><div class="said">{}</div></div>{}{}</section>'
        )
        more = Markup('<p class="more"><a href="{}">The turn continues in the session.</a></p>').format(link)
        return html.format(name, head, prompt, Markup("".join(fragments(body, prefix))), more if more_parts else "")

    def _masked(self, rows: list[Row]) -> list[Row]:
        return rows if self._state.is_revealed else list(mask_rows(rows))

    def _file(self, difference: FileDifference) -> dict[str, Any]:
        lines = difference.lines("left", "right")[2:]
        added, removed = count_changes(lines)
        states = (difference.left, difference.right)
        note = next((f"only in {side}" for side, state in zip("BA", states, strict=True) if not state.is_there), "")
        html = "".join(fragments(self._masked([DiffRow("\n".join(lines), limit=FILE_LINES, path=difference.path)])))
        return {
            "path": self._state.clean_text(difference.path),
            "added": added,
            "removed": removed,
            "note": note if lines else "the content of one of them is not recorded",
            "html": Markup(html) if lines else "",
        }


def _turns(reading: Reading) -> list[Turn]:
    return [turn for turn in reading.turns if turn.number]


def _branch(reading: Reading) -> int:
    return reading.branch.number if reading.branch else 0


def _active(reading: Reading) -> int:
    return next((branch.number for branch in reading.session.branches if branch.is_active), 0)
