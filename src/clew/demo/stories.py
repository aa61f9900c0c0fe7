"""The programme of the demo: which session began when."""

from __future__ import annotations

from datetime import timedelta

from clew.demo import bakery, clock, drip, long, press, tides
from clew.demo.scene import Story


def _ago(days: float, hours: float = 0) -> timedelta:
    return timedelta(days=days, hours=hours)


STORIES = (
    Story("long-ago", _ago(59, 3), press.long_ago),
    Story("sensor", _ago(52, 5), drip.sensor),
    Story("stations", _ago(47, 8), long.stations),
    Story("bad-day", _ago(41, 2), bakery.bad_day),
    Story("moved", _ago(38, 6), tides.moved),
    Story("damaged", _ago(33, 4), clock.damaged),
    Story("menu-import", _ago(27, 5), bakery.menu_import),
    Story("menu-import-fork", _ago(27, 5), bakery.menu_import_fork),
    Story("drift", _ago(24, 1), clock.drift),
    Story("images", _ago(20, 7), press.images),
    Story("research", _ago(17, 2), press.research),
    Story("opening-hours", _ago(14, 4), bakery.opening_hours),
    Story("compacted", _ago(11, 6), drip.compacted),
    Story("secrets", _ago(9, 3), bakery.secrets),
    Story("languages", _ago(7, 5), press.languages),
    Story("overflow", _ago(6, 1), tides.overflow),
    Story("titled", _ago(4, 4), press.titled),
    Story("workflow", _ago(3, 6), drip.workflow),
    Story("planned", _ago(2, 5), drip.planned),
    Story("agents", _ago(1, 4), drip.agents),
    Story("scripted", _ago(0, 9), tides.scripted),
    Story("rounding", _ago(0, 3), bakery.rounding),
)
