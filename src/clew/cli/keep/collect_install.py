"""`clew collect install` and `uninstall`: show the changes, ask, and apply them."""

from __future__ import annotations

import sys
from argparse import Namespace
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING

from clew.cli.output import clean, clean_name, print_json, print_message
from clew.errors import Refused
from clew.system import shell_quoting
from clew.wire.layout import claude_dir

if TYPE_CHECKING:
    from clew.collect.install_plan import InstallPlan, PlannedFile


def install(options: Namespace) -> int:
    return carry_out(options, _plan(options))


def carry_out(options: Namespace, plan: InstallPlan) -> int:
    """Show a plan, ask the user, and apply it. Return the exit code."""
    from clew.collect.install_plan import apply_plan

    if plan.is_done:
        print("Nothing to do: it is as it should be.")
        return 0
    if not options.json:
        _show(plan)
    is_agreed = not options.dry_run and (options.yes or _asks())
    kept = apply_plan(plan) if is_agreed else []
    if options.json:
        print_json(
            {"kind": "change", "path": str(c.path), "removed": c.after is None, "done": is_agreed} for c in plan.changes
        )
    elif is_agreed:
        print("Done.")
        for path in kept:
            print(clean_name(f"The old one is {path}"))
    elif not options.dry_run:
        print_message("Nothing was changed.")
        return 1
    return 0


def _plan(options: Namespace) -> InstallPlan:
    """Return the plan of the hook or of the timer. A hook that an earlier version wrote is rewritten with either."""
    from clew.collect.install_plan import InstallPlan, plan_hook, plan_renewal, plan_timer

    remove = options.action == "uninstall"
    arguments = ["collect", *_passed(options)]
    keep = not (options.archive or options.redact or options.lean)
    settings = claude_dir(options.claude_dir) / "settings.json"
    if options.hook:
        return plan_hook(settings, arguments, remove=remove, keep=keep)
    timer = plan_timer(arguments, remove=remove, keep=keep)
    return timer if remove else InstallPlan(timer.changes + plan_renewal(settings).changes, timer.commands)


def _passed(options: Namespace) -> list[str]:
    """Return the options that the collector is to run with, as they were given here."""
    arguments: list[str] = []
    for name, value in (("--archive", options.archive), ("--claude-dir", options.claude_dir)):
        if value:
            arguments += [name, str(Path(value).expanduser().absolute())]
    return arguments + [flag for flag, is_set in (("--redact", options.redact), ("--lean", options.lean)) if is_set]


def _show(plan: InstallPlan) -> None:
    for change in plan.changes:
        if change.before != change.after:
            print(clean(_difference(change)))
    for command in plan.commands:
        print(f"$ {shell_quoting.join_command(command)}")


def _difference(change: PlannedFile) -> str:
    old, new = (data.decode("utf-8", "replace").splitlines() if data else [] for data in (change.before, change.after))
    what = "removed" if change.after is None else "new" if change.before is None else "changed"
    body = unified_diff(old, new, lineterm="", n=2)
    return "\n".join([f"{change.path} ({what})", *list(body)[2:]])


def _asks() -> bool:
    if not sys.stdin.isatty():
        raise Refused(
            ["this needs a confirmation, and there is no terminal"],
            hint="See what would be done with --dry-run, and agree with --yes.",
        )
    return input("Do this? [y/N] ").strip().lower() in ("y", "yes")
