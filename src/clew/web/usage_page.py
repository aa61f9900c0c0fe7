"""The usage page: the tables and charts of `clew usage` with filters, and their numbers as files."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import time
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple
from urllib.parse import urlencode

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from clew.errors import NotFound
from clew.facts.prices import dollars, load
from clew.report.collect_buckets import CollectedBuckets
from clew.report.five_hour_blocks import group_into_blocks
from clew.report.plots import blocks_figure, cost_figure
from clew.report.text_table import note_lines
from clew.report.timezone import Zone
from clew.report.usage_row import UsageRow
from clew.report.usage_table import (
    BY,
    TIMES,
    UsageQuery,
    UsageTable,
    build_table,
    needs_places,
    needs_replies,
    select_buckets,
    table_json,
)
from clew.system.control_characters import escape_json
from clew.system.spreadsheet import safe_cell
from clew.view.mask_rows import MaskCount
from clew.web.app_state import AppState
from clew.web.preferences import SYSTEM, zone_names
from clew.web.turn_html import session_url
from clew.web.usage_data import ProjectNames, UsageData, day_start, today_in

VIEWS = (*TIMES, "block", "project", "session", "model", "tool", "agent", "branch")
SPANS = {"7": "7 days", "30": "30 days", "90": "90 days", "365": "a year", "all": "all time"}
MOST_ROWS = 500
WIDTH = 1240  # of charts
FIRST_SECONDS = 0.2
TYPES = {"csv": "text/csv", "json": "application/x-ndjson"}


class UsageChoice(NamedTuple):
    """What the page shows; every field is a parameter of its address."""

    by: str = "day"
    days: str = ""
    since: str = ""
    until: str = ""
    project: str = ""
    model: str = ""
    zone: str = ""

    def address(self, path: str = "/usage", **changed: str) -> str:
        values = {name: value for name, value in (self._asdict() | changed).items() if value}
        return f"{path}?{urlencode(values, errors='replace')}"


def parse_choice(given: Mapping[str, str], zone: str) -> UsageChoice:
    """Read the parameters of an address; those that cannot be understood are left out."""
    values = {name: given.get(name, "").strip()[:500] for name in UsageChoice._fields}
    values["by"] = values["by"] if values["by"] in VIEWS else "day"
    values["zone"] = values["zone"] if values["zone"] in zone_names() else zone
    for name in ("since", "until"):
        try:
            values[name] = date.fromisoformat(values[name]).isoformat()
        except ValueError:
            values[name] = ""
    is_named = values["days"] in SPANS
    values["days"] = values["days"] if is_named else "" if values["since"] or values["until"] else "30"
    return UsageChoice(**values)


class UsagePage:
    def __init__(self, state: AppState, usage: UsageData) -> None:
        self._state, self._usage = state, usage

    def routes(self) -> list[Route]:
        return [
            Route("/usage", self.full_page),
            Route("/usage/body", self.body),
            Route("/usage/export.{format}", self.export),
        ]

    async def full_page(self, request: Request) -> Response:
        """Show the page; if the numbers take longer, a script asks for them."""
        choice = self._choice(request)
        task = asyncio.create_task(asyncio.to_thread(self._body, choice))
        done, _ = await asyncio.wait({task}, timeout=FIRST_SECONDS)
        values: dict[str, Any] = {"body": Markup(task.result()) if done else "", "fill": choice.address("/usage/body")}
        return self._state.renderer.page(request, "usage", "Usage", **values, **self._form(choice))

    async def body(self, request: Request) -> Response:
        return HTMLResponse(await asyncio.to_thread(self._body, self._choice(request)))

    async def export(self, request: Request) -> Response:
        """Send the rows as `clew usage --csv` or `--json` prints them."""
        kind = request.path_params["format"]
        if kind not in TYPES:
            raise NotFound(kind, "format", list(TYPES))
        choice = self._choice(request)
        text = await asyncio.to_thread(self._export, choice, kind)
        name = {"Content-Disposition": f'attachment; filename="usage-{choice.by}.{kind}"'}
        return Response(text.encode("utf-8", "replace"), media_type=f"{TYPES[kind]}; charset=utf-8", headers=name)

    def _choice(self, request: Request) -> UsageChoice:
        return parse_choice(request.query_params, self._state.preferences.settings.zone)

    # -- numbers

    def _query(self, choice: UsageChoice) -> UsageQuery:
        zone, (since, until) = _zone(choice), self._range(choice)
        return UsageQuery(
            by=choice.by if choice.by in BY else "day",
            since=day_start(since, zone) if since else None,
            until=day_start(until + timedelta(days=1), zone) if until else None,
            project=self._folder(choice.project) if choice.project else "",
            model=choice.model,
            zone=zone,
            by_model=True,
        )

    def _range(self, choice: UsageChoice) -> tuple[date | None, date | None]:
        """Return the first and the last day that were asked for."""
        today = today_in(_zone(choice))
        if choice.days:
            return None if choice.days == "all" else today - timedelta(days=int(choice.days) - 1), None
        since, until = (date.fromisoformat(day) if day else None for day in (choice.since, choice.until))
        return since, until

    def _ends(self, choice: UsageChoice) -> list[date]:
        """Return the days that a time axis reaches."""
        since, until = self._range(choice)
        return [since, until or today_in(_zone(choice))] if since else []

    def _collect(self, query: UsageQuery, by: str) -> CollectedBuckets:
        is_per_reply = by not in BY or needs_replies(query) or needs_places(query)
        collected = self._usage.collect(per_reply=is_per_reply)
        if by == "agent":
            collected.name_agents()
        return collected

    def _table(self, choice: UsageChoice) -> tuple[UsageTable, CollectedBuckets]:
        query, prices = self._query(choice), load()
        collected = self._collect(query, choice.by)
        if choice.by != "block":
            return collected.read(lambda buckets: build_table(buckets, query, prices)), collected
        blocks = collected.read(lambda each: group_into_blocks(select_buckets(each, query), prices, time.time()))
        total = UsageRow("Total")
        for block in blocks:
            block.row.name = Zone(query.zone).hour(block.start)
            total.add_row(block.row)
        return UsageTable("block", [block.row for block in blocks], total), collected

    def _labels(self, table: UsageTable) -> dict[str, str]:
        """Return the names that people know, with secrets masked."""
        names = {row.name for row in table.rows}
        if table.by == "project":
            return ProjectNames(self._state, names).labels
        if table.by == "session":
            titles = {each.session: each.title for each in self._state.summaries.current(0.1).summaries.values()}
            found = {name: f"{name[:8]}  {titles.get(name, '')}".rstrip() for name in names}
            return {name: self._state.clean_text(label, 120) for name, label in found.items()}
        return {}

    def _mask(self, text: str) -> str:
        return text if self._state.is_revealed else MaskCount().mask(text)

    def _is_public(self, by: str, name: str, projects: ProjectNames) -> bool:
        return (projects.public(name) if by == "project" else self._mask(name)) == name

    def _projects(self) -> ProjectNames:
        return ProjectNames(self._state, (project.name for project in self._state.shelf.tree.projects()))

    def _folder(self, name: str) -> str:
        """Return the project folder that an address names."""
        names = self._projects()
        return next((folder for folder in names.labels if names.public(folder) == name), name)

    # -- the page

    def _form(self, choice: UsageChoice) -> dict[str, Any]:
        names = self._projects()
        return {
            "choice": choice,
            "views": [(view, choice.address(by=view)) for view in VIEWS],
            "spans": SPANS,
            "projects": sorted(
                ((names.public(folder), label) for folder, label in names.labels.items()), key=lambda pair: pair[1]
            ),
            "zones": zone_names(),
            "csv": choice.address("/usage/export.csv"),
            "json": choice.address("/usage/export.json"),
        }

    def _body(self, choice: UsageChoice) -> str:
        key = ("usage", choice, self._usage.state(), today_in(_zone(choice)))
        return self._state.cached_page(key, lambda: self._render(choice))

    def _render(self, choice: UsageChoice) -> str:
        (table, collected), projects = self._table(choice), self._projects()
        labels, zone = self._labels(table), Zone(_zone(choice))
        clean = {row.name: labels.get(row.name) or self._state.clean_text(row.name, 120) for row in table.rows}
        if table.by == "block":
            query, prices = self._query(choice), load()
            blocks = collected.read(lambda each: group_into_blocks(select_buckets(each, query), prices, time.time()))
            figure = blocks_figure(blocks, zone, WIDTH)
        else:
            ends = [datetime.combine(day, datetime.min.time()) for day in self._ends(choice)]
            figure = cost_figure(
                table,
                clean,
                link=lambda name: self._row_link(choice, name, projects),
                span=_span_link,
                ends=ends,
                width=WIDTH,
            )
        rows = [*reversed(table.rows)] if table.by in (*TIMES, "block") else table.rows
        return self._state.renderer.text(
            "usage_body.html",
            title=figure.title,
            chart=Markup(figure.html(has_table=False)) if table.rows else "",
            head=table.by.capitalize(),
            rows=[_cells(row, clean[row.name], self._row_link(choice, row.name, projects)) for row in rows[:MOST_ROWS]],
            more=len(rows) - MOST_ROWS,
            total=_cells(table.total, "Total", ""),
            notes=[self._state.clean_text(line) for line in note_lines(table.total, load())],
        )

    def _row_link(self, choice: UsageChoice, name: str, projects: ProjectNames) -> str:
        """Return the address of the sessions that a row counts; empty if there is no such list."""
        by = choice.by
        if by in ("hour", "day", "week", "month", "block"):
            begin = _begin(name)
            if begin is None:
                return ""
            end = {"week": begin + timedelta(days=7), "month": (begin + timedelta(days=31)).replace(day=1)}
            return _span_link(begin, end.get(by, begin + timedelta(days=1)), choice.project)
        if by == "session":
            return session_url(name)
        value = name.split(" ")[0] if by == "model" else name
        filters = {"project": choice.project, "model": choice.model} | {by: value}
        if by in ("project", "model", "tool") and not name.startswith("(") and self._is_public(by, name, projects):
            return f"/sessions?{urlencode({key: each for key, each in filters.items() if each}, errors='replace')}"
        return ""

    def _export(self, choice: UsageChoice, kind: str) -> str:
        table, _ = self._table(choice)
        labels, projects = self._labels(table), self._projects()
        public = {
            row.name: projects.public(row.name) if table.by == "project" else self._mask(row.name) for row in table.rows
        }
        labels = {public[name]: label for name, label in labels.items()}
        for row in table.rows:
            row.name = public[row.name]
        if kind == "json":
            values = table_json(table, load(), labels)
            return "".join(escape_json(json.dumps({"clew": 1, **each}, ensure_ascii=False)) + "\n" for each in values)
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*UsageRow("").to_json(), "label"])
        for fields in (row.to_json() for row in table.rows):
            cells = (" ".join(field) if isinstance(field, dict) else field for field in fields.values())
            row_cells = (*cells, labels.get(fields["name"], ""))
            writer.writerow([safe_cell(each) if isinstance(each, str) else each for each in row_cells])
        return file.getvalue()


def _zone(choice: UsageChoice) -> str:
    return "" if choice.zone == SYSTEM else choice.zone


def _cells(row: UsageRow, name: str, link: str) -> dict[str, Any]:
    numbers = (row.replies, row.input, row.output, row.write, row.read, row.total)
    cost = dollars(row.cost) if row.cost or not row.unpriced else "no price"
    return {"name": name, "link": link, "numbers": [f"{number:,}" for number in numbers], "cost": cost}


def _begin(name: str) -> datetime | None:
    try:
        return datetime.fromisoformat(f"{name}-01" if len(name) == 7 else name[:10])
    except ValueError:
        return None


def _span_link(since: datetime, until: datetime, project: str = "") -> str:
    last = until if until.date() > since.date() else since + timedelta(days=1)
    values = {"since": since.date().isoformat(), "until": last.date().isoformat()} | (
        {"project": project} if project else {}
    )
    return f"/sessions?{urlencode(values, errors='replace')}"
