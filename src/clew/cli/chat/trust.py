"""`clew trust`: the folders whose own settings may run things."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from clew.cli.options import add_common_options
from clew.cli.output import print_json, print_message

_STATES = {
    "trusted": "is trusted",
    "untrusted": "is not trusted",
    "changed": "is not trusted: what it brings along has changed since you trusted it",
}


def add_arguments(command: ArgumentParser) -> None:
    command.add_argument("folder", nargs="?", default=".", help="the folder of a project (default: this one)")
    which = command.add_mutually_exclusive_group()
    which.add_argument("--list", action="store_true", help="print the trusted folders")
    which.add_argument("--remove", action="store_true", help="trust the folder no longer")
    which.add_argument("--dry-run", action="store_true", help="show what it brings along and change nothing")
    add_common_options(command)


def run(options: Namespace) -> int:
    from pathlib import Path

    from clew.chat.permission.folder_trust import Trust, describe_settings
    from clew.view.approval_text import escape_line

    trust = Trust()
    if options.list:
        return _list(options, trust.folders())
    folder = Path(options.folder).expanduser().resolve()
    if not folder.is_dir():
        raise FileNotFoundError(2, "No such folder", str(folder))
    phrases = describe_settings(folder)
    if options.remove:
        trust.take(folder)
    elif not options.dry_run:
        trust.give(folder)
    if options.json:
        state = trust.state(folder)
        print_json(
            [{"kind": "trust", "path": str(folder), "trusted": state == "trusted", "state": state, "brings": phrases}]
        )
        return 0
    for phrase in phrases if not options.remove else ():
        print(escape_line(f"It {phrase}."))
    if not options.quiet:
        print_message(f"{escape_line(str(folder))} {_STATES[trust.state(folder)]}.")
    return 0


def _list(options: Namespace, folders: dict[str, str]) -> int:
    from clew.view.approval_text import escape_line

    if options.json:
        print_json({"kind": "trust", "path": path, "trusted": True, "since": since} for path, since in folders.items())
    else:
        for path in sorted(folders):
            print(escape_line(path))
    return 0 if folders else 1
