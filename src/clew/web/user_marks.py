"""Pins, tags and saved searches: what the user notes on the pages, kept in clew's own preferences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct, field
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from clew.view.sanitize import one_line
from clew.web.app_state import AppState
from clew.web.forms import read_form, redirect_back
from clew.web.preferences import Preferences
from clew.wire.tree_walk import is_uuid

MAX_MARKS = 5000  # pinned sessions, tagged sessions, and saved searches
MAX_TAG = 40  # characters
MAX_TAGS = 20  # of a session
MAX_QUERY = 500  # characters of a saved search, and of its name
_SECTION = "marks"


class UserMarks(Struct):
    """The marks as they are stored. `searches` has queries by name."""

    pins: list[str] = field(default_factory=list)
    tags: dict[str, list[str]] = field(default_factory=dict)
    searches: dict[str, str] = field(default_factory=dict)


def read_marks(preferences: Preferences) -> UserMarks:
    """Return the stored marks; none if they are damaged."""
    return _convert(preferences.read(_SECTION))


def _convert(value: Any) -> UserMarks:
    try:
        return msgspec.convert(value or {}, UserMarks)
    except msgspec.ValidationError:
        return UserMarks()


def change_marks(preferences: Preferences, change: Callable[[UserMarks], object]) -> None:
    """Apply a change to the stored marks."""

    def changed(value: Any) -> Any:
        marks = _convert(value)
        change(marks)
        return msgspec.to_builtins(marks)

    preferences.change(_SECTION, changed)


def tag_text(text: str) -> str:
    """Return a tag in the form in which it is stored: one line, without a leading `#`."""
    return one_line(text).strip().lstrip("#").strip()[:MAX_TAG].strip()


class MarksPage:
    """Takes the forms that pin, tag and save."""

    def __init__(self, state: AppState) -> None:
        self._state = state

    def routes(self) -> list[Route]:
        return [Route("/marks", self.save, methods=["POST"])]

    async def save(self, request: Request) -> Response:
        values = await read_form(request)
        change_marks(self._state.preferences, lambda marks: apply_form(marks, values))
        return redirect_back(values, "/sessions")


def apply_form(marks: UserMarks, values: dict[str, str]) -> None:
    """Apply the fields of a form: pin, unpin, tag or untag a session, or save or forget a search."""
    if is_uuid(session := values.get("pin", "")) and session not in marks.pins and len(marks.pins) < MAX_MARKS:
        marks.pins.append(session)
    if (session := values.get("unpin", "")) in marks.pins:
        marks.pins.remove(session)
    _apply_tags(marks, values)
    query = one_line(values.get("query", "")).strip()[:MAX_QUERY]
    name = one_line(values.get("save", "")).strip()[:MAX_QUERY] or query
    if "save" in values and query and len(marks.searches) < MAX_MARKS:
        marks.searches[name] = query
    marks.searches.pop(values.get("forget", ""), None)


def _apply_tags(marks: UserMarks, values: dict[str, str]) -> None:
    session, tag = values.get("session", ""), tag_text(values.get("tag", ""))
    if not is_uuid(session) or (session not in marks.tags and len(marks.tags) >= MAX_MARKS):
        return
    tags = marks.tags.get(session, [])
    if "untag" in values:
        tags = [each for each in tags if each != values["untag"]]
    elif tag and tag not in tags and len(tags) < MAX_TAGS:
        tags = [*tags, tag]
    marks.tags.pop(session, None)
    if tags:
        marks.tags[session] = tags
