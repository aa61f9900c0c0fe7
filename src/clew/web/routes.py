"""The app: which address is answered by what."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from clew.errors import UNEXPECTED_ERRORS, ClewError, NotFound
from clew.system.file_errors import describe_error
from clew.web.access_control import AccessControl, EntryToken
from clew.web.app_state import AppState
from clew.web.background_search import BackgroundSearch
from clew.web.compare_page import Compare
from clew.web.export_page import ExportPage
from clew.web.list_page import ListPage
from clew.web.live_updates import LiveUpdates
from clew.web.reader_page import ReaderPage
from clew.web.session_cache import SessionCache


def make_app(
    claude: str | None, door: EntryToken, *, is_revealed: bool = False, is_ending: Callable[[], bool] = lambda: False
) -> AccessControl:
    """The app over a folder of Claude Code, behind its guard."""
    shelf = SessionCache(claude)
    desk = AppState(shelf, LiveUpdates(shelf, is_ending), BackgroundSearch(shelf, claude), is_revealed)

    @asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        yield
        desk.seeker.close()

    async def file(request: Request) -> Response:
        return desk.renderer.file(request.path_params["mark"], request.path_params["name"])

    async def failed(request: Request, error: Exception) -> Response:
        status, sentence, hint = _told(error)
        return desk.renderer.page(request, "error", "Not here", status, sentence=desk.words(sentence), hint=hint)

    home = ListPage(desk)
    routes = [
        Route("/", home.whole),
        Route("/list", home.part),
        Route("/compare", Compare(desk).whole),
        Route("/asset/{mark}/{name}", file),
        *_reader_routes(desk, "/session/{session}"),
        *_reader_routes(desk, "/session/{session}/agent/{agent}"),
    ]
    handlers = dict.fromkeys((HTTPException, ClewError, OSError, *UNEXPECTED_ERRORS), failed)
    return AccessControl(Starlette(routes=routes, lifespan=life, exception_handlers=handlers), door)


def _reader_routes(desk: AppState, base: str) -> list[Route]:
    """What there is of a session, or of one of its agents."""
    reader, share = ReaderPage(desk), ExportPage(desk)
    answers = {
        "": reader.whole,
        "/page/{page:int}": reader.page,
        "/outline": reader.outline,
        "/turn/{turn:int}": reader.turn,
        "/turn/{turn:int}/markdown": reader.markdown,
        "/at/{offset:int}": reader.offset,
        "/events": reader.events,
        "/export/{format}": share.export,
        "/charts": share.charts,
    }
    return [Route(base + path, answer) for path, answer in answers.items()]


def _told(error: Exception) -> tuple[int, str, str]:
    """What is said of an error: the status, a sentence, and the next step."""
    if isinstance(error, NotFound):
        return 404, str(error), "Look for it in the list."
    if isinstance(error, ClewError):
        return 500, str(error), error.hint
    if isinstance(error, OSError):
        return 500, f"The file cannot be read: {error.strerror}.", ""
    if isinstance(error, UNEXPECTED_ERRORS):
        return 500, f"This session cannot be shown: {describe_error(error)}.", "Look at it with clew check."
    status = error.status_code if isinstance(error, HTTPException) else 500
    return status, "There is no such page." if status == 404 else "This cannot be answered.", "Look for it in the list."
