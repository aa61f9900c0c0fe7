"""The start page: what was used, where and when, what runs now, and what is about to be deleted; also of one project."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from clew.browse.summary_thread import SummarySnapshot
from clew.collect.expiring_sessions import SOON, expiring_sessions
from clew.errors import NotFound
from clew.facts.prices import MICRO, dollars
from clew.report.charts.scale import MONEY, REPLIES, TOKENS, Unit
from clew.report.overview import Overview, Period
from clew.report.plots import Amounts, hours_figure, name_figure, time_figure, year_figure
from clew.report.session_summary import SessionSummary
from clew.report.text_table import short_number
from clew.view.header import NO_PROMPT
from clew.web.app_state import AppState
from clew.web.turn_html import session_url
from clew.web.usage_data import ProjectNames, UsageData, day_start
from clew.wire.arrival_time import cleanup_days
from clew.wire.layout import SessionFile
from clew.wire.running_sessions import list_running

SPANS = {7: "7 days", 30: "30 days", 90: "90 days", 365: "Year"}
SPLITS = {"model": "Model", "project": "Project"}
MOST = 8  # rows of a list
MAX_DRAWN = 32  # pages whose charts are kept
FIRST_SECONDS, NEXT_SECONDS = 0.2, 1.0  # to wait for new numbers before the page is sent, and for each later question


class StartPage:
    def __init__(self, state: AppState, usage: UsageData) -> None:
        self._state, self._usage = state, usage
        self._drawn: dict[tuple[str, str, int], tuple[Overview, dict[str, Any]]] = {}  # by what a page shows

    def routes(self) -> list[Route]:
        return [Route("/", self.full_page), Route("/overview", self.part)]

    async def full_page(self, request: Request) -> Response:
        """Show what is known at once; a script asks for the rest."""
        if request.query_params.get("q"):
            return Response(status_code=303, headers={"Location": f"/search?{request.url.query}"})
        project = self._project(request)
        overview, is_fresh = await self._usage.overview(self._zone, FIRST_SECONDS, project)
        body = await asyncio.to_thread(self._body, request, overview, project) if overview else ""
        values: dict[str, Any] = {
            "body": Markup(body),
            "is_fresh": is_fresh,
            "query": request.url.query,
            "percent": self._percent,
            "project": ProjectNames(self._state, [project]).labels[project] if project else "",
        }
        return self._state.renderer.page(request, "start", values["project"] or "Start", **values)

    async def part(self, request: Request) -> Response:
        """Return the content alone, or how far it is with the status 202."""
        project = self._project(request)
        overview, is_fresh = await self._usage.overview(self._zone, NEXT_SECONDS, project)
        if overview is None or not is_fresh:
            return PlainTextResponse(str(self._percent), 202)
        return HTMLResponse(await asyncio.to_thread(self._body, request, overview, project))

    def _project(self, request: Request) -> str:
        """Return the folder of the project that a request names; "" for all. Raises NotFound."""
        wanted = request.query_params.get("project", "")
        if not wanted:
            return ""
        folders = {Path(path).parent.name for path in self._state.summaries.current(0.1, 1.0).files}
        names = ProjectNames(self._state, folders)
        folder = next((each for each in folders if names.public(each) == wanted), None)
        if folder is None:
            raise NotFound(wanted[:100], "project")
        return folder

    @property
    def _percent(self) -> int:
        """How much of the sessions is read: while they are, the numbers have to wait."""
        return self._state.summaries.snapshot.percent

    @property
    def _zone(self) -> str:
        zone = self._state.preferences.settings.zone
        return "" if zone == "system" else zone

    def _body(self, request: Request, overview: Overview, project: str) -> str:
        number = request.query_params.get("days", "")
        days = int(number) if number in map(str, SPANS) else 30
        by = request.query_params.get("by", "")
        by = by if by in SPLITS else "model"
        snapshot = self._state.summaries.current(0.1)
        since = overview.today - timedelta(days=days - 1)
        begin = day_start(since, self._zone)
        summaries = {path: each for path, each in snapshot.summaries.items() if not project or each.folder == project}
        recent = [each for each in summaries.values() if each.ended >= begin]
        if self._drawn.get((project, by, days), (None,))[0] is not overview:
            if len(self._drawn) >= MAX_DRAWN:
                self._drawn.clear()
            self._drawn[project, by, days] = overview, self._charts(overview, since, by, project)
        values = {
            "is_empty": not overview.days and not snapshot.files,
            "folder": str(self._state.shelf.tree.root),
            "address": f"{self._address(project)}&" if project else "/?",
            "is_project": bool(project),
            "periods": [self._period(overview.period(name, count), project) for name, count in _PERIODS],
            "days": days,
            "by": by,
            "spans": SPANS,
            "splits": {} if project else SPLITS,
            "since": since.isoformat(),
            "running": self._running(summaries, bool(project)),
            "expiring": {} if project else self._expiring(snapshot),
            "percent": None if snapshot.is_complete else snapshot.percent,
            **self._drawn[project, by, days][1],
            **self._lists(recent, since, self._public(project=project)),
            "top_sessions": self._top_sessions(recent) if project else "",
        }
        return self._state.renderer.text("start_body.html", **values)

    def _address(self, project: str, **values: object) -> str:
        """Return the address of this page for a project, or for all."""
        names = {"project": ProjectNames(self._state, [project]).public(project)} if project else {}
        return f"/?{urlencode({**names, **values})}"

    def _period(self, period: Period, project: str) -> dict[str, Any]:
        row = period.row
        filters = self._public(project=project)
        return {
            "name": period.name,
            "cost": dollars(row.cost) if row.cost or not row.total else "no price",
            "change": period.change,
            "before": _BEFORE[period.name],
            "tokens": short_number(row.total),
            "sessions": period.sessions,
            "replies": row.replies,
            "link": f"/sessions?{urlencode({'since': period.since, 'until': period.until, **filters})}",
            "usage": f"/usage?{urlencode({'by': 'day', 'since': period.since, **filters})}",
        }

    # -- charts

    def _charts(self, overview: Overview, since: date, by: str, project: str) -> dict[str, Any]:
        filters = self._public(project=project)
        unit: Unit = MONEY if overview.is_priced else TOKENS
        names = ProjectNames(self._state, {name for found in overview.projects.values() for name in found})
        parts = overview.models if by == "model" else overview.projects

        def amount(day: date) -> Mapping[str, float]:
            if not overview.is_priced:
                return {"tokens": overview.days[day].total}
            return {
                (name if by == "model" else names.labels[name]): cost / MICRO**2
                for name, cost in parts[day].items()
                if cost
            }

        rows = [Amounts(day.isoformat(), amount(day)) for day in sorted(overview.days) if day >= since]
        ends = [datetime(day.year, day.month, day.day) for day in (since, overview.today)]
        values = {day: row.cost / MICRO**2 if overview.is_priced else row.total for day, row in overview.days.items()}
        year = year_figure(values, overview.today, unit, lambda day: _sessions(day, day + timedelta(days=1), filters))
        projects = [
            Amounts(
                names.labels[folder],
                {"": cost / MICRO**2},
                self._address(folder, days=(overview.today - since).days + 1),
            )
            for folder, cost in overview.top_projects(since)
            if cost
        ]

        def link(begin: datetime, end: datetime) -> str:
            return _sessions(begin.date(), end.date(), filters)

        over_time = time_figure("Over time", "day", rows, unit, link=link, ends=ends, width=1120)
        return {
            "over_time": Markup(over_time.html()),
            "what": "Cost" if overview.is_priced else "Tokens",
            "year": Markup(year.html()),
            "hours": Markup(hours_figure(overview.hours, REPLIES).html()),
            "projects": Markup(name_figure("Projects", "Project", projects, unit, width=560).html())
            if projects
            else "",
        }

    # -- lists

    def _public(self, **filters: str) -> dict[str, str]:
        """Return the filters that have a value and contain no secret."""
        return {name: value for name, value in filters.items() if value and self._state.clean_text(value) == value}

    def _top_sessions(self, recent: list[SessionSummary]) -> Markup | str:
        """Draw the most expensive sessions."""
        rows = [
            Amounts(
                self._state.clean_text(each.title, 60) or NO_PROMPT,
                {"": each.cost_micros / MICRO},
                session_url(each.session),
            )
            for each in sorted(recent, key=lambda each: -each.cost_micros)[:MOST]
            if each.cost_micros
        ]
        return Markup(name_figure("Sessions", "Session", rows, MONEY, width=560).html()) if rows else ""

    def _lists(self, recent: list[SessionSummary], since: date, filters: dict[str, str]) -> dict[str, Any]:
        calls: Counter[str] = Counter()
        failures: Counter[str] = Counter()
        files: Counter[str] = Counter()
        commands: Counter[str] = Counter()
        for each in recent:
            for name, (count, failed) in each.tools.items():
                calls[name] += count
                failures[name] += failed
            files.update(each.edited)
            commands.update(each.failing)
        clean = self._state.clean_text
        return {
            "tools": [
                {
                    "name": clean(name),
                    "count": count,
                    "failed": failures[name],
                    "link": _sessions(since, filters=filters | self._public(tool=name)),
                    "failed_link": f"/search?{urlencode({'q': f'tool:{clean(name)} is:error'})}",
                }
                for name, count in calls.most_common(MOST)
            ],
            "files": [
                {
                    "name": clean(_tail(path)),
                    "title": clean(path),
                    "count": count,
                    "link": _sessions(since, filters=filters | self._public(file=path)),
                }
                for path, count in files.most_common(MOST)
            ],
            "commands": [
                {
                    "name": clean(line, 80),
                    "count": count,
                    "link": f"/search?{urlencode({'q': _command_query(clean(line))})}",
                }
                for line, count in commands.most_common(MOST)
                if line
            ],
        }

    def _running(self, summaries: Mapping[str, SessionSummary], only_these: bool) -> list[dict[str, Any]]:
        by_id = {each.session: each for each in summaries.values()}
        found = []
        for each in list_running(self._state.shelf.tree):
            summary = by_id.get(each.session)
            if only_these and summary is None:
                continue
            found.append(
                {
                    "title": self._state.clean_text(
                        each.name or (summary.title if summary else "") or each.program, 90
                    ),
                    "link": session_url(each.session) if summary else "",
                    "status": each.status or "runs",
                    "waiting_for": self._state.clean_text(each.waiting_for, 60),
                    "project": self._state.clean_text(_tail(each.cwd, 1)),
                    "since": each.since or each.started,
                }
            )
        return found

    def _expiring(self, snapshot: SummarySnapshot) -> dict[str, Any]:
        root = self._state.shelf.tree.root
        limit = time.time_ns() - (cleanup_days(root) - SOON) * 86_400 * 10**9
        old = [(Path(path), file) for path, file in snapshot.files.items() if file.mtime_ns < limit]
        found = expiring_sessions(
            root, [SessionFile(path, path.parent, file.size, file.mtime_ns) for path, file in old]
        )
        if not found:
            return {}
        last = max(file.mtime_ns for file in found) // 10**9
        return {
            "count": len(found),
            "days": cleanup_days(root),
            "link": f"/sessions?{urlencode({'until': date.fromtimestamp(last) + timedelta(days=1)})}",
        }


_PERIODS = (("Today", 1), ("Last 7 days", 7), ("Last 30 days", 30))
_BEFORE = {"Today": "yesterday", "Last 7 days": "the 7 days before", "Last 30 days": "the 30 days before"}


def _sessions(since: date, until: date | None = None, filters: Mapping[str, str] | None = None) -> str:
    """Return the address of the sessions of some days that pass filters."""
    values = {"since": since.isoformat(), "until": until.isoformat() if until else "", **(filters or {})}
    return f"/sessions?{urlencode({name: value for name, value in values.items() if value}, errors='replace')}"


def _tail(path: str, parts: int = 2) -> str:
    return "/".join([part for part in path.replace("\\", "/").split("/") if part][-parts:])


def _command_query(line: str) -> str:
    """Return a query for the failures of a command: its words, as a phrase."""
    words = " ".join("".join(letter if letter.isalnum() else " " for letter in line).split()[:6])
    return f'tool:Bash is:error "{words}"' if words else "tool:Bash is:error"
