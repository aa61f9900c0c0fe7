"""Follow a session while it is written: `clew.follow`."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

from clew.conversation.session import Session
from clew.wire.entry import Entry, entries
from clew.wire.tail_reader import Tail


def follow(
    source: Session | str | os.PathLike[str],
    *,
    interval: float = 0.5,
    until_idle: float | None = None,
    from_start: bool = False,
) -> Iterator[Entry]:
    """Yield the entries that are appended to a session, as soon as their line is complete.

    The file is looked at every `interval` seconds. `until_idle=5` ends after five seconds without a new line; by default
    the iterator never ends. `from_start` yields the existing entries first. A file that is replaced is read again from
    its beginning.
    """
    path = source.path if isinstance(source, Session) else source
    if path is None:
        raise ValueError("This session has no file to follow.")
    tail = Tail(path)
    if not from_start:
        tail.read()
    last = time.monotonic()
    while True:
        if items := tail.read():
            last = time.monotonic()
            yield from entries(items)
        elif until_idle is not None and time.monotonic() - last >= until_idle:
            return
        else:
            time.sleep(interval)
