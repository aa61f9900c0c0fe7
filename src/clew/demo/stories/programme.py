"""The programme of the demo: which session began when."""

from __future__ import annotations

from datetime import timedelta

from clew.demo.stories import bakery, chess_clock, irrigation, long_session, site_generator, tide_gauges
from clew.demo.stories.story import Story


def _ago(days: float, hours: float = 0) -> timedelta:
    return timedelta(days=days, hours=hours)


STORIES = (
    Story("long-ago", _ago(59, 3), site_generator.long_ago),
    Story("sensor", _ago(52, 5), irrigation.sensor),
    Story("stations", _ago(47, 8), long_session.stations),
    Story("bad-day", _ago(41, 2), bakery.bad_day),
    Story("moved", _ago(38, 6), tide_gauges.moved),
    Story("damaged", _ago(33, 4), chess_clock.damaged),
    Story("menu-import", _ago(27, 5), bakery.menu_import),
    Story("menu-import-fork", _ago(27, 5), bakery.menu_import_fork),
    Story("drift", _ago(24, 1), chess_clock.drift),
    Story("images", _ago(20, 7), site_generator.images),
    Story("research", _ago(17, 2), site_generator.research),
    Story("opening-hours", _ago(14, 4), bakery.opening_hours),
    Story("compacted", _ago(11, 6), irrigation.compacted),
    Story("secrets", _ago(9, 3), bakery.secrets),
    Story("languages", _ago(7, 5), site_generator.languages),
    Story("overflow", _ago(6, 1), tide_gauges.overflow),
    Story("titled", _ago(4, 4), site_generator.titled),
    Story("workflow", _ago(3, 6), irrigation.workflow),
    Story("planned", _ago(2, 5), irrigation.planned),
    Story("agents", _ago(1, 4), irrigation.agents),
    Story("scripted", _ago(0, 9), tide_gauges.scripted),
    Story("rounding", _ago(0, 3), bakery.rounding),
)
