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
    """Return a time in the chosen zone as HTML, with the UTC in its title. `text`, such as an age, is shown instead."""
    if time is None:
        return ""
    shown, utc = local_time(time), f"{time.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    is_utc = not shown.utcoffset()
    exact = utc if is_utc else f"{shown:%Y-%m-%d %H:%M} ({utc})"
    title = exact if text else "" if is_utc else utc
    attribute = f' title="{title}"' if title else ""
    return f'<time datetime="{format_timestamp(time)}"{attribute}>{text or format(shown, pattern)}</time>'
