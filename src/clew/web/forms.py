"""Read the forms that pages send: short, of our own pages, and with the token of the signed-in browser."""

from __future__ import annotations

from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from clew.web.access_control import is_equal, is_local_path

MAX_FIELDS = 200


async def read_form(request: Request) -> dict[str, str]:
    """Return the fields of a form. Raises HTTPException unless it carries the token of our pages.

    The access control has limited its size and checked where it comes from.
    """
    try:
        pairs = parse_qsl((await request.body()).decode(), keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except ValueError:
        raise HTTPException(400) from None
    values = dict(pairs)
    if not is_equal(values.pop("form_token", ""), request.state.form_token):
        raise HTTPException(403)
    return values


def redirect_back(values: dict[str, str], default: str) -> Response:
    """Return the redirect to the page that a form names in `next`, if it is one of ours."""
    wanted = values.get("next", "")
    return RedirectResponse(wanted if is_local_path(wanted) else default, status_code=303)
