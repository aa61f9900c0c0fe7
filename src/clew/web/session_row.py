"""What a row of a list shows of a session, ready for the template: masked, formatted, with a sparkline."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from zlib import crc32

from clew.browse.filtered_sessions import ListRow, SessionMarks
from clew.browse.session_item import SessionItem, display_title
from clew.conversation.session_listing import Outline
from clew.errors import READ_ERRORS
from clew.facts.prices import MICRO, dollars, plain_name
from clew.report.session_summary import SessionSummary
from clew.system.plural import plural
from clew.view.sanitize import format_duration
from clew.web.app_state import AppState
from clew.web.turn_html import session_url

HUES = 8  # colours of projects
SPARK_HEIGHT = 20
_SPARK_WIDTH = 120


def row_values(state: AppState, row: ListRow, marks: SessionMarks, now: float) -> dict[str, Any] | None:
    """Return the values of a row; None if the file turns out to contain no conversation."""
    if row.summary is None:
        return _unread_values(state, row, marks, now)
    summary = row.summary
    title = shown_title(state, summary.title)
    prompt = state.clean_text(summary.first_prompt, 200)
    same = prompt.rstrip("…")[:60] == title.rstrip("…")[:60]
    return {
        **_shared_values(state, row, marks, now),
        "title": title,
        "prompt": "" if same else prompt,
        "project": state.clean_text(summary.project),
        "hue": project_hue(summary.project),
        "cwd": state.clean_text(summary.cwd),
        "branch": state.clean_text(summary.branch),
        "model": state.clean_text(short_model(summary.model)),
        "turns": summary.turns,
        "duration": format_duration(summary.active_seconds) if summary.active_seconds else "",
        "cost": format_cost(summary),
        "signs": session_signs(summary),
        "spark": spark_paths(summary.spark),
        "is_read": True,
    }


def _shared_values(state: AppState, row: ListRow, marks: SessionMarks, now: float) -> dict[str, Any]:
    return {
        "id": row.session,
        "link": session_url(row.session),
        "when": datetime.fromtimestamp(row.ended, UTC),
        "is_live": row.is_live(now),
        "is_pinned": row.session in marks.pins,
        "tags": [state.clean_text(tag, 40) for tag in marks.tags_of(row)],
    }


def _unread_values(state: AppState, row: ListRow, marks: SessionMarks, now: float) -> dict[str, Any] | None:
    """Return the values of a session that has no summary yet, from the two ends of its file."""
    outline = Outline(row.file)
    try:
        if not outline.is_conversation or outline.is_sidechain:
            return None
        outline.read()
    except READ_ERRORS:
        return None
    item = SessionItem(row.session, row.path, cwd=outline.cwd or "", folder=row.file.project_folder.name)
    return {
        **_shared_values(state, row, marks, now),
        "title": shown_title(state, outline.title),
        "prompt": "",
        "project": state.clean_text(item.project),
        "hue": project_hue(item.project),
        "cwd": state.clean_text(item.cwd),
        "branch": state.clean_text(outline.branch_name or ""),
        **dict.fromkeys(("model", "duration", "cost"), ""),
        "turns": 0,
        "signs": [],
        "spark": None,
        "is_read": False,
    }


def shown_title(state: AppState, title: str) -> str:
    return state.clean_text(display_title(SessionItem("", "", title=title), reveal=True), 160)


def short_model(name: str) -> str:
    """Return the name of a model as rows show it: "claude-opus-4-5-20251101" is "opus 4.5"."""
    family, *numbers = plain_name(name).removeprefix("claude-").split("-")
    if family.isdigit():  # older names: claude-3-5-sonnet
        words = [part for part in numbers if not part.isdigit()]
        numbers, family = [family, *(part for part in numbers if part.isdigit())], " ".join(words)
    return f"{family} {'.'.join(numbers)}".strip() if all(part.isdigit() for part in numbers) else name


def format_cost(summary: SessionSummary) -> str:
    if summary.unpriced and not summary.cost_micros:
        return "no price"
    return dollars(summary.cost_micros * MICRO) + ("+" if summary.unpriced else "")


def project_hue(name: str) -> int:
    """Return the number of the colour of a project, which depends only on its name."""
    return crc32(name.encode("utf-8", "surrogateescape")) % HUES + 1


def session_signs(summary: SessionSummary) -> list[tuple[str, str, str]]:
    """Return what stands out in a session as (kind, sign, words)."""
    signs = [
        ("errors", f"✗ {summary.errors}", plural(summary.errors, "error"), summary.errors),
        ("agents", f"◔ {summary.agents}", plural(summary.agents, "agent"), summary.agents),
        ("branches", f"↱ {summary.branches}", plural(summary.branches, "branch"), summary.branches > 1),
        ("compactions", f"⊚ {summary.compactions}", plural(summary.compactions, "compaction"), summary.compactions),
        ("interrupted", "✂", "interrupted", summary.is_interrupted),
    ]
    return [(kind, sign, words) for kind, sign, words, is_there in signs if is_there]


def spark_paths(points: Sequence[tuple[int, bool]]) -> dict[str, Any] | None:
    """Return the bars of a sparkline as two SVG paths: turns, and turns with errors. The height is the cost."""
    if not points:
        return None
    most = max(cost for cost, _ in points) or 1
    step = min(8, _SPARK_WIDTH // len(points))  # pixels of a turn; the last one or two are empty
    bar = step - 1 - (step > 5)
    paths = {False: "", True: ""}
    for number, (cost, has_error) in enumerate(points):
        height = max(2, round((cost / most) ** 0.5 * SPARK_HEIGHT))
        paths[has_error] += f"M{number * step} {SPARK_HEIGHT}v-{height}h{bar}v{height}z"
    return {"plain": paths[False], "errors": paths[True], "width": len(points) * step}
