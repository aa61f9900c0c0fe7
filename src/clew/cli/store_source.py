"""The option `--store` of commands that read: fetch what is new from a store, and let the command read the mirror."""

from __future__ import annotations

import threading
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from clew.errors import ClewError, Refused

if TYPE_CHECKING:
    from clew.collect.mirror.mirror_catalog import Scope
    from clew.collect.mirror.store_tree import StoreSource, StoreTree

REFRESH_SECONDS = 60.0  # between two updates while a command runs that does not end by itself


def use_store(options: Namespace) -> None:
    """Let a command read the store that its options name: its folder of Claude Code is the mirror. Raises ClewError."""
    if options.store is None:
        raise Refused(["--developer and --token-file are about a store: name it with --store"])
    if options.claude_dir or getattr(options, "archived", False):
        raise Refused(["--store reads a store: leave out --claude-dir and --archived"])
    source = store_source(options)
    from clew.cli.progress import ProgressBar

    bar = ProgressBar("Fetching sessions", quiet=options.quiet)
    tree = source.open(scope_of(options), bar.update)
    bar.erase()
    options.store_tree, options.store_source = tree, source
    options.claude_dir = str(tree.root)
    if not options.quiet:
        _print_remarks(tree)


def store_source(options: Namespace) -> StoreSource:
    """Return the store that the options name, with its secret: an address, or the name of a sink. Raises Refused."""
    from clew.collect.config import SinkConfig, load_config
    from clew.collect.mirror.store_tree import StoreSource

    sinks = load_config().sinks if "://" not in options.store and not options.store.startswith("delta:") else ()
    named = next((sink for sink in sinks if sink.name == options.store), None)
    sink = named or SinkConfig(options.store)
    if options.token_file:
        sink = SinkConfig(sink.to, sink.name, options.token_file)
    return StoreSource(sink.to, sink.read_secret(), options.developer or "")


def scope_of(options: Namespace) -> Scope:
    """Return which sessions a command needs: one that names sessions needs no others."""
    from clew.collect.mirror.mirror_catalog import Scope

    named: Any = getattr(options, "id", None) or getattr(options, "session", None) or ()
    names = (named,) if isinstance(named, str) else tuple(named)
    since: datetime | None = getattr(options, "since", None)
    return Scope(
        getattr(options, "project", None) or "",
        int(since.timestamp() * 1000) if since else 0,
        tuple(name.lower().removesuffix(".jsonl").removeprefix("agent-") for name in names),
    )


def owner_fields(options: Namespace, path: str | None) -> dict[str, str]:
    """Return who collected a file, for `--json`; nothing for a local one."""
    tree: StoreTree | None = getattr(options, "store_tree", None)
    if tree is None:
        return {}
    file = tree.file(path) if path else None
    return {name: getattr(file, name, "") for name in ("developer", "machine", "team", "host")}


def describe_owner(options: Namespace, path: str) -> str:
    """Return who collected a file, on which machine, and in which store."""
    fields = owner_fields(options, path)
    names = [fields.get(name, "") for name in ("developer", "machine", "team")]
    return f"collected by {' · '.join(filter(None, names)) or fields.get('host', '')} in {options.store_tree.store}"


def restore_command(options: Namespace, session: str) -> str:
    """Return the command that brings a session of the store to this machine."""
    from clew.system import shell_quoting

    return shell_quoting.session_command("restore", session, "--store", public_store(options.store), full_id=True)


def public_store(address: str) -> str:
    """Return an address as a user may type it again: without a password."""
    parts = urlsplit(address)
    user, mark, server = parts.netloc.rpartition("@")
    return parts._replace(netloc=f"{user.partition(':')[0]}{mark}{server}").geturl() if ":" in user else address


@contextmanager
def refreshed(options: Namespace) -> Iterator[None]:
    """Update the mirror regularly while the command runs."""
    if getattr(options, "store_tree", None) is None:
        yield
        return
    stopped = threading.Event()

    def refresh() -> None:
        while not stopped.wait(REFRESH_SECONDS):
            try:
                options.store_source.open(scope_of(options))
            except (ClewError, OSError):  # the next time may succeed; what was fetched stays readable
                continue

    thread = threading.Thread(target=refresh, daemon=True, name="clew-store")
    thread.start()
    try:
        yield
    finally:
        stopped.set()


def _print_remarks(tree: StoreTree) -> None:
    from clew.cli.output import clean_name, format_age, format_size, print_message
    from clew.system.plural import plural

    if tree.away:
        when = format_age(datetime.fromtimestamp(tree.updated).astimezone())
        print_message(clean_name(f"{tree.away} This is what was fetched {when}."))
    elif tree.fetched.lines:
        lines = f"{plural(tree.fetched.lines, 'line')} of {plural(tree.fetched.files, 'file')}"
        print_message(clean_name(f"Fetched {lines} from {tree.store}; {format_size(tree.size)} are kept here."))
    if tree.damaged:
        print_message(f"{plural(tree.damaged, 'line')} of the store left out: damaged, or not stored.")
    if tree.refused:
        print_message(f"{plural(tree.refused, 'file')} of the store left out: the names are not those of sessions.")
