"""`clew statusline`: print one line for the status line of Claude Code, which passes its state on stdin.

It must print immediately, every time. So it takes the state of the session from stdin, adds the cost of the day and the
block from the stored summary, and updates an old summary in the background.
"""

from __future__ import annotations

import os
import sys
import time

from clew.cli.options import add_claude_dir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from typing import Any

    from clew.report.usage_bucket import UsageBucket

DAY = 86_400
HOUR = 3_600
FRESH = 15.0  # seconds for which a summary is recent enough
_PARTS = ("model", "branch", "cost", "context", "limits", "today", "block", "expiring")
FIELDS = (*_PARTS, "five_hour", "week", "burn", "name", "gauge", "tokens", "folder", "lines", "duration", "version")


def add_arguments(command: ArgumentParser) -> None:
    command.add_argument("--format", metavar="TEXT", help="what to print, with fields such as {model} or [ · {limits}]")
    command.add_argument("--color", action="store_true", help="use colours; percentages are green, yellow or red")
    command.add_argument("--no-refresh", action="store_true", help="do not update the summary in the background")
    command.add_argument("--install", action="store_true", help="show the change of the settings, ask, and make it")
    command.add_argument("--uninstall", action="store_true", help="return to the status line before --install")
    command.add_argument("--dry-run", action="store_true", help="with --install: only show the change")
    command.add_argument("--yes", "-y", action="store_true", help="with --install: do not ask")
    command.add_argument("--json", action="store_true", help="print the parts of the line as versioned JSON")
    add_claude_dir(command)


def run(options: Namespace) -> int:
    if options.install or options.uninstall:
        from clew.cli.cost.statusline_install import install

        return install(options)
    from clew.report.status_format import COLOURED, DEFAULT, format_line

    text = options.format if options.format is not None else COLOURED if options.color else DEFAULT
    try:
        format_line(text, dict.fromkeys(FIELDS, ""))
    except ValueError as error:
        print(f"clew: {error}.", file=sys.stderr)
        return 2
    return print_line(options.claude_dir, not options.no_refresh, text, options.json)


def print_line(claude_dir: str | None, refresh: bool, text: str, as_json: bool = False) -> int:
    """Print one line, and never an error: no one would read it."""
    import json

    from clew.report.status_format import format_line

    try:
        status = json.loads(sys.stdin.read() or "{}")
    except (ValueError, RecursionError):
        status = {}
    status = status if isinstance(status, dict) else {}
    values = {**dict.fromkeys(FIELDS, ""), **session_fields(status, claude_dir), **tree_fields(claude_dir, refresh)}
    fields = {name: _printable(value) for name, value in values.items()}
    if as_json:
        parts = [fields[name] for name in _PARTS if fields[name]]
        print(json.dumps({"clew": 1, "kind": "statusline", "parts": parts, "fields": fields}))
        return 0
    print(format_line(text, fields) or "clew")
    return 0


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)


def session_fields(status: dict[str, Any], claude_dir: str | None) -> dict[str, str]:
    """Return the fields that Claude Code reports: model, cost, context window, branch and limits."""
    from clew.report.rate_limits import describe_window, limits_in, save_limits
    from clew.system.environment import claude_home

    spent = _number_field(status, "cost", "total_cost_usd")
    used = _number_field(status, "context_window", "used_percentage")
    tokens = _number_field(status, "context_window", "total_input_tokens")
    if used is None:
        size = _number_field(status, "context_window", "context_window_size")
        used = 100 * tokens / size if size and tokens is not None else None
    limits = limits_in(status)
    now = time.time()
    if limits:
        save_limits(claude_home(claude_dir), limits, now)
    windows = {name: describe_window(name, window, now) for name, window in limits.items()}
    return {
        "model": _text_field(status, "model", "display_name") or _text_field(status, "model", "id"),
        "cost": f"${spent:,.2f}" if spent is not None else "",
        "context": f"{used:.0f} % context" if used is not None else "",
        "branch": _text_field(status, "worktree", "branch") or _branch(_text_field(status, "workspace", "current_dir")),
        "five_hour": windows.get("five_hour", ""),
        "week": windows.get("seven_day", ""),
        "limits": " · ".join(windows.values()),
        "name": _text_field(status, "session_name"),
        "gauge": _gauge(used) if used is not None else "",
        "tokens": f"{tokens / 1000:,.0f}k tokens" if tokens else "",
        "folder": os.path.basename(_text_field(status, "workspace", "current_dir").rstrip("/\\")),
        "lines": _lines(status),
        "duration": _duration(_number_field(status, "cost", "total_duration_ms")),
        "version": _text_field(status, "version"),
    }


def _gauge(used: float) -> str:
    """Return the used part of the context window as a bar of ten cells, with the percentage."""
    filled = min(10, max(0, round(used / 10)))
    return f"{'█' * filled}{'░' * (10 - filled)} {used:.0f} %"


def _lines(status: dict[str, Any]) -> str:
    """Return the lines that the session added and removed, such as `+12 −3`."""
    added, removed = (_number_field(status, "cost", f"total_lines_{name}") or 0 for name in ("added", "removed"))
    return f"+{added:,.0f} −{removed:,.0f}" if added or removed else ""


def _duration(milliseconds: float | None) -> str:
    minutes = int((milliseconds or 0) // 60_000)
    return f"{minutes // 60}h{minutes % 60:02d}m" if minutes >= 60 else f"{minutes}m" if minutes else ""


def _branch(folder: str) -> str:
    """Read the branch from `.git/HEAD` of a folder or of one above it; empty if there is none."""
    while folder.startswith(os.sep):
        git = os.path.join(folder, ".git")
        try:
            if os.path.isfile(git):  # a worktree or a submodule
                with open(git, encoding="utf-8", errors="replace") as file:
                    git = os.path.join(folder, file.read(4096).removeprefix("gitdir:").strip())
            with open(os.path.join(git, "HEAD"), encoding="utf-8", errors="replace") as file:
                head = file.read(4096).strip()
            return head.removeprefix("ref: refs/heads/") if head.startswith("ref: ") else head[:8]
        except OSError:
            above = os.path.dirname(folder)
            if above == folder:
                return ""
            folder = above
    return ""


def _field(status: dict[str, Any], *keys: str) -> Any:
    value: Any = status
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _text_field(status: dict[str, Any], *keys: str) -> str:
    value = _field(status, *keys)
    return value if isinstance(value, str) else ""


def _number_field(status: dict[str, Any], *keys: str) -> float | None:
    value = _field(status, *keys)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def tree_fields(claude_dir: str | None, refresh: bool) -> dict[str, str]:
    """Return the cost of today and of the current block of five hours, from the stored summary, and sessions that
    expire.
    """
    from clew.report.five_hour_blocks import LENGTH
    from clew.report.usage_summary import cache_folder, load_recent
    from clew.system.environment import cache_home, claude_home

    root = claude_home(claude_dir)
    folder = cache_folder(root, cache_home())
    try:
        age = time.time() - os.stat(os.path.join(folder, "summary")).st_mtime
    except OSError:
        age = FRESH
    now = time.time()
    buckets = load_recent(folder, now - DAY - 2 * LENGTH)
    fields = _cost_fields(buckets, now) if buckets is not None else {}
    if refresh and age >= FRESH:
        _refresh(root)
    return {**fields, "expiring": _expiring(root, now, refresh)}


def _expiring(root: str, now: float, refresh: bool) -> str:
    """Return what Claude Code deletes soon and is not archived; looked up once an hour, otherwise as it was then."""
    from clew.report.rate_limits import limits_file

    path = limits_file(root).replace("limits-", "expiring-")
    try:
        if now - os.stat(path).st_mtime < HOUR or not refresh:
            with open(path, encoding="utf-8") as file:
                return file.read(200)
    except (OSError, ValueError):
        pass
    if not refresh:
        return ""
    from clew.cli.cost.statusline_expiring import describe_expiring

    return describe_expiring(root, path)


def _refresh(root: str) -> None:
    """Update the summary in a separate process and do not wait for it."""
    from clew.system.subprocesses import start_clew

    try:
        worker = start_clew("usage", "--quiet", "--claude-dir", os.path.abspath(root), detached=True)
    except OSError:
        return
    worker.returncode = 0  # so that no warning reports a process that still runs


def _cost_fields(recent: list[UsageBucket], now: float) -> dict[str, str]:
    from clew.facts.prices import dollars, load
    from clew.report import custom_prices
    from clew.report.five_hour_blocks import group_into_blocks
    from clew.report.timezone import Zone
    from clew.report.usage_row import sum_buckets

    zone = Zone()
    midnight = zone.local(int(now)) // DAY * DAY
    try:
        prices = custom_prices.load_prices()
    except (OSError, ValueError):
        prices = load()
    today = sum_buckets((bucket for bucket in recent if zone.local(bucket.when) >= midnight), prices)
    fields = {"today": f"{dollars(today.cost)} today"}
    active = next((block for block in group_into_blocks(recent, prices, now) if block.is_active), None)
    if active:
        rate = f"{dollars(round(active.cost_per_minute * 60))}/h" if active.minutes else ""
        left = round(active.left)
        speed = f" at {rate}" if rate else ""
        fields["block"] = f"{dollars(active.row.cost)} in this block{speed}, {left // 60}h{left % 60:02d}m left"
        fields["burn"] = rate
    return fields
