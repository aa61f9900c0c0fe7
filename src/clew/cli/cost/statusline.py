"""`clew statusline`: one line for the status line of Claude Code, which tells what it knows on stdin.

It has to be there at once, every time. So it takes what Claude Code says of the session, adds what the summary of the tree
says of the day and the block, as of when it was made, and has a summary that is old made anew behind its back.
"""

from __future__ import annotations

import json
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from typing import Any

    from clew.report.usage_bucket import Cell

DAY = 86_400
FRESH = 15.0  # seconds for which a summary is good enough


def add_arguments(command: ArgumentParser) -> None:
    command.add_argument(
        "--no-refresh", action="store_true", help="do not bring the summary up to date in the background"
    )
    command.add_argument("--install", action="store_true", help="print the setting that makes Claude Code call it")
    command.add_argument("--json", action="store_true", help="print the parts of the line as versioned JSON")
    command.add_argument("--claude-dir", metavar="DIR", help="the folder of Claude Code (default ~/.claude)")


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


def quick(words: list[str]) -> int | None:
    """The status line as Claude Code asks for it; None if the whole parser is needed."""
    return print_line(None, True) if not words else None


def print_line(claude_dir: str | None, refresh: bool, as_json: bool = False) -> int:
    """Always one line, and never an error: there is nobody to read one."""
    try:
        told = json.loads(sys.stdin.read() or "{}")
    except ValueError:
        told = {}
    told = told if isinstance(told, dict) else {}
    parts = [part for part in (*session_parts(told), *tree_parts(claude_dir, refresh)) if part]
    if as_json:
        print(json.dumps({"clew": 1, "kind": "statusline", "parts": parts}))
        return 0
    text = " · ".join(parts) or "clew"
    sys.stdout.write("".join(letter if letter.isprintable() else " " for letter in text) + "\n")
    return 0


def session_parts(told: dict[str, Any]) -> list[str]:
    """What Claude Code says of the session: the model, what it cost so far, and how full the window is."""
    found = [_text(told, "model", "display_name") or _text(told, "model", "id")]
    spent = _number(told, "cost", "total_cost_usd")
    found.append(f"${spent:,.2f}" if spent is not None else "")
    used = _number(told, "context_window", "used_percentage")
    if used is None:
        size = _number(told, "context_window", "context_window_size")
        tokens = _number(told, "context_window", "total_input_tokens")
        used = 100 * tokens / size if size and tokens is not None else None
    found.append(f"{used:.0f} % context" if used is not None else "")
    return found


def _inside(told: dict[str, Any], *keys: str) -> Any:
    value: Any = told
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _text(told: dict[str, Any], *keys: str) -> str:
    value = _inside(told, *keys)
    return value if isinstance(value, str) else ""


def _number(told: dict[str, Any], *keys: str) -> float | None:
    value = _inside(told, *keys)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def tree_parts(claude_dir: str | None, refresh: bool) -> list[str]:
    """What the summary says: today, and the block of five hours."""
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
    found = _spent(cells, now) if cells is not None else []
    if refresh and age >= FRESH:
        _refresh(root)
    return found


def _refresh(root: str) -> None:
    """Update the summary in a separate process and do not wait for it."""
    from clew.system.subprocesses import start_clew

    try:
        worker = start_clew("usage", "--quiet", "--claude-dir", os.path.abspath(root), detached=True)
    except OSError:
        return
    worker.returncode = 0  # so that nothing warns of a process that still runs


def _spent(recent: list[Cell], now: float) -> list[str]:
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
    found = [f"{dollars(today.cost)} today"]
    active = next((block for block in blocks(recent, prices, now) if block.is_active), None)
    if active:
        rate = f" at {dollars(round(active.cost_a_minute * 60))}/h" if active.minutes else ""
        left = round(active.left)
        found.append(f"{dollars(active.row.cost)} in this block{rate}, {left // 60}h{left % 60:02d}m left")
    return found
