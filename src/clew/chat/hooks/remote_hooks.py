"""Run hooks that are not programs: requests to an address, questions to a model, and tools of MCP servers."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from fnmatch import fnmatchcase

from msgspec import Struct

from clew.chat.config.settings import Settings, as_object, as_strings
from clew.chat.hooks.hook import Hook
from clew.chat.tools.process import CompletedCommand
from clew.errors import ClewError
from clew.system.credential_transport import HINT, is_protected
from clew.system.environment import child_environment
from clew.wire.json_codec import Json

AskModel = Callable[
    [str, str], Awaitable[str]
]  # takes a question and a model ("" for the small one), returns the answer
RunAgent = Callable[[str, str], Awaitable[str]]  # takes a task and a model, returns the last text of an agent
CallTool = Callable[[str, str, Json], Awaitable[str]]  # takes a server, a tool and its input, returns the text

_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_PATH = re.compile(r"\$\{([\w.]+)\}")
_QUESTION = (
    '{}\n\nAnswer with JSON only: {{"ok": true}} if it holds, or {{"ok": false, "reason": "why not, in one sentence"}}.'
)
_STOP_EVENTS = ("Stop", "SubagentStop")


class RemoteHooks(Struct, frozen=True):
    """What hooks of these kinds need of a session. A missing part makes them fail with a clear message."""

    ask_model: AskModel | None = None
    run_agent: RunAgent | None = None
    call_tool: CallTool | None = None
    allowed_urls: Sequence[str] | None = None  # patterns; None for all
    allowed_variables: Sequence[str] | None = None  # that headers may contain; None for those that a hook names

    async def run(self, hook: Hook, payload: Json) -> CompletedCommand:
        """Run a hook. Its failure is reported like that of a program."""
        try:
            async with asyncio.timeout(hook.timeout):
                match hook.kind:
                    case "http":
                        text = await self._post(hook, payload)
                    case "prompt" | "agent":
                        text = await self._question(hook, payload)
                    case _:
                        text = await self._call(hook, payload)
        except TimeoutError:
            return CompletedCommand(-1, "", "", is_late=True)
        except (ClewError, ValueError, OSError) as error:
            return CompletedCommand(1, "", str(error))
        return CompletedCommand(0, text, "")

    async def _post(self, hook: Hook, payload: Json) -> str:
        import httpx

        url = str(hook.run)
        if self.allowed_urls is not None and not any(fnmatchcase(url, allowed) for allowed in self.allowed_urls):
            raise ValueError("the setting allowedHttpHookUrls does not include its address")
        headers = _headers(hook.details, self.allowed_variables)
        if not is_protected(url):
            raise ValueError(f"it would be sent unencrypted. {HINT}")
        try:
            async with httpx.AsyncClient(timeout=None) as client:
                answer = await client.post(url, json=payload, headers=headers)
        except httpx.HTTPError as error:
            raise ValueError(str(error) or type(error).__name__) from None
        if not answer.is_success:
            raise ValueError(f"the server answered with status {answer.status_code}")
        return answer.text

    async def _question(self, hook: Hook, payload: Json) -> str:
        """Let a model, or an agent with tools, judge the event; "no" blocks it."""
        ask = self.run_agent if hook.kind == "agent" else self.ask_model
        if ask is None:
            raise ValueError("no model can be asked here")
        data = json.dumps(payload, ensure_ascii=False, default=str)
        prompt = str(hook.run)
        filled = prompt.replace("$ARGUMENTS", data) if "$ARGUMENTS" in prompt else f"{prompt}\n\nARGUMENTS: {data}"
        answer = await ask(_QUESTION.format(filled), str(hook.details.get("model") or ""))
        verdict = _parse_verdict(answer)
        if verdict["ok"]:
            return ""
        reason = f"[{prompt}]: {verdict.get('reason') or 'the model said no'}"
        block: Json = {"decision": "block", "reason": reason}
        goes_on = payload["hook_event_name"] in _STOP_EVENTS or hook.details.get("continueOnBlock") is True
        return json.dumps(block if goes_on else {**block, "continue": False, "stopReason": reason})

    async def _call(self, hook: Hook, payload: Json) -> str:
        if self.call_tool is None:
            raise ValueError("there are no MCP servers here")
        given = {name: _interpolate(value, payload) for name, value in as_object(hook.details.get("input")).items()}
        return await self.call_tool(str(hook.details["server"]), str(hook.run), given)


def allowed_urls(settings: Settings) -> Sequence[str] | None:
    """Return the addresses that hooks may be sent to; None if the settings do not limit them."""
    stated = settings.merged.get("allowedHttpHookUrls")
    return as_strings(stated) if isinstance(stated, list) else None


def allowed_variables(settings: Settings) -> Sequence[str] | None:
    """Return the variables that headers of hooks may contain; None if the settings do not limit them."""
    stated = settings.merged.get("httpHookAllowedEnvVars")
    return as_strings(stated) if isinstance(stated, list) else None


def _headers(details: Mapping[str, object], allowed: Sequence[str] | None) -> dict[str, str]:
    """Return the headers with variables filled in, of which only those in `allowedEnvVars` have a value."""
    variables = child_environment()
    names = [name for name in as_strings(details.get("allowedEnvVars")) if allowed is None or name in allowed]
    known = {name: variables.get(name, "") for name in names}
    return {
        name: _VARIABLE.sub(lambda match: known.get(match[1] or match[2], ""), str(value))
        for name, value in as_object(details.get("headers")).items()
    }


def _parse_verdict(answer: str) -> Json:
    found = re.search(r"\{.*\}", answer, re.DOTALL)
    try:
        verdict = json.loads(found[0]) if found else None
    except ValueError:
        verdict = None
    if not isinstance(verdict, dict) or not isinstance(verdict.get("ok"), bool):
        raise ValueError(f"the model did not answer with a verdict: {answer[:200]}")
    return verdict


def _interpolate(value: object, payload: Json) -> object:
    """Fill `${tool_input.file_path}` with this field of the payload."""
    if not isinstance(value, str):
        return value

    def find(match: re.Match[str]) -> str:
        found: object = payload
        for part in match[1].split("."):
            found = found.get(part) if isinstance(found, dict) else None
        return "" if found is None else found if isinstance(found, str) else json.dumps(found)

    return _PATH.sub(find, value)
