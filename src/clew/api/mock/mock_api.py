"""Answer Messages API requests from a script, with the usage that the API would charge.

The mock is stateless: an answer depends on the request and the script. Two things are remembered because a script
can use them: how often the same messages came (a transient fault), and which prefixes were marked (the prompt
cache).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from clew.api.lint import violations
from clew.api.lint_blocks import Violation
from clew.api.mock.http_server import HttpRequest
from clew.api.mock.prompt_cache import Cache
from clew.api.mock.responses import build_message, encode_frame, messages_digest, sign, stream_events
from clew.api.mock.responses import input_usage as usage
from clew.api.mock.scripts import ECHO, ChosenStep, Fault, MockScript, ScriptStep, choose_step
from clew.api.retry import OVERLOADED
from clew.api.token_estimate import estimate_tokens
from clew.wire.json_codec import Json, decode, encode

StepChooser = Callable[[Mapping[str, Any], MockScript], ChosenStep]

MAX_BODY = 32 * 1024 * 1024
MODELS = ("claude-mock",)
GARBAGE = b'event: content_block_delta\ndata: {"type": \x00\xff broken\n\n'
_KINDS: Mapping[int, tuple[str, str]] = {
    400: ("invalid_request_error", "The script rejects this request."),
    401: ("authentication_error", "invalid x-api-key"),
    403: ("permission_error", "This key may not use that."),
    404: ("not_found_error", "Not found."),
    413: ("request_too_large", "Request exceeds the maximum size"),
    429: ("rate_limit_error", "This request would exceed the rate limit."),
    500: ("api_error", "Internal server error"),
    529: (OVERLOADED, "Overloaded"),
}


class PlannedAnswer(Struct, frozen=True):
    """An answer to write. A stream has frames; `ending` is how it ends if not regularly."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    frames: tuple[bytes, ...] = ()
    ending: str = ""
    step: ScriptStep = field(default_factory=ScriptStep)
    row: Json = field(default_factory=dict)
    begun: Json | None = None  # usage after the first frame
    charged: Json | None = None  # usage after `closing` frames
    closing: int = 0
    sound: int = 0  # frames before the faulty one

    def state_after(self, sent: int) -> Json:
        """Return what a client knows after `sent` frames: the usage, and whether the answer is complete."""
        received = min(sent, self.sound)
        usage = self.charged if received >= self.closing else self.begun if received else None
        return {"usage": usage, "complete": sent >= len(self.frames) and not self.ending}


class Mock:
    """Answers requests from a script. `choose` finds the step for a request, `checks` validates it against the API's
    rules.
    """

    def __init__(self, script: MockScript = ECHO, choose: StepChooser = choose_step, *, checks: bool = True) -> None:
        self.script = script
        self._choose = choose
        self._checks = checks
        self._occurrences: Counter[bytes] = Counter()
        self._cache = Cache()

    def answer(self, request: HttpRequest) -> PlannedAnswer:
        match request.method, request.path:
            case "HEAD", _:
                return PlannedAnswer(200)
            case "GET", "/" | "/health":
                return _json_answer(200, {"status": "ok", "service": "clew mock"})
            case "GET", "/v1/models":
                listed = [{"type": "model", "id": name, "display_name": name} for name in self.script.models or MODELS]
                return _json_answer(200, {"data": listed, "has_more": False, "first_id": None, "last_id": None})
            case "POST", "/v1/messages" | "/v1/messages/count_tokens":
                return self._answer_post(request)
        return refuse(404, f"Not found: {request.method} {request.path}")

    def _answer_post(self, request: HttpRequest) -> PlannedAnswer:
        if not request.is_whole:
            return refuse(413)
        try:
            body = decode(request.body)
        except ValueError as error:
            return refuse(400, f"The request body is not valid JSON: {error}")
        if not isinstance(body, dict):
            return refuse(400, "The request body is not a JSON object.")
        if rejection := self._reject_credentials(request, body):
            return rejection
        counts = request.path.endswith("count_tokens")
        if not self._checks and not counts:
            return self._reply(body, 1, {})
        violated = self._find_violations({"max_tokens": 1, **body} if counts else body, _betas(request.headers))
        row: Json = {"model": body.get("model"), "stream": bool(body.get("stream"))}
        if violated:
            row["violations"] = [{"rule": v.rule, "where": v.where, "message": v.message} for v in violated]
        refused = [v for v in violated if v.is_refused or self.script.strict == "advice"]
        if refused and self.script.strict:
            return refuse(400, str(refused[0]), row)
        size = max(1, sum(estimate_tokens(body.get(name)) for name in ("tools", "system", "messages")))
        if self.script.window and size > self.script.window:
            return refuse(400, f"prompt is too long: {size} tokens > {self.script.window} maximum", row)
        if counts:
            return _json_answer(200, {"input_tokens": size}, row)
        return self._reply(body, size, row)

    def _reject_credentials(self, request: HttpRequest, body: Json) -> PlannedAnswer | None:
        """Return the rejection of a request without a valid key, version or model."""
        key = request.headers.get("x-api-key") or request.headers.get("authorization", "").removeprefix("Bearer ")
        if (self.script.strict and not key) or (self.script.keys and key not in self.script.keys):
            return refuse(401, "x-api-key header is required" if not key else "")
        if self.script.strict and not request.headers.get("anthropic-version"):
            return refuse(400, "anthropic-version: header is required")
        if self.script.models and body.get("model") not in self.script.models:
            return refuse(404, f"model: {body.get('model')}")
        return None

    def _find_violations(self, body: Json, betas: Sequence[str]) -> list[Violation]:
        violated = violations(body, betas)
        unknown = (name for name in self.script.unknown_fields if name in body)
        violated += (Violation("unknown", name, "Extra inputs are not permitted.") for name in unknown)
        if self.script.signatures == "own":
            for index, message in enumerate(body.get("messages") or ()):
                blocks = message.get("content") if isinstance(message, dict) else None
                for position, block in enumerate(blocks if isinstance(blocks, list) else ()):
                    if block.get("type") == "thinking" and block.get("signature") != sign(str(block.get("thinking"))):
                        where = f"messages.{index}.content.{position}"
                        violated.append(Violation("signature", where, "Invalid `signature` in `thinking` block."))
        return violated

    def _reply(self, body: Json, size: int, row: Json) -> PlannedAnswer:
        chosen = self._choose(body, self.script)
        request_id = chosen.step.request_id
        if request_id is None:
            request_id = f"req_{hashlib.sha256(messages_digest(body) + encode(chosen.rule)).hexdigest()[:24]}"
        fault = self._fault(body, chosen.step.fault)
        row |= {"rule": chosen.rule, "step": chosen.number, "request_id": request_id}
        if fault is not None:
            row["fault"] = str(fault.status or fault.stream)
        if fault is not None and fault.status:
            return _error_answer(fault, row, chosen.step)
        input_usage = self._cache.usage(body) if self.script.cache else usage(size)
        reply = build_message(body, chosen, input_usage)
        row["id"] = reply["id"]
        if body.get("stream"):
            return _stream_answer(reply, chosen, fault, row, request_id)
        return PlannedAnswer(
            200,
            encode(reply),
            {"content-type": "application/json", "request-id": request_id},
            ending="close" if fault and fault.stream == "close" else "hang" if fault and fault.stream == "hang" else "",
            step=chosen.step,
            row=row,
            charged=reply["usage"],
        )

    def _fault(self, body: Json, fault: Fault | None) -> Fault | None:
        """Return the fault of a step, if it still occurs."""
        if fault is None or fault.times is None:
            return fault
        key = messages_digest(body)
        self._occurrences[key] += 1
        return fault if self._occurrences[key] <= fault.times else None


def refuse(status: int, message: str = "", row: Json | None = None) -> PlannedAnswer:
    """Return an error answer."""
    return _error_answer(Fault(status=status, message=message), row or {})


def _error_answer(fault: Fault, row: Json, step: ScriptStep | None = None) -> PlannedAnswer:
    kind, text = _KINDS.get(fault.status, ("api_error" if fault.status >= 500 else "invalid_request_error", "Failed"))
    error = {"type": fault.kind or kind, "message": fault.message or text}
    headers = {"content-type": "application/json", "request-id": str(row.get("request_id") or "req_mock")}
    if fault.retry_after is not None:
        headers["retry-after"] = f"{fault.retry_after:g}"
    if fault.should_retry is not None:
        headers["x-should-retry"] = "true" if fault.should_retry else "false"
    body = encode({"type": "error", "error": error, "request_id": headers["request-id"]})
    logged_row = {**row, "error": error["message"]}
    return PlannedAnswer(fault.status, body, headers, row=logged_row, step=step or ScriptStep())


def _stream_answer(reply: Json, chosen: ChosenStep, fault: Fault | None, row: Json, request_id: str) -> PlannedAnswer:
    frames = [encode_frame(event) for event in stream_events(reply, chosen.step)]
    begun = {**reply["usage"], "output_tokens": 1} if chosen.step.begun is None else chosen.step.begun
    ending, closing, sound = "", len(frames) - 1, len(frames)
    if fault is not None:
        sound = len(frames) // 2 if fault.after is None else min(fault.after, len(frames) - 1)
        sound = max(0, sound + len(frames)) if sound < 0 else sound
        cut = frames[sound]
        frames, ending = frames[:sound], "close" if fault.stream == "close" else "end"
        if fault.stream == "error":
            error = {"type": fault.kind or OVERLOADED, "message": fault.message or "Overloaded"}
            frames.append(encode_frame({"type": "error", "error": error}))
        elif fault.stream == "garbage":
            frames.append(GARBAGE)
        elif fault.stream == "cut":
            frames.append(cut[: len(cut) // 2])
            ending = "cut"
        elif fault.stream == "hang":
            ending = "hang"
    headers = {
        "content-type": "text/event-stream; charset=utf-8",
        "cache-control": "no-cache",
        "request-id": request_id,
    }
    return PlannedAnswer(
        200,
        headers=headers,
        frames=tuple(frames),
        ending=ending,
        step=chosen.step,
        row=row,
        begun=begun,
        charged=reply["usage"],
        closing=closing,
        sound=sound,
    )


def _json_answer(status: int, value: Json, row: Json | None = None) -> PlannedAnswer:
    return PlannedAnswer(status, encode(value), {"content-type": "application/json"}, row=row or {})


def _betas(headers: Mapping[str, str]) -> list[str]:
    return [name.strip() for name in headers.get("anthropic-beta", "").split(",") if name.strip()]
