"""Convert items of OpenAI's Responses API (messages, calls, outputs) to steps."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from clew.foreign.conversation_steps import INTERRUPTED, Content, ForeignPrompt, OtherRecord, StepRecorder
from clew.foreign.image_blocks import image_block
from clew.foreign.json_values import get_object, get_objects, get_text
from clew.wire.json_codec import Json, decode_readable

INJECTED_PREFIXES = (  # texts that Codex adds as user messages
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


class ItemReader:
    """Converts items and passes them to a recorder."""

    def __init__(self, scribe: StepRecorder) -> None:
        self.scribe = scribe
        self.names: dict[str, str] = {}  # of the tools, by call

    def take(self, item: Json, time: datetime | None) -> None:
        call = get_text(item, "call_id", "id")
        match get_text(item, "type"):
            case "message":
                self._message(item, time)
            case "reasoning":
                self.scribe.keep("reasoning", item, time)
            case "function_call":
                self._call(call, item, parse_arguments(item.get("arguments")), time)
            case "custom_tool_call":
                self._call(call, item, {"input": get_text(item, "input")}, time)
            case "local_shell_call":
                self._call(call, {**item, "name": "local_shell"}, get_object(item, "action"), time)
            case "function_call_output" | "custom_tool_call_output" | "local_shell_call_output":
                self._output(call, item.get("output"), time, _remaining_fields(item))
            case kind:
                self.scribe.keep(kind or "item", item, time)

    def take_literally(self, item: Json, mark: Json, time: datetime | None) -> None:
        """Take an item that clew wrote; its mark has the original of a translated call."""
        call, output = get_text(item, "call_id"), item.get("output")
        match get_text(item, "type"), get_text(item, "role"):
            case "message", "assistant":
                self.scribe.model = get_text(mark, "model") or self.scribe.model
                self.scribe.say(item_text(item), time)
            case "message", _:
                self.scribe.prompt(_message_content(item), time)
            case "function_call", _:
                self.scribe.model = get_text(mark, "model") or self.scribe.model
                call_input = get_object(mark, "input") if "input" in mark else parse_arguments(item.get("arguments"))
                self.scribe.call(call, get_text(mark, "name") or get_text(item, "name"), call_input, time)
            case "function_call_output", _:
                content = output if isinstance(output, str) else tuple(_blocks(output))
                self.scribe.result(call, content, time, is_error=mark.get("is_error") is True)
            case _:
                self.take(item, time)

    def _message(self, item: Json, time: datetime | None) -> None:
        message_text, role = item_text(item), get_text(item, "role")
        if role == "assistant":
            self.scribe.say(message_text, time, extra=_remaining_fields(item))
        elif role == "user" and message_text.startswith(_ABORTED):
            self.add_interruption(time)
            self.scribe.keep("turn_aborted", item, time)
        elif role == "user" and not message_text.startswith(INJECTED_PREFIXES):
            self.scribe.prompt(_message_content(item), time, extra=_remaining_fields(item))
        else:
            self.scribe.keep(f"{role or 'unknown'} message", item, time)

    def add_interruption(self, time: datetime | None) -> None:
        """Record an interrupted turn once; both an event and an item may report it."""
        last = next((step for step in reversed(self.scribe.steps) if not isinstance(step, OtherRecord)), None)
        if not (isinstance(last, ForeignPrompt) and last.content == INTERRUPTED) or self.scribe.is_open:
            self.scribe.prompt(INTERRUPTED, time, is_note=True)

    def _call(self, id: str, item: Json, call_input: Json, time: datetime | None) -> None:
        name = get_text(item, "name") or "tool"
        self.names[id] = name
        self.scribe.call(id, f"{get_text(item, 'namespace')}{name}", call_input, time, extra=_remaining_fields(item))

    def _output(self, id: str, output: Any, time: datetime | None, extra: Json) -> None:
        if isinstance(output, dict):
            extra |= {key: value for key, value in output.items() if key not in ("content", "output")}
            output = output.get("content", output.get("output"))
        if isinstance(output, list):
            self.scribe.result(id, tuple(_blocks(output)), time, aside=extra or None)
            return
        output_text = output if isinstance(output, str) else ""
        content, code, aside = (
            _unwrap_output(output_text) if self.names.get(id) != "write_stdin" else (output_text, 0, None)
        )
        if code:
            content = f"Exit code {code}\n{content}"
        if extra:
            aside = {**extra, "told": aside} if aside is not None else extra
        self.scribe.result(id, content, time, is_error=bool(code), aside=aside)


_CONVERTED_KEYS = {"type", "role", "content", "name", "namespace", "arguments", "input", "action", "call_id", "output"}


def _remaining_fields(item: Json) -> Json:
    """Return the fields of an item that are not converted."""
    return {key: value for key, value in item.items() if key not in _CONVERTED_KEYS and value is not None}


def parse_arguments(value: Any) -> Json:
    """Parse the arguments of a call, which are JSON in a string."""
    try:
        parsed = decode_readable(value.encode("utf-8", "surrogatepass")) if isinstance(value, str) else value
    except ValueError:
        parsed = None
    return parsed if isinstance(parsed, dict) else {"arguments": value} if value else {}


def _unwrap_output(output: str) -> tuple[str, int, Any]:
    """Return the output of a command, its exit code, and the text around it."""
    if output.startswith('{"output":'):
        wrapper = parse_arguments(output)
        meta = get_object(wrapper, "metadata")
        if isinstance(wrapper.get("output"), str):
            code = meta.get("exit_code")
            return wrapper["output"], code if isinstance(code, int) else 0, meta or None
    head, mark, body = output.partition(_OUTPUT)
    code_line = _EXIT.search(head)
    if mark and code_line and len(head) < 500:
        return body, int(code_line[1]), head
    return output, 0, None


def _message_content(item: Json) -> Content:
    return tuple(_blocks(item.get("content")))


def _blocks(parts: Any) -> Iterator[Json]:
    if isinstance(parts, str):
        yield {"type": "text", "text": parts}
    for part in get_objects(parts):
        if part.get("type") == "input_image":
            yield image_block(part.get("image_url"))
        elif part_text := get_text(part, "text"):
            yield {"type": "text", "text": part_text}


def item_text(item: Json) -> str:
    return "".join(block["text"] for block in _blocks(item.get("content")) if block["type"] == "text")
