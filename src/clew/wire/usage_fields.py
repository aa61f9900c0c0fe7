"""Decode only the fields of an entry that its token usage is counted from."""

from __future__ import annotations

from msgspec import Raw, Struct, field
from msgspec.json import Decoder

from clew.wire.content_block import EMPTY_RAW, Tokens
from clew.wire.entry import DECODE_ERRORS
from clew.wire.json_codec import decode_readable
from clew.wire.lenient import convert_leniently

USAGE_KEY = b'"usage"'  # quotes inside a JSON string are escaped, so a line without these bytes has no usage


class BilledBlock(Struct, frozen=True, gc=False):
    """A content block; of the model's output only the raw JSON is kept, because only its length counts."""

    type: str = ""
    id: str | None = None
    name: str | None = None
    text: Raw = EMPTY_RAW
    thinking: Raw = EMPTY_RAW
    input: Raw = EMPTY_RAW


class BilledMessage(Struct, frozen=True, gc=False):
    model: str | None = None
    id: str | None = None
    content: str | list[BilledBlock] | None = None
    stop_reason: str | None = None
    usage: Tokens | None = None


class Billed(Struct, frozen=True, gc=False):
    """An entry with usage; `progress` is an agent's message, repeated in the session that started the agent."""

    type: str = ""
    message: BilledMessage | None = None
    uuid: str | None = None
    timestamp: str | int | float | None = None
    request_id: str | None = field(default=None, name="requestId")
    session_id: str | None = field(default=None, name="sessionId")
    git_branch: str | None = field(default=None, name="gitBranch")
    forked_from: Raw = field(default=EMPTY_RAW, name="forkedFrom")
    progress: ProgressUsage | None = field(default=None, name="data")


class ProgressUsage(Struct, frozen=True, gc=False):
    message: Billed | None = None


def decode_progress(raw: Raw) -> ProgressUsage:
    """Decode the `data` of a progress entry."""
    try:
        return _PROGRESS.decode(raw)
    except DECODE_ERRORS:
        value = decode_readable(raw)
        return convert_leniently(ProgressUsage, value) if isinstance(value, dict) else ProgressUsage()


class Iteration(Tokens, frozen=True, gc=False):
    """One of the API requests of a reply: its tokens, and the model if it was another."""

    type: str = ""
    model: str | None = None


def decode_iterations(tokens: Tokens) -> list[Iteration]:
    """Return the API requests of a reply; [] if they are not reported in this form."""
    try:
        return _ITERATIONS.decode(tokens.iterations) if tokens.iterations else []
    except DECODE_ERRORS:
        return []


_ITERATIONS = Decoder(list[Iteration])
_PROGRESS = Decoder(ProgressUsage)
