"""`clew usage limits`: the limits of the subscription, as the status line saw them last."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from datetime import UTC, datetime

from clew.cli.cost.usage_request import print_json
from clew.report.rate_limits import NAMES, duration, load_limits
from clew.system.environment import claude_home
from clew.system.terminal_style import HEADING, stdout_style


def show_limits(options: Namespace) -> int:
    saved = load_limits(claude_home(options.claude_dir))
    windows = saved.get("windows", {})
    if not windows:
        if not options.quiet:
            print(
                "No limits are known: Claude Code passes them only to its status line, with a subscription.\n"
                "Save them from now on with: clew statusline --install",
                file=sys.stderr,
            )
        return 1
    now = time.time()
    seen = datetime.fromtimestamp(saved["seen"], UTC)
    if options.json:
        print_json(
            {
                "kind": "limit",
                "window": name,
                "used_percentage": window["used"],
                "resets_at": f"{datetime.fromtimestamp(window['resets'], UTC):%Y-%m-%dT%H:%M:%SZ}",
                "is_over": window["resets"] <= now,
                "seen": f"{seen:%Y-%m-%dT%H:%M:%SZ}",
            }
            for name, window in windows.items()
        )
        return 0
    style = stdout_style()
    print(style("WINDOW   USED  RESETS            IN", HEADING))
    for name, window in windows.items():
        resets = f"{datetime.fromtimestamp(window['resets'], UTC).astimezone():%Y-%m-%d %H:%M}"
        is_over = window["resets"] <= now
        used = "    ?" if is_over else f"{window['used']:>3.0f} %"
        look = "" if is_over or window["used"] < 50 else "warn" if window["used"] < 80 else "bold bad"
        left = "reset since" if is_over else duration(window["resets"] - now)
        print(f"{NAMES[name]:<6}  {style(used, look)}  {style(f'{resets}  {left}', 'quiet')}")
    if not options.quiet:
        print(f"Seen by the status line {duration(now - saved['seen'])} ago.", file=sys.stderr)
    return 0
