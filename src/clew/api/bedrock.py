"""Amazon Bedrock: signed requests, model ids in the address, and streams in AWS's binary framing.

Signatures and framing are those of botocore, the library of AWS; it is the extra `bedrock`.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from msgspec import Struct

from clew.api.cloud import Head, HttpCall
from clew.api.cloud_models import bedrock_model
from clew.api.sse import ServerSentEvent
from clew.api.stream_assembly import StreamError
from clew.errors import ApiError
from clew.system import environment
from clew.system.extras import install_hint
from clew.wire.json_codec import Json, decode, encode

if TYPE_CHECKING:
    from botocore.session import Session

BODY_VERSION = "bedrock-2023-05-31"
STREAM_TYPE = "application/vnd.amazon.eventstream"
DEFAULT_REGION = "us-east-1"
# Betas that Bedrock reads in the body, as Claude Code sends them; all others go into the header.
_BODY_BETAS = ("interleaved-thinking-2025-05-14", "context-1m-2025-08-07")
_CHECK_CREDENTIALS = "Check your AWS credentials, for example with: aws sts get-caller-identity"
_CHECK_ACCESS = "Check that your account may use this model in this region; --model takes an id of Bedrock, too."
# By the type that Bedrock reports: the kind of the same error of the Messages API, and what to do.
_ERRORS: Mapping[str, tuple[str, str]] = {
    "AccessDeniedException": ("permission_error", _CHECK_ACCESS),
    "ExpiredTokenException": (
        "authentication_error",
        "The AWS credentials have expired: renew them, for example with: aws sso login",
    ),
    "IncompleteSignatureException": ("authentication_error", _CHECK_CREDENTIALS),
    "InvalidSignatureException": ("authentication_error", _CHECK_CREDENTIALS),
    "MissingAuthenticationTokenException": ("authentication_error", _CHECK_CREDENTIALS),
    "UnrecognizedClientException": ("authentication_error", _CHECK_CREDENTIALS),
    "ResourceNotFoundException": ("not_found_error", _CHECK_ACCESS),
    "ValidationException": ("invalid_request_error", _CHECK_ACCESS),
    "ThrottlingException": ("rate_limit_error", ""),
    "ServiceQuotaExceededException": ("rate_limit_error", ""),
    "ModelNotReadyException": ("overloaded_error", ""),
    "ServiceUnavailableException": ("overloaded_error", ""),
    "ModelTimeoutException": ("timeout_error", ""),
    "ModelErrorException": ("api_error", ""),
    "ModelStreamErrorException": ("api_error", ""),
    "InternalServerException": ("api_error", ""),
}


class Bedrock(Struct, frozen=True):
    """Requests to Bedrock in one region. `session` signs them; None with a token or without authentication."""

    region: str
    token: str = ""
    session: Any = None
    name: str = "bedrock"
    stream_type: str = STREAM_TYPE

    async def build(self, base: str, head: Head, body: Json, betas: tuple[str, ...], stream: bool) -> HttpCall:
        action = "invoke-with-response-stream" if stream else "invoke"
        url = f"{base.rstrip('/')}/model/{quote(bedrock_model(body['model'], self.region), safe='')}/{action}"
        content: Json = {name: value for name, value in body.items() if name not in ("model", "stream")}
        if in_body := [beta for beta in betas if beta in _BODY_BETAS]:
            content["anthropic_beta"] = in_body
        data = encode({**content, "anthropic_version": BODY_VERSION})
        headers = head(tuple(beta for beta in betas if beta not in _BODY_BETAS))
        headers["accept"] = STREAM_TYPE if stream else "application/json"
        if self.token:
            headers["authorization"] = f"Bearer {self.token}"
        elif self.session is not None:
            headers = await asyncio.to_thread(_sign, self.session, self.region, url, headers, data)
        return HttpCall(url, headers, data)

    def reader(self) -> EventStreamReader:
        return EventStreamReader()

    def explain(self, status: int, headers: Mapping[str, str], body: bytes) -> tuple[str, str]:
        """Return the kind of an error and what to do, each "" if Bedrock does not say it."""
        name = headers.get("x-amzn-errortype", "").partition(":")[0].rpartition("#")[2]
        return _ERRORS.get(name, ("", ""))


class EventStreamReader:
    """Takes bytes of AWS's binary event stream and returns the events of the Messages API in them."""

    def __init__(self) -> None:
        from botocore.eventstream import EventStreamBuffer

        self._buffer = EventStreamBuffer()

    def feed(self, piece: bytes) -> list[ServerSentEvent]:
        """Return the events that end in this piece. Raises StreamError."""
        from botocore.eventstream import ParserError

        self._buffer.add_data(piece)
        try:
            return [_event(message.headers, message.payload) for message in self._buffer]
        except ParserError as error:
            raise StreamError(f"The stream of Bedrock is damaged: {error}", "protocol") from error

    def close(self) -> list[ServerSentEvent]:
        return []


def _event(headers: Mapping[str, Any], payload: bytes) -> ServerSentEvent:
    try:
        data = decode(payload) if payload else {}
    except ValueError:
        data = {}
    if headers.get(":message-type") != "event":
        name = str(headers.get(":exception-type") or headers.get(":error-code") or "")
        kind = _ERRORS.get(name[:1].upper() + name[1:], ("api_error", ""))[0]
        message = data.get("message") if isinstance(data, dict) else ""
        raise StreamError(str(message or headers.get(":error-message") or f"Bedrock reports {name}."), kind)
    if not isinstance(data, dict) or not isinstance(data.get("bytes"), str):
        raise StreamError("The stream of Bedrock contains an event without content.", "protocol")
    return ServerSentEvent("message", base64.b64decode(data["bytes"]))


def _sign(session: Session, region: str, url: str, headers: dict[str, str], data: bytes) -> dict[str, str]:
    """Return the headers with a signature (SigV4). Credentials that expire are renewed by botocore."""
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.exceptions import BotoCoreError

    try:
        credentials = session.get_credentials()
        frozen = credentials.get_frozen_credentials() if credentials is not None else None
    except BotoCoreError as error:
        raise ApiError(f"AWS gave no credentials: {error}", "authentication_error", hint=_CHECK_CREDENTIALS) from error
    if frozen is None or not frozen.access_key:
        raise ApiError(
            "There are no AWS credentials.",
            "authentication_error",
            hint="Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE or AWS_BEARER_TOKEN_BEDROCK.",
        )
    request = AWSRequest("POST", url, headers=headers, data=data)
    SigV4Auth(frozen, "bedrock", region).add_auth(request)
    return dict(request.headers.items())


def connect_bedrock() -> tuple[str, Bedrock]:
    """Return the address and the platform that the environment describes. Raises ApiError if botocore is missing."""
    try:
        from botocore.session import Session
    except ModuleNotFoundError:
        raise ApiError("Amazon Bedrock needs the package botocore.", "extra", hint=install_hint("bedrock")) from None
    token, is_unsigned = environment.bedrock_token(), environment.is_switched_on("CLAUDE_CODE_SKIP_BEDROCK_AUTH")
    session = Session(profile=environment.aws_profile() or None)
    region = environment.aws_region() or session.get_config_variable("region") or DEFAULT_REGION
    base = environment.bedrock_base() or f"https://bedrock-runtime.{region}.amazonaws.com"
    cloud = Bedrock(region, token, None if token or is_unsigned else session)
    return base, cloud
