"""Show the size of each part of a conversation before and after an edit, as a small table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.cli.output import format_size

if TYPE_CHECKING:
    from clew.edit.plan_report import PlanReport, SessionSize
    from clew.facts.context_size import ContextShare

_COUNTS = ("entries", "turns", "calls", "thinking")


def rows(report: PlanReport) -> list[str]:
    """A small table: what each category takes before and after."""
    old, new = report.before, report.after
    rows: list[tuple[str, ...]] = [("", "TOKENS", "", "SHARE", "", "BYTES", "")]
    rows += [(name, *_cells(report, was, now)) for name, was, now in report.shares]
    base = old.context.scale.base
    if base:
        rows.append(("system, tools", f"{base:,}", f"{base:,}", *_parts(report, base, base), "", ""))
    sizes = (format_size(old.bytes), format_size(new.bytes))
    rows.append(("all", f"{old.context.tokens:,}", f"{new.context.tokens:,}", "", "", *sizes))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        for i in (1, 3, 5):
            arrow = "→" if row[i + 1] else " "
            cells.append(f"{row[i]:>{widths[i]}} {arrow} {row[i + 1]:>{widths[i + 1]}}")
        lines.append("  ".join(cells).rstrip())
    counts = ", ".join(f"{getattr(old, name):,} → {getattr(new, name):,} {name}" for name in _COUNTS)
    counts = f"{counts} blocks"
    source = "by the sizes that its replies report" if old.context.is_measured else "estimated: no reply reports a size"
    return [*lines, f"{counts}. Tokens are {source}."]


def _cells(report: PlanReport, was: ContextShare, now: ContextShare) -> tuple[str, ...]:
    if not was.tokens and not now.tokens:
        return ("", "", "", "", format_size(was.bytes), format_size(now.bytes))
    shares = _parts(report, was.tokens, now.tokens)
    return (f"{was.tokens:,}", f"{now.tokens:,}", *shares, format_size(was.bytes), format_size(now.bytes))


def _parts(report: PlanReport, was: int, now: int) -> tuple[str, str]:
    """The share of the whole context."""
    old, new = report.before.context.tokens, report.after.context.tokens
    return f"{was / old if old else 0:.0%}", f"{now / new if new else 0:.0%}"


def data(report: PlanReport) -> dict[str, Any]:
    return {"before": _tally(report.before), "after": _tally(report.after)}


def _tally(tally: SessionSize) -> dict[str, Any]:
    total = tally.context.tokens
    return {
        **{name: getattr(tally, name) for name in (*_COUNTS, "bytes")},
        "tokens": total,
        "tokens_measured": tally.context.is_measured,
        "tokens_before_messages": tally.context.scale.base,
        "categories": {
            name: {"tokens": s.tokens, "bytes": s.bytes, "share": round(s.tokens / total, 4) if total else 0.0}
            for name, s in tally.context.shares.items()
        },
    }
