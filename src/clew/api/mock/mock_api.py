"""The mock: what a Messages API that follows a script answers to a request, and what it would charge for it.

It is stateless: an answer depends on the request and the script. Two things are remembered because a script may ask for
them: how often the same messages came (a fault that passes), and which beginnings were marked (the prompt cache).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from clew.api.lint import violations
from clew.api.lint_blocks import Violation
from clew.api.mock.http_server import HttpRequest
from clew.api.mock.prompt_cache import Cache
from clew.api.mock.responses import events, frame, message, same, sign, usage
from clew.api.mock.scripts import ECHO, ChosenStep, Fault, MockScript, ScriptStep, choose
from clew.api.retry import OVERLOADED
from clew.api.token_estimate import tokens
from clew.wire.json_codec import decode, encode

Json = dict[str, Any]
Choose = Callable[[Mapping[str, Any], MockScript], ChosenStep]

LONGEST_BODY = 32 * 1024 * 1024
MODELS = ("claude-mock",)
GARBAGE = b'event: content_block_delta\ndata: {"type": \x00\xff broken\n\n'
_KINDS: Mapping[int, tuple[str, str]] = {
    400: ("invalid_request_error", "The request was refused by the script."),
    401: ("authentication_error", "invalid x-api-key"),
    403: ("permission_error", "This key may not use that."),
    404: ("not_found_error", "There is no such thing."),
    413: ("request_too_large", "Request exceeds the maximum size"),
    429: ("rate_limit_error", "This request would exceed the rate limit."),
    500: ("api_error", "Internal server error"),
    529: (OVERLOADED, "Overloaded"),
}


@dataclass(frozen=True, slots=True)
class PlannedAnswer:
    """An answer as it is to be written. A stream has frames; `ending` is how it ends other than well."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    frames: tuple[bytes, ...] = ()
    ending: str = ""
    step: ScriptStep = field(default_factory=ScriptStep)
    row: Json = field(default_factory=dict)
    begun: Json | None = None  # the usage once the first frame is out
    charged: Json | None = None  # the usage once `closing` frames are
    closing: int = 0
    sound: int = 0  # frames before the one that is spoilt

    def told(self, sent: int) -> Json:
        """What a client knows once so many frames are out: the usage, and whether that was all."""
        heard = min(sent, self.sound)
        usage = self.charged if heard >= self.closing else self.begun if heard else None
        return {"usage": usage, "complete": sent >= len(self.frames) and not self.ending}


class Mock:
    """Answers requests by a script. `choose` finds the step for a request, `checks` holds it against the API's rules."""

    def __init__(self, script: MockScript = ECHO, choose: Choose = choose, *, checks: bool = True) -> None:
        self.script = script
        self._choose = choose
        self._checks = checks
        self._seen: Counter[bytes] = Counter()
        self._cache = Cache()

    def answer(self, asked: HttpRequest) -> PlannedAnswer:
        match asked.method, asked.path:
            case "HEAD", _:
                return PlannedAnswer(200)
            case "GET", "/" | "/health":
                return _json(200, {"status": "ok", "service": "clew mock"})
            case "GET", "/v1/models":
                listed = [{"type": "model", "id": each, "display_name": each} for each in self.script.models or MODELS]
                return _json(200, {"data": listed, "has_more": False, "first_id": None, "last_id": None})
            case "POST", "/v1/messages" | "/v1/messages/count_tokens":
                return self._post(asked)
        return refuse(404, f"Not found: {asked.method} {asked.path}")

    def _post(self, asked: HttpRequest) -> PlannedAnswer:
        if not asked.is_whole:
            return refuse(413)
        try:
            body = decode(asked.body)
        except ValueError as error:
            return refuse(400, f"The request body is not valid JSON: {error}")
        if not isinstance(body, dict):
            return refuse(400, "The request body is not a JSON object.")
        if turned_away := self._turned_away(asked, body):
            return turned_away
        counts = asked.path.endswith("count_tokens")
        if not self._checks and not counts:
            return self._reply(body, 1, {})
        found = self._broken_rules({"max_tokens": 1, **body} if counts else body, _betas(asked.headers))
        row: Json = {"model": body.get("model"), "stream": bool(body.get("stream"))}
        if found:
            row["violations"] = [{"rule": v.rule, "where": v.where, "message": v.message} for v in found]
        refused = [v for v in found if v.is_refused or self.script.strict == "advice"]
        if refused and self.script.strict:
            return refuse(400, str(refused[0]), row)
        size = max(1, sum(tokens(body.get(name)) for name in ("tools", "system", "messages")))
        if self.script.window and size > self.script.window:
            return refuse(400, f"prompt is too long: {size} tokens > {self.script.window} maximum", row)
        if counts:
            return _json(200, {"input_tokens": size}, row)
        return self._reply(body, size, row)

    def _turned_away(self, asked: HttpRequest, body: Json) -> PlannedAnswer | None:
        """The answer to a request that does not say who asks, or for what."""
        key = asked.headers.get("x-api-key") or asked.headers.get("authorization", "").removeprefix("Bearer ")
        if (self.script.strict and not key) or (self.script.keys and key not in self.script.keys):
            return refuse(401, "x-api-key header is required" if not key else "")
        if self.script.strict and not asked.headers.get("anthropic-version"):
            return refuse(400, "anthropic-version: header is required")
        if self.script.models and body.get("model") not in self.script.models:
            return refuse(404, f"model: {body.get('model')}")
        return None

    def _broken_rules(self, body: Json, betas: Sequence[str]) -> list[Violation]:
        found = violations(body, betas)
        if self.script.signatures == "own":
            for index, message in enumerate(body.get("messages") or ()):
                blocks = message.get("content") if isinstance(message, dict) else None
                for place, block in enumerate(blocks if isinstance(blocks, list) else ()):
                    if block.get("type") == "thinking" and block.get("signature") != sign(str(block.get("thinking"))):
                        where = f"messages.{index}.content.{place}"
                        found.append(Violation("signature", where, "Invalid `signature` in `thinking` block."))
        return found

    def _reply(self, body: Json, size: int, row: Json) -> PlannedAnswer:
        chosen = self._choose(body, self.script)
        request_id = chosen.step.request_id
        if request_id is None:
            request_id = f"req_{hashlib.sha256(same(body) + encode(chosen.rule)).hexdigest()[:24]}"
        fault = self._fault(body, chosen.step.fault)
        row |= {"rule": chosen.rule, "step": chosen.number, "request_id": request_id}
        if fault is not None:
            row["fault"] = str(fault.status or fault.stream)
        if fault is not None and fault.status:
            return _failing(fault, row, chosen.step)
        input_usage = self._cache.usage(body) if self.script.cache else usage(size)
        made = message(body, chosen, input_usage)
        row["id"] = made["id"]
        if body.get("stream"):
            return _streaming(made, chosen, fault, row, request_id)
        return PlannedAnswer(
            200,
            encode(made),
            {"content-type": "application/json", "request-id": request_id},
            ending="close" if fault and fault.stream == "close" else "hang" if fault and fault.stream == "hang" else "",
            step=chosen.step,
            row=row,
            charged=made["usage"],
        )

    def _fault(self, body: Json, fault: Fault | None) -> Fault | None:
        """The fault of a step, if it still happens."""
        if fault is None or fault.times is None:
            return fault
        key = same(body)
        self._seen[key] += 1
        return fault if self._seen[key] <= fault.times else None


def refuse(status: int, message: str = "", row: Json | None = None) -> PlannedAnswer:
    """An answer that says what is wrong."""
    return _failing(Fault(status=status, message=message), row or {})


def _failing(fault: Fault, row: Json, step: ScriptStep | None = None) -> PlannedAnswer:
    kind, text = _KINDS.get(fault.status, ("api_error" if fault.status >= 500 else "invalid_request_error", "Failed"))
    error = {"type": fault.kind or kind, "message": fault.message or text}
    headers = {"content-type": "application/json", "request-id": str(row.get("request_id") or "req_mock")}
    if fault.retry_after is not None:
        headers["retry-after"] = f"{fault.retry_after:g}"
    if fault.should_retry is not None:
        headers["x-should-retry"] = "true" if fault.should_retry else "false"
    body = encode({"type": "error", "error": error, "request_id": headers["request-id"]})
    told = {**row, "error": error["message"]}
    return PlannedAnswer(fault.status, body, headers, row=told, step=step or ScriptStep())


def _streaming(made: Json, chosen: ChosenStep, fault: Fault | None, row: Json, request_id: str) -> PlannedAnswer:
    frames = [frame(event) for event in events(made, chosen.step)]
    begun = {**made["usage"], "output_tokens": 1} if chosen.step.begun is None else chosen.step.begun
    ending, closing, sound = "", len(frames) - 1, len(frames)
    if fault is not None:
        sound = len(frames) // 2 if fault.after is None else min(fault.after, len(frames) - 1)
        sound = max(0, sound + len(frames)) if sound < 0 else sound
        cut = frames[sound]
        frames, ending = frames[:sound], "close" if fault.stream == "close" else "end"
        if fault.stream == "error":
            error = {"type": fault.kind or OVERLOADED, "message": fault.message or "Overloaded"}
            frames.append(frame({"type": "error", "error": error}))
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
        charged=made["usage"],
        closing=closing,
        sound=sound,
    )


def _json(status: int, value: Json, row: Json | None = None) -> PlannedAnswer:
    return PlannedAnswer(status, encode(value), {"content-type": "application/json"}, row=row or {})


def _betas(headers: Mapping[str, str]) -> list[str]:
    return [each.strip() for each in headers.get("anthropic-beta", "").split(",") if each.strip()]
