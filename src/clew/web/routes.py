"""The URL routes of the application, and the pages for errors."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from clew.browse.summary_thread import SummaryThread
from clew.errors import UNEXPECTED_ERRORS, ClewError, NotFound
from clew.system.file_errors import describe_error
from clew.view.display_time import use_zone
from clew.web.access_control import AccessControl, EntryToken
from clew.web.app_state import AppState
from clew.web.async_search import AsyncSearch
from clew.web.charts_page import ChartsPage
from clew.web.compare_page import ComparePage
from clew.web.export_page import ExportPage
from clew.web.files_page import FilesPage
from clew.web.find_page import FindPage
from clew.web.first_load import loading_ahead
from clew.web.gone_page import GonePage
from clew.web.list_page import ListPage
from clew.web.live_updates import LiveUpdates
from clew.web.palette_page import PalettePage
from clew.web.preferences import Preferences
from clew.web.reader_page import ReaderPage
from clew.web.search_page import SearchPage
from clew.web.session_cache import SessionCache
from clew.web.session_rows import SessionRows
from clew.web.settings_page import SettingsPage
from clew.web.start_page import StartPage
from clew.web.templates import Renderer
from clew.web.usage_data import UsageData
from clew.web.usage_page import UsagePage
from clew.web.user_marks import MarksPage


def make_app(
    claude: str | None,
    entry: EntryToken,
    *,
    is_revealed: bool = False,
    is_ending: Callable[[], bool] = lambda: False,
    store: str = "",
) -> AccessControl:
    """Return the application for a Claude folder, or the mirror of a store, wrapped in access control."""
    sessions, preferences = SessionCache(claude), Preferences()
    live, renderer = LiveUpdates(sessions, is_ending), Renderer(preferences)
    summaries = SummaryThread(claude, holds=sessions.holds)
    search = AsyncSearch(sessions, claude, live.report_index)
    state = AppState(sessions, live, search, preferences, summaries, renderer, is_revealed, store)

    usage = UsageData(str(sessions.tree.root))

    @asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        with loading_ahead(state):
            yield
        state.searcher.close()
        summaries.stop()
        usage.stop()

    async def file(request: Request) -> Response:
        return state.renderer.file(request.path_params["mark"], request.path_params["name"])

    rows = SessionRows(state)
    routes = [
        *StartPage(state, usage).routes(),
        *ListPage(state, rows).routes(),
        *SearchPage(state, rows).routes(),
        *MarksPage(state).routes(),
        *PalettePage(state, rows).routes(),
        Route("/compare", ComparePage(state).full_page),
        *FilesPage(state).routes(),
        *SettingsPage(state).routes(),
        *UsagePage(state, usage).routes(),
        *live.routes(),
        Route("/asset/{mark}/{name}", file),
        *_reader_routes(state, "/session/{session}"),
        *_reader_routes(state, "/session/{session}/agent/{agent}"),
    ]
    handlers = dict.fromkeys((HTTPException, ClewError, OSError, *UNEXPECTED_ERRORS), _failure_handler(state, claude))
    app = Starlette(routes=routes, lifespan=life, exception_handlers=handlers)

    async def app_in_zone(scope: Scope, receive: Receive, send: Send) -> None:
        with use_zone(preferences.settings.tzinfo):
            await app(scope, receive, send)

    return AccessControl(app_in_zone, entry, renderer.refusal)


def _failure_handler(
    state: AppState, claude: str | None
) -> Callable[[Request, Exception], Coroutine[Any, Any, Response]]:
    """Return the handler that makes a page of an error; for a session without a transcript, of what is left of it."""
    gone = GonePage(state, claude)

    async def failed(request: Request, error: Exception) -> Response:
        session = error.asked if isinstance(error, NotFound) and error.kind == "session" else ""
        if session and (page := await gone.full_page(request, session)):
            return page
        status, sentence, hint = _describe_failure(error)
        values = {"sentence": state.clean_text(sentence), "hint": state.clean_text(hint)}
        retry = str(request.url.path) if status >= 500 else ""
        return state.renderer.page(request, "failure", values["sentence"], status, retry=retry, **values)

    return failed


def _reader_routes(state: AppState, base: str) -> list[Route]:
    """Return the routes of a session, or of one of its agents."""
    reader, exports = ReaderPage(state), ExportPage(state)
    answers = {
        "": reader.full_page,
        "/page/{page:int}": reader.page,
        "/outline": reader.outline,
        "/header": reader.header,
        "/find": FindPage(state).find,
        "/call/{call}": reader.call,
        "/turn/{turn:int}": reader.turn,
        "/turn/{turn:int}/markdown": reader.markdown,
        "/turn/{turn:int}/prompt": reader.prompt,
        "/at/{offset:int}": reader.offset,
        "/export/{format}": exports.export,
        "/charts": ChartsPage(state).full_page,
    }
    return [Route(base + path, answer) for path, answer in answers.items()]


class Failure(NamedTuple):
    """An error as a page says it: the status, what happened, and the next step."""

    status: int
    sentence: str
    hint: str = ""


def _describe_failure(error: Exception) -> Failure:
    if isinstance(error, NotFound):
        return Failure(404, str(error), error.hint or "It may have been deleted, or its address is incomplete.")
    if isinstance(error, ClewError):
        return Failure(500, str(error), error.hint)
    if isinstance(error, OSError):
        return Failure(500, f"The file cannot be read: {error.strerror}.", "Check its permissions.")
    if isinstance(error, UNEXPECTED_ERRORS):
        return Failure(500, f"This session cannot be shown: {describe_error(error)}.", "Run clew check on it.")
    status = error.status_code if isinstance(error, HTTPException) else 500
    if status == 403:
        return Failure(403, "This form is no longer valid.", "Go back, reload the page, and send it again.")
    if status == 404:
        return Failure(404, "This page does not exist.", "Check the address, or look for the session by its words.")
    return Failure(status, "This request cannot be answered.")
