"""Read mock scripts from JSON or TOML, and choose the step that answers a request.

The step depends on the request alone: the newest prompt selects the rule, and the number of replies after that
prompt is the number of the step. So one script serves many conversations at the same time, and any of them can be
resumed.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

from clew.errors import BadQuery
from clew.system.regex_deadline import pattern
from clew.wire.json_codec import Json, decode

OVER = "The script is over."

_INLINE = re.compile(r"<<SCRIPT>>(.*?)<<END>>", re.DOTALL)
_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)
_NOTES = ("<", "[Request interrupted")


class Fault(Struct, frozen=True, forbid_unknown_fields=True):
    """A fault. `status` is an HTTP error; the others happen inside a stream, after `after` events."""

    status: int = 0
    kind: str = ""
    message: str = ""
    retry_after: float | None = None
    should_retry: bool | None = None
    stream: Literal["", "error", "cut", "garbage", "hang", "close"] = ""
    after: int | None = None  # negative: counted from the end
    times: int | None = None  # only the first N times that the same messages come


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
    id: str = ""  # of the message; derived from the request if empty, like `request_id`
    request_id: str | None = None
    model: str = ""  # the answering model, if it is not the requested one
    begun: Json | None = None  # the usage at the start of the stream; `usage` is then that at its end


AnyStep = str | list[str | Json] | ScriptStep


class ScriptRule(Struct, frozen=True, forbid_unknown_fields=True):
    """Steps for prompts that contain a text or match an expression, from requests with or without tools, of a model."""

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
    """All settings of the mock server."""

    rules: list[ScriptRule] = []
    otherwise: list[AnyStep] = field(default_factory=lambda: ["ok"])
    strict: bool | Literal["advice"] = True  # "advice" also rejects what the API accepts and a client should not send
    keys: list[str] = []  # accepted keys; empty accepts any
    models: list[str] = []  # existing models; empty for any
    unknown_fields: list[str] = []  # fields of a request that are rejected
    window: int = 0  # maximum tokens of a prompt; 0 for any number
    cache: bool = False  # whether the prompt cache is simulated
    signatures: Literal["any", "own"] = "any"  # "own" accepts only thinking that the mock itself sent


ECHO = MockScript(otherwise=["{{prompt}}"])


class ChosenStep(Struct, frozen=True):
    """The step that answers a request."""

    rule: str
    number: int
    step: ScriptStep
    prompt: str


def parse_script(text: bytes, is_toml: bool = False) -> MockScript:
    """Parse a script. Raises ValueError with a full sentence."""
    try:
        data = tomllib.loads(text.decode()) if is_toml else decode(text)
        script = msgspec.convert(data, MockScript)
        for rule in script.rules:
            pattern(rule.regex)
    except (ValueError, BadQuery, msgspec.ValidationError) as error:
        raise ValueError(f"Cannot read the script: {error}.") from None
    return script


def choose_step(body: Mapping[str, Any], script: MockScript) -> ChosenStep:
    """Choose the step for a request."""
    messages = [m for m in body.get("messages") or () if isinstance(m, dict)]
    newest = ""
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].get("role") != "user":
            continue
        text, has_results = _prompt_text(messages[index])
        newest = newest or text
        number = _count_replies(messages[index + 1 :])
        if steps := _inline_steps(text):
            return _choose_from("inline", steps, number, text)
        for position, rule in enumerate(script.rules):
            if text and rule.fits(text, body):
                return _choose_from(rule.name or f"rule {position + 1}", rule.steps, number, text)
        if text and not has_results and not text.startswith(_NOTES):
            return _choose_from("otherwise", script.otherwise, number, text, is_endless=True)
    return _choose_from("otherwise", script.otherwise, 0, newest, is_endless=True)


def _prompt_text(message: Mapping[str, Any]) -> tuple[str, bool]:
    """Return the text of a user message without reminders of programs, and whether it contains tool results."""
    content = message.get("content")
    if isinstance(content, str):
        return _REMINDER.sub("", content).strip(), False
    parts = [b for b in content or () if isinstance(b, dict)]
    texts = (_REMINDER.sub("", str(b.get("text") or "")).strip() for b in parts if b.get("type") == "text")
    return "\n".join(t for t in texts if t), any(b.get("type") == "tool_result" for b in parts)


def _count_replies(messages: Sequence[Mapping[str, Any]]) -> int:
    """Count the replies in these messages; consecutive assistant messages are one."""
    roles = [m.get("role") for m in messages if m.get("role") != "system"]
    return sum(role == "assistant" and roles[i - 1 : i] != ["assistant"] for i, role in enumerate(roles))


def _inline_steps(text: str) -> list[AnyStep]:
    """Return the steps in the prompt itself; [] if it contains none."""
    scripts = _INLINE.findall(text)
    try:
        return msgspec.convert(decode(scripts[-1].encode()), list[AnyStep]) if scripts else []
    except (ValueError, msgspec.ValidationError) as error:
        return [f"Cannot read the script in the prompt: {error}"]


def _choose_from(rule: str, steps: Sequence[AnyStep], number: int, prompt: str, is_endless: bool = False) -> ChosenStep:
    step: AnyStep = OVER
    if steps and (number < len(steps) or is_endless):
        step = steps[min(number, len(steps) - 1)]
    return ChosenStep(rule, number, step if isinstance(step, ScriptStep) else ScriptStep(content=step), prompt)
