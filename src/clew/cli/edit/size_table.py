"""Show the size of each part of a conversation before and after an edit, as a small table."""

from __future__ import annotations

from collections.abc import Sequence

from clew.cli.output import format_size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clew.edit.plan_report import PlanReport, SessionSize
    from clew.facts.context_size import ContextShare

_COUNTS = ("entries", "turns", "calls", "thinking")


def rows(report: PlanReport) -> list[str]:
    """Return a table of what each category takes before and after, and a sentence about the tokens."""
    from clew.system.table_layout import table_lines

    old, new = report.before, report.after
    rows: list[tuple[str, ...]] = [("", "TOKENS", "", "SHARE", "", "BYTES", "")]
    rows += [(name, *_cells(report, was, now)) for name, was, now in report.shares]
    base = old.context.scale.base
    if base:
        rows.append(("system, tools", f"{base:,}", f"{base:,}", *_parts(report, base, base), "", ""))
    sizes = (format_size(old.bytes), format_size(new.bytes))
    rows.append(("all", f"{old.context.tokens:,}", f"{new.context.tokens:,}", "", "", *sizes))
    names, *numbers = zip(*rows, strict=True)
    pairs = [_join_pairs(was, now) for was, now in zip(numbers[::2], numbers[1::2], strict=True)]
    lines = table_lines(list(zip(names, *pairs, strict=True)))
    counts = ", ".join(f"{getattr(old, name):,} → {getattr(new, name):,} {name}" for name in _COUNTS)
    counts = f"{counts} blocks"
    source = "by the sizes that its replies report" if old.context.is_measured else "estimated: no reply reports a size"
    return [*lines, f"{counts}. Tokens are {source}."]


def _join_pairs(was: Sequence[str], now: Sequence[str]) -> list[str]:
    """Join a column before the edit and one after it: `"1,200 →   900"`."""
    old, new = max(map(len, was)), max(map(len, now))
    return [f"{a:>{old}} {'→' if b else ' '} {b:>{new}}" for a, b in zip(was, now, strict=True)]


def _cells(report: PlanReport, was: ContextShare, now: ContextShare) -> tuple[str, ...]:
    if not was.tokens and not now.tokens:
        return ("", "", "", "", format_size(was.bytes), format_size(now.bytes))
    shares = _parts(report, was.tokens, now.tokens)
    return (f"{was.tokens:,}", f"{now.tokens:,}", *shares, format_size(was.bytes), format_size(now.bytes))


def _parts(report: PlanReport, was: int, now: int) -> tuple[str, str]:
    """Return the shares of the whole context, before and after."""
    old, new = report.before.context.tokens, report.after.context.tokens
    return f"{was / old if old else 0:.0%}", f"{now / new if new else 0:.0%}"


def data(report: PlanReport) -> dict[str, Any]:
    return {"before": _size_json(report.before), "after": _size_json(report.after)}


def _size_json(size: SessionSize) -> dict[str, Any]:
    total = size.context.tokens
    return {
        **{name: getattr(size, name) for name in (*_COUNTS, "bytes")},
        "tokens": total,
        "tokens_measured": size.context.is_measured,
        "tokens_before_messages": size.context.scale.base,
        "categories": {
            name: {"tokens": s.tokens, "bytes": s.bytes, "share": round(s.tokens / total, 4) if total else 0.0}
            for name, s in size.context.shares.items()
        },
    }
