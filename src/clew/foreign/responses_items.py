"""Items of OpenAI's Responses API: messages, calls and their outputs, one after another."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from clew.foreign.conversation_steps import INTERRUPTED, Content, ForeignPrompt, OtherRecord, Scribe
from clew.foreign.image_blocks import picture
from clew.foreign.json_values import object_of, objects, text
from clew.wire.json_codec import Json, decode_readable

ADDED = (  # what Codex puts into the mouth of the person
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md instructions",
    "<INSTRUCTIONS>",
    "<skill>",
    "<permissions instructions>",
    "<collaboration_mode>",
)
_ABORTED = "<turn_aborted>"
_EXIT = re.compile(r"(?:Process exited with code|Exit code:) (-?\d+)")
_OUTPUT = "\nOutput:\n"


class Items:
    """Takes down items for a scribe."""

    def __init__(self, scribe: Scribe) -> None:
        self.scribe = scribe
        self.names: dict[str, str] = {}  # of the tools, by call

    def take(self, item: Json, time: datetime | None) -> None:
        call = text(item, "call_id", "id")
        match text(item, "type"):
            case "message":
                self._message(item, time)
            case "reasoning":
                self.scribe.keep("reasoning", item, time)
            case "function_call":
                self._call(call, item, arguments(item.get("arguments")), time)
            case "custom_tool_call":
                self._call(call, item, {"input": text(item, "input")}, time)
            case "local_shell_call":
                self._call(call, {**item, "name": "local_shell"}, object_of(item, "action"), time)
            case "function_call_output" | "custom_tool_call_output" | "local_shell_call_output":
                self._output(call, item.get("output"), time, _rest(item))
            case kind:
                self.scribe.keep(kind or "item", item, time)

    def _message(self, item: Json, time: datetime | None) -> None:
        words, role = plain(item), text(item, "role")
        if role == "assistant":
            self.scribe.say(words, time, extra=_rest(item))
        elif role == "user" and words.startswith(_ABORTED):
            self.aborted(time)
            self.scribe.keep("turn_aborted", item, time)
        elif role == "user" and not words.startswith(ADDED):
            self.scribe.prompt(_content(item), time, extra=_rest(item))
        else:
            self.scribe.keep(f"{role or 'unknown'} message", item, time)

    def aborted(self, time: datetime | None) -> None:
        """A turn that was broken off; an event and an item may both tell of it."""
        last = next((step for step in reversed(self.scribe.steps) if not isinstance(step, OtherRecord)), None)
        if not (isinstance(last, ForeignPrompt) and last.content == INTERRUPTED) or self.scribe.is_open:
            self.scribe.prompt(INTERRUPTED, time, is_note=True)

    def _call(self, id: str, item: Json, given: Json, time: datetime | None) -> None:
        name = text(item, "name") or "tool"
        self.names[id] = name
        self.scribe.call(id, f"{text(item, 'namespace')}{name}", given, time, extra=_rest(item))

    def _output(self, id: str, output: Any, time: datetime | None, rest: Json) -> None:
        if isinstance(output, dict):
            rest |= {key: value for key, value in output.items() if key not in ("content", "output")}
            output = output.get("content", output.get("output"))
        if isinstance(output, list):
            self.scribe.result(id, tuple(_blocks(output)), time, aside=rest or None)
            return
        words = output if isinstance(output, str) else ""
        content, code, aside = _unwrapped(words) if self.names.get(id) != "write_stdin" else (words, 0, None)
        if code:
            content = f"Exit code {code}\n{content}"
        if rest:
            aside = {**rest, "told": aside} if aside is not None else rest
        self.scribe.result(id, content, time, is_error=bool(code), aside=aside)


_SAID = {"type", "role", "content", "name", "namespace", "arguments", "input", "action", "call_id", "output"}


def _rest(item: Json) -> Json:
    """What an item says beside what becomes of it."""
    return {key: value for key, value in item.items() if key not in _SAID and value is not None}


def arguments(value: Any) -> Json:
    """The arguments of a call, which stand there as text."""
    try:
        found = decode_readable(value.encode("utf-8", "surrogatepass")) if isinstance(value, str) else value
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {"arguments": value} if value else {}


def _unwrapped(output: str) -> tuple[str, int, Any]:
    """The output of a command by itself, how it ended, and what was told around it."""
    if output.startswith('{"output":'):
        found = arguments(output)
        meta = object_of(found, "metadata")
        if isinstance(found.get("output"), str):
            code = meta.get("exit_code")
            return found["output"], code if isinstance(code, int) else 0, meta or None
    head, mark, rest = output.partition(_OUTPUT)
    code_line = _EXIT.search(head)
    if mark and code_line and len(head) < 500:
        return rest, int(code_line[1]), head
    return output, 0, None


def _content(item: Json) -> Content:
    return tuple(_blocks(item.get("content")))


def _blocks(parts: Any) -> Iterator[Json]:
    if isinstance(parts, str):
        yield {"type": "text", "text": parts}
    for part in objects(parts):
        if part.get("type") == "input_image":
            yield picture(part.get("image_url"))
        elif words := text(part, "text"):
            yield {"type": "text", "text": words}


def plain(item: Json) -> str:
    return "".join(block["text"] for block in _blocks(item.get("content")) if block["type"] == "text")
