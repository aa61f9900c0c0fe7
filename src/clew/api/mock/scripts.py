"""Scripts: what the mock server is to say, as JSON or TOML, and which step of it answers a request.

The step depends on the request alone: the newest prompt chooses the rule, and the number of replies behind that prompt
is the number of the step. So one script serves many conversations at once, and any of them can be resumed.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

from clew.errors import BadQuery
from clew.system.regex_deadline import pattern
from clew.wire.json_codec import decode

Json = dict[str, Any]
OVER = "The script is over."

_INLINE = re.compile(r"<<SCRIPT>>(.*?)<<END>>", re.DOTALL)
_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)
_NOTES = ("<", "[Request interrupted")


class Fault(Struct, frozen=True, forbid_unknown_fields=True):
    """What goes wrong. `status` is an answer of that kind; the others happen inside a stream, `after` so many events."""

    status: int = 0
    kind: str = ""
    message: str = ""
    retry_after: float | None = None
    should_retry: bool | None = None
    stream: Literal["", "error", "cut", "garbage", "hang", "close"] = ""
    after: int | None = None  # below 0: counted from the end
    times: int | None = None  # only the first so many times that the same messages come


class ScriptStep(Struct, frozen=True, forbid_unknown_fields=True):
    """One reply."""

    content: str | list[str | Json] = "ok"
    stop_reason: str = ""
    stop_sequence: str | None = None
    usage: Json = {}
    delay: float = 0.0  # seconds before the first byte
    pace: float = 0.0  # seconds between two events, or between two trickles
    chunk: int = 0  # characters in one delta
    trickle: int = 0  # bytes in one write
    fault: Fault | None = None
    id: str = ""  # of the message; made from the request if there is none, and so is the id of the request
    request_id: str | None = None
    model: str = ""  # who answers, if it is not the one that was asked
    begun: Json | None = None  # the usage as the stream begins; `usage` is then all of it at the end


AnyStep = str | list[str | Json] | ScriptStep


class ScriptRule(Struct, frozen=True, forbid_unknown_fields=True):
    """Steps for the prompts that hold a text or fit an expression, from requests with or without tools, of a model."""

    steps: list[AnyStep]
    prompt: str = ""
    regex: str = ""
    model: str = ""
    tools: bool | None = None
    name: str = ""

    def fits(self, text: str, body: Mapping[str, Any]) -> bool:
        return (
            self.prompt in text
            and (not self.regex or pattern(self.regex).search(text) is not None)
            and self.model in str(body.get("model") or "")
            and self.tools in (None, bool(body.get("tools")))
        )


class MockScript(Struct, frozen=True, forbid_unknown_fields=True):
    """All that the mock server is told."""

    rules: list[ScriptRule] = []
    otherwise: list[AnyStep] = field(default_factory=lambda: ["ok"])
    strict: bool | Literal["advice"] = True  # "advice" refuses also what the API takes and a client should not send
    keys: list[str] = []  # those that are let in; empty lets any in
    models: list[str] = []  # those that exist; empty for any
    window: int = 0  # tokens that a prompt may have; 0 for any number
    cache: bool = False  # whether the prompt cache is played
    signatures: Literal["any", "own"] = "any"  # "own" takes back only thinking that the mock itself said


ECHO = MockScript(otherwise=["{{prompt}}"])


@dataclass(frozen=True, slots=True)
class ChosenStep:
    """The step that answers a request."""

    rule: str
    number: int
    step: ScriptStep
    prompt: str


def read(text: bytes, is_toml: bool = False) -> MockScript:
    """A script from its text. Raises ValueError in a sentence."""
    try:
        data = tomllib.loads(text.decode()) if is_toml else decode(text)
        script = msgspec.convert(data, MockScript)
        for rule in script.rules:
            pattern(rule.regex)
    except (ValueError, BadQuery, msgspec.ValidationError) as error:
        raise ValueError(f"The script cannot be read: {error}.") from None
    return script


def choose(body: Mapping[str, Any], script: MockScript) -> ChosenStep:
    """The step for a request."""
    messages = [m for m in body.get("messages") or () if isinstance(m, dict)]
    newest = ""
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].get("role") != "user":
            continue
        text, has_results = _said(messages[index])
        newest = newest or text
        number = _replies(messages[index + 1 :])
        if steps := _inline(text):
            return _step("inline", steps, number, text)
        for place, rule in enumerate(script.rules):
            if text and rule.fits(text, body):
                return _step(rule.name or f"rule {place + 1}", rule.steps, number, text)
        if text and not has_results and not text.startswith(_NOTES):
            return _step("otherwise", script.otherwise, number, text, is_endless=True)
    return _step("otherwise", script.otherwise, 0, newest, is_endless=True)


def _said(message: Mapping[str, Any]) -> tuple[str, bool]:
    """The text of a user message without what programs put in between, and whether it brings results."""
    content = message.get("content")
    if isinstance(content, str):
        return _REMINDER.sub("", content).strip(), False
    parts = [b for b in content or () if isinstance(b, dict)]
    texts = (_REMINDER.sub("", str(b.get("text") or "")).strip() for b in parts if b.get("type") == "text")
    return "\n".join(t for t in texts if t), any(b.get("type") == "tool_result" for b in parts)


def _replies(messages: Sequence[Mapping[str, Any]]) -> int:
    """Replies among these; assistant messages in a row are one."""
    roles = [m.get("role") for m in messages if m.get("role") != "system"]
    return sum(role == "assistant" and roles[i - 1 : i] != ["assistant"] for i, role in enumerate(roles))


def _inline(text: str) -> list[AnyStep]:
    """The steps that a prompt itself brings; none if what it brings are no steps."""
    found = _INLINE.findall(text)
    try:
        return msgspec.convert(decode(found[-1].encode()), list[AnyStep]) if found else []
    except (ValueError, msgspec.ValidationError) as error:
        return [f"The script in the prompt cannot be read: {error}"]


def _step(rule: str, steps: Sequence[AnyStep], number: int, prompt: str, is_endless: bool = False) -> ChosenStep:
    found: AnyStep = OVER
    if steps and (number < len(steps) or is_endless):
        found = steps[min(number, len(steps) - 1)]
    return ChosenStep(rule, number, found if isinstance(found, ScriptStep) else ScriptStep(content=found), prompt)
