"""`clew sync`: make this folder of Claude Code and another one equal, by union in both directions."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from clew.cli.options import add_common_options
from clew.cli.output import clean_name, print_json, print_message
from clew.errors import Refused
from clew.system.plural import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clew.edit.sync_trees import SyncResult
    from clew.wire.layout import Tree


def add_arguments(command: ArgumentParser) -> None:
    command.add_argument(
        "other",
        nargs="?",
        metavar="DIR|ssh:HOST",
        help="another Claude folder, or a machine on which clew is installed",
    )
    command.add_argument("--yes", "-y", action="store_true", help="do it (default: show what would be done)")
    command.add_argument("--dry-run", action="store_true", help="show what would be done (the default)")
    command.add_argument("--inventory", action="store_true", help="print each session with a digest, and do nothing")
    add_common_options(command)


def run(options: Namespace) -> int:
    from clew.cli.select_session import open_tree

    tree = open_tree(options)
    if options.inventory:
        return _inventory(tree)
    if not options.other:
        raise Refused(["no other folder was named"], hint="Name one: clew sync DIR, or clew sync ssh:HOST")
    if options.yes and options.dry_run:
        raise Refused(["--yes and --dry-run exclude each other"], hint="Leave one of them out.")
    if options.other.startswith("ssh:"):
        from clew.cli.keep.sync_ssh import sync_with_host

        pulled, pushed = sync_with_host(options.other.removeprefix("ssh:"), tree, options.yes)
    else:
        pulled, pushed = _sync_folder(_other_tree(options.other, tree), tree, options.yes)
    return _report(options, pulled, pushed)


def _inventory(tree: Tree) -> int:
    from clew.edit.sync_trees import inventory

    print_json({"kind": "inventory", "session": id, "digest": sum} for id, sum in inventory(tree).items())
    return 0


def _other_tree(name: str, tree: Tree) -> Tree:
    """Return the other folder: a Claude folder, a folder with `.claude` in it, or an empty one to fill."""
    from pathlib import Path

    from clew.wire.layout import Tree

    path = Path(name).expanduser().absolute()
    inner = path / ".claude"
    if not (path / "projects").is_dir() and (inner / "projects").is_dir():
        path = inner
    if not path.is_dir():
        raise Refused([f"{name} is not a folder"], hint="Create it first, if it is where copies should go.")
    if not (path / "projects").is_dir() and any(path.iterdir()):
        raise Refused(
            [f"{name} is not a Claude folder: it has no projects/"], hint="Name a Claude folder or an empty one."
        )
    if os.path.realpath(path) == os.path.realpath(tree.root):
        raise Refused([f"{name} is the folder itself"], hint="Name another one.")
    return Tree(path)


def _sync_folder(other: Tree, tree: Tree, is_done: bool) -> tuple[list[SyncResult], list[SyncResult]]:
    from clew.edit.receive_sessions import Received
    from clew.edit.sync_trees import plan_sync, sync_into, sync_results

    if is_done:
        return sync_into(other, tree), sync_into(tree, other)
    plans = plan_sync(other, tree), plan_sync(tree, other)
    pulled, pushed = (sync_results(map(Received, plan)) for plan in plans)
    return pulled, pushed


def _report(options: Namespace, pulled: Sequence[SyncResult], pushed: Sequence[SyncResult]) -> int:
    from clew.cli.share.received_output import describe

    results = [*(("here", each) for each in pulled), *(("there", each) for each in pushed)]
    for place, result in results:
        if options.json:
            fields = {"kind": "sync", "session": result.session, "place": place, "state": result.state}
            extra = {"merged": result.merged or None, "problem": result.problem or None}
            print_json([{**fields, **extra, "written": options.yes and not result.problem}])
        else:
            sentence = describe(result.state, result.merged, result.problem, is_done=options.yes)
            print(clean_name(f"{place:<5}  {result.session}  {sentence}"))
    if not options.json and not options.quiet:
        if not results:
            print_message("Both folders have the same sessions.")
        elif not options.yes:
            count = plural(len({each.session for _, each in results}), "session")
            print_message(f"{count} would change and nothing was written. Do it with --yes.")
    return 1 if any(result.problem for _, result in results) else 0
