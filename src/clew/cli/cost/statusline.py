"""`clew statusline`: print one line for the status line of Claude Code, which passes its state on stdin.

It must print immediately, every time. So it takes the state of the session from stdin, adds the cost of the day and the
block from the stored summary, and updates an old summary in the background.
"""

from __future__ import annotations

import json
import os
import sys
import time

from clew.cli.options import add_claude_dir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from typing import Any

    from clew.report.usage_bucket import Cell

DAY = 86_400
FRESH = 15.0  # seconds for which a summary is recent enough


def add_arguments(command: ArgumentParser) -> None:
    command.add_argument("--no-refresh", action="store_true", help="do not update the summary in the background")
    command.add_argument("--install", action="store_true", help="print the setting that makes Claude Code call it")
    command.add_argument("--json", action="store_true", help="print the parts of the line as versioned JSON")
    add_claude_dir(command)


def run(options: Namespace) -> int:
    if options.install:
        from shlex import join

        from clew.system.subprocesses import clew_process_command

        print(
            json.dumps(
                {"statusLine": {"type": "command", "command": join(clew_process_command("statusline"))}}, indent=2
            )
        )
        return 0
    return print_line(options.claude_dir, not options.no_refresh, options.json)


def print_line(claude_dir: str | None, refresh: bool, as_json: bool = False) -> int:
    """Print one line, and never an error: no one would read it."""
    try:
        status = json.loads(sys.stdin.read() or "{}")
    except ValueError:
        status = {}
    status = status if isinstance(status, dict) else {}
    parts = [part for part in (*session_parts(status), *tree_parts(claude_dir, refresh)) if part]
    if as_json:
        print(json.dumps({"clew": 1, "kind": "statusline", "parts": parts}))
        return 0
    text = " · ".join(parts) or "clew"
    print("".join(letter if letter.isprintable() else " " for letter in text))
    return 0


def session_parts(status: dict[str, Any]) -> list[str]:
    """The model, the cost so far and the used share of the context window, as Claude Code reports them."""
    parts = [_text_field(status, "model", "display_name") or _text_field(status, "model", "id")]
    spent = _number_field(status, "cost", "total_cost_usd")
    parts.append(f"${spent:,.2f}" if spent is not None else "")
    used = _number_field(status, "context_window", "used_percentage")
    if used is None:
        size = _number_field(status, "context_window", "context_window_size")
        tokens = _number_field(status, "context_window", "total_input_tokens")
        used = 100 * tokens / size if size and tokens is not None else None
    parts.append(f"{used:.0f} % context" if used is not None else "")
    return parts


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


def tree_parts(claude_dir: str | None, refresh: bool) -> list[str]:
    """The cost of today and of the current block of five hours, from the stored summary."""
    from clew.report.five_hour_blocks import LENGTH
    from clew.report.usage_summary import folder_of, recent
    from clew.system.environment import cache_home, claude_home

    root = claude_home(claude_dir)
    folder = folder_of(root, cache_home())
    try:
        age = time.time() - os.stat(os.path.join(folder, "summary")).st_mtime
    except OSError:
        age = FRESH
    now = time.time()
    cells = recent(folder, now - DAY - 2 * LENGTH)
    parts = _cost_parts(cells, now) if cells is not None else []
    if refresh and age >= FRESH:
        _refresh(root)
    return parts


def _refresh(root: str) -> None:
    """Update the summary in a separate process and do not wait for it."""
    from clew.system.subprocesses import start_clew

    try:
        worker = start_clew("usage", "--quiet", "--claude-dir", os.path.abspath(root), detached=True)
    except OSError:
        return
    worker.returncode = 0  # so that no warning reports a process that still runs


def _cost_parts(recent: list[Cell], now: float) -> list[str]:
    from clew.facts.prices import dollars, load
    from clew.report import custom_prices
    from clew.report.five_hour_blocks import blocks
    from clew.report.timezone import Zone
    from clew.report.usage_row import summed

    zone = Zone()
    midnight = zone.local(int(now)) // DAY * DAY
    try:
        prices = custom_prices.prices()
    except (OSError, ValueError):
        prices = load()
    today = summed((cell for cell in recent if zone.local(cell.when) >= midnight), prices)
    parts = [f"{dollars(today.cost)} today"]
    active = next((block for block in blocks(recent, prices, now) if block.is_active), None)
    if active:
        rate = f" at {dollars(round(active.cost_a_minute * 60))}/h" if active.minutes else ""
        left = round(active.left)
        parts.append(f"{dollars(active.row.cost)} in this block{rate}, {left // 60}h{left % 60:02d}m left")
    return parts
