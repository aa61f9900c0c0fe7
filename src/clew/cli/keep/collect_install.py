"""`clew collect install` and `uninstall`: show the changes, ask, and apply them."""

from __future__ import annotations

import sys
from argparse import Namespace
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from clew.cli.output import clean, clean_name, print_json, print_message
from clew.errors import Refused
from clew.system import shell_quoting
from clew.system.environment import lost_credentials, named_folders, unit_environment
from clew.wire.layout import claude_dir

if TYPE_CHECKING:
    from clew.collect.install_plan import InstallPlan, PlannedFile


def install(options: Namespace) -> int:
    return carry_out(options, _plan(options))


def carry_out(options: Namespace, plan: InstallPlan) -> int:
    """Show a plan, ask the user, and apply it. Return the exit code."""
    from clew.collect.install_plan import apply_plan, remove_backups

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
        action = getattr(options, "action", "")  # none: the status line is installed in the same way
        if action:
            _remark(options)
        if action == "uninstall" and options.hook:
            removed = remove_backups(claude_dir(options.claude_dir) / "settings.json")
            kept = [path for path in kept if path not in removed]
        for path in kept:
            print(clean_name(f"The old one is {path}"))
    elif not options.dry_run:
        print_message("Nothing was changed.")
        return 1
    return 0


def _remark(options: Namespace) -> None:
    """Name what the user still has to do, such as credentials of this shell that a timer does not have."""
    if options.action == "uninstall" or options.quiet or options.hook:
        return
    if lost := lost_credentials():
        print_message(
            f"{', '.join(lost)} {'is' if len(lost) == 1 else 'are'} set here and not where it runs; use token files."
        )
    if sys.platform == "linux":
        print_message("It stops when you log out, unless you run: loginctl enable-linger")


def _plan(options: Namespace) -> InstallPlan:
    """Return the plan of the hook or of the timer. A hook that an earlier version wrote is rewritten with either."""
    from clew.collect.install_plan import InstallPlan, plan_hook, plan_renewal, plan_timer

    remove = options.action == "uninstall"
    arguments = ["collect", *_passed(options)]
    keep = not _given(options)
    settings = claude_dir(options.claude_dir) / "settings.json"
    if options.hook:
        if options.watch:
            raise Refused(["a hook ends with its session, so it cannot watch"], hint="Leave out --watch or --hook.")
        return plan_hook(settings, arguments, remove=remove, keep=keep)
    timer = plan_timer(arguments, environment=unit_environment(), watch=options.watch, remove=remove, keep=keep)
    return timer if remove else InstallPlan(timer.changes + plan_renewal(settings).changes, timer.commands)


def _given(options: Namespace) -> list[str]:
    """Return the options of this command line that the collector is to run with."""
    for address in options.to:
        if urlsplit(address).password:
            raise Refused(
                ["the address contains a password, which would be written to a file that other programs read"],
                hint="Put it in a file: --token-file, or token-file in the configuration (clew collect init).",
            )
    addresses = (Path(a).expanduser().absolute() if a.endswith(".jsonl") and "://" not in a else a for a in options.to)
    paths = {"--archive": options.archive, "--claude-dir": options.claude_dir, "--config": options.config}
    paths |= {"--token-file": options.token_file, "--state": options.state}
    flags = {"--redact": options.redact, "--lean": options.lean, "--reveal": options.reveal}
    flags |= {"--no-archive": options.no_archive, "--watch": options.watch}
    sizes = {"--max-line": options.max_line, "--max-file": options.max_file}
    return [
        *(word for name, path in paths.items() if path for word in (name, str(Path(path).expanduser().absolute()))),
        *(word for address in addresses for word in ("--to", str(address))),
        *(word for name, size in sizes.items() if size for word in (name, str(size))),
        *(flag for flag, is_set in flags.items() if is_set),
        *(["--every", f"{options.every:g}"] if options.watch and options.every else []),
    ]


def _passed(options: Namespace) -> list[str]:
    """Return the options that the collector is to run with. Folders that the environment names are written out,
    because a timer has another environment.
    """
    from clew.collect.archive.reader import archive_path
    from clew.collect.config import config_path

    given = _given(options)
    named = named_folders()
    if "CLAUDE_CONFIG_DIR" in named and not options.claude_dir:
        given += ["--claude-dir", str(claude_dir(None).absolute())]
    if "XDG_DATA_HOME" in named and not (options.archive or options.no_archive):
        given += ["--archive", str(Path(archive_path(None)).absolute())]
    if "XDG_CONFIG_HOME" in named and not (options.config or options.to) and config_path().exists():
        given += ["--config", str(config_path().absolute())]
    return given


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
