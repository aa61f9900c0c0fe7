"""Show times in the zone that the reader chose: UTC in files, the zone of the settings in the web pages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime, tzinfo

from clew.wire.timestamps import format_timestamp

_zone: ContextVar[tzinfo | None] = ContextVar("zone", default=UTC)


@contextmanager
def use_zone(zone: tzinfo | None) -> Iterator[None]:
    """Show the times of this thread or task in a zone; None is that of this machine."""
    token = _zone.set(zone)
    try:
        yield
    finally:
        _zone.reset(token)


def current_zone() -> tzinfo | None:
    return _zone.get()


def local_time(time: datetime) -> datetime:
    """Return a moment in the chosen zone."""
    return time.astimezone(_zone.get())


def time_tag(time: datetime | None, pattern: str = "%Y-%m-%d %H:%M", text: str = "") -> str:
    """Return a time in the chosen zone as HTML, with the UTC in its title. `text` is shown in its place."""
    if time is None:
        return ""
    shown = local_time(time)
    utc = time.astimezone(UTC)
    is_same = shown.utcoffset() == utc.utcoffset() and not text
    title = "" if is_same else f' title="{utc:%Y-%m-%d %H:%M} UTC"'
    return f'<time datetime="{format_timestamp(time)}"{title}>{text or format(shown, pattern)}</time>'
