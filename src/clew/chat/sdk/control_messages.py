"""The messages of the control protocol: answers to requests, and what answers to ours mean."""

from __future__ import annotations

import asyncio

from clew.chat.sdk.sdk_connection import ControlError
from clew.errors import ClewError
from clew.wire.json_codec import Json

UNHEARD: Json = {"subtype": "error", "error": "The program has closed its end, so that it cannot answer."}


def resolve(waiting: asyncio.Future[Json], response: Json) -> None:
    """Set the answer of the SDK to one of our requests, unless it was cancelled."""
    if waiting.done():
        return
    if response.get("subtype") == "error":
        waiting.set_exception(ClewError(str(response.get("error") or "The SDK gave no reason.")))
    else:
        waiting.set_result(response.get("response") or {})


def response_frame(number: str, answer: Json | None) -> Json:
    """Return the answer to a request; an empty one has no `response`, as in Claude Code."""
    fields: Json = {} if answer is None else {"response": answer}
    return {"type": "control_response", "response": {"subtype": "success", "request_id": number, **fields}}


def failure_frame(number: str, error: ClewError) -> Json:
    """Return the answer to a request that failed."""
    fields: Json = {"subtype": "error", "request_id": number, "error": str(error)}
    if isinstance(error, ControlError) and error.code:
        fields |= {"error_code": error.code, **error.fields}
    return {"type": "control_response", "response": fields}
