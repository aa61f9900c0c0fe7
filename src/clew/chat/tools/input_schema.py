"""Inputs held against their schemas, and the texts for calls that are wrong.

Models write numbers and truths as strings now and then; what plainly stands for the right value is taken for it.
Of JSON Schema only the words that tools use are known; others (of MCP servers) are left to whoever answers the call.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from clew.chat.tools.tool import CallResult, Tool, ToolFailed
from clew.wire.json_codec import Json

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def check(tool: Tool, input: Any) -> Json:
    """The input as the tool takes it; `Failed` with all that is wrong with it."""
    schema = tool.schema
    given = _coerced(input, schema)
    wrong = list(_issues(given, schema, ""))
    if wrong:
        noun = "issue" if len(wrong) == 1 else "issues"
        lines = "\n".join(wrong)
        raise ToolFailed(f"InputValidationError: {tool.name} failed due to the following {noun}:\n{lines}")
    made: Json = given
    return made


def unknown(name: str) -> ToolFailed:
    """The failure of a call to a tool that is not there."""
    return ToolFailed(f"Error: No such tool available: {name}")


def failure(failed: ToolFailed) -> CallResult:
    """A failed call as its result: a wrong call is marked as such, what went wrong in doing it is told plainly."""
    text = f"<tool_use_error>{failed.text}</tool_use_error>" if failed.is_misuse else failed.text
    is_named = failed.text.startswith(("Error: ", "InputValidationError: "))
    detail = failed.text if is_named else f"Error: {failed.text}"
    return CallResult(text, detail, is_error=True)


def _types(schema: Json) -> tuple[str, ...]:
    kind = schema.get("type")
    return (kind,) if isinstance(kind, str) else tuple(kind) if isinstance(kind, list) else ()


def _fits(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES.get(kind, (object,)))


def _coerced(value: Any, schema: Any) -> Any:
    """The value, with what plainly stands for another type in that type. The given value is left as it is."""
    if not isinstance(schema, dict):
        return value
    kinds = _types(schema)
    if isinstance(value, str) and kinds and "string" not in kinds:
        value = next((made for kind in kinds for made in _read(value, kind)), value)
    if isinstance(value, float) and "integer" in kinds and value.is_integer():
        value = int(value)
    if isinstance(value, list) and "items" in schema:
        return [_coerced(item, schema["items"]) for item in value]
    if isinstance(value, dict) and isinstance(known := schema.get("properties"), dict):
        return _filled(value, known, schema.get("required", ()))
    return value


def _filled(value: Json, known: Json, required: Any) -> Json:
    """The fields in their types; null stands for an optional one that is not given, and defaults are filled in."""
    made = {}
    for name, item in value.items():
        field = known.get(name)
        if item is None and isinstance(field, dict) and name not in required and not _takes_null(field):
            continue
        made[name] = _coerced(item, field)
    for name, field in known.items():
        if name not in made and isinstance(field, dict) and "default" in field:
            made[name] = field["default"]
    return made


def _takes_null(schema: Json) -> bool:
    kinds = _types(schema)
    return not kinds or "null" in kinds


def _read(text: str, kind: str) -> Iterator[Any]:
    """What a text stands for, if it stands for something of this type."""
    if kind == "boolean" and text.strip().lower() in ("true", "false"):
        yield text.strip().lower() == "true"
    elif kind in ("integer", "number", "array", "object"):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return
        if _fits(value, kind):
            yield value


def _issues(value: Any, schema: Any, at: str) -> Iterator[str]:
    if not isinstance(schema, dict):
        return
    kinds = _types(schema)
    if kinds and not any(_fits(value, kind) for kind in kinds):
        where = f"The parameter `{at}`" if at else "The input"
        wanted = " | ".join(map(_told, kinds))
        yield f"{where} type is expected as `{wanted}` but provided as `{_name(value)}`"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"The parameter `{at}` must be one of {', '.join(map(json.dumps, schema['enum']))}"
    yield from _bounds(value, schema, at)
    if isinstance(value, list) and "items" in schema:
        for number, item in enumerate(value):
            yield from _issues(item, schema["items"], f"{at}[{number}]")
    if isinstance(value, dict):
        yield from _members(value, schema, at)


def _bounds(value: Any, schema: Json, at: str) -> Iterator[str]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        if value < schema.get("minimum", value):
            yield f"The parameter `{at}` must be at least {schema['minimum']}"
        if value > schema.get("maximum", value):
            yield f"The parameter `{at}` must be at most {schema['maximum']}"
    if isinstance(value, str):
        if len(value) < schema.get("minLength", 0):
            yield f"The parameter `{at}` must not be empty"
        if len(value) > schema.get("maxLength", len(value)):
            yield f"The parameter `{at}` must have at most {schema['maxLength']} characters"
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            yield f"The parameter `{at}` must have at least {schema['minItems']} items"
        if len(value) > schema.get("maxItems", len(value)):
            yield f"The parameter `{at}` must have at most {schema['maxItems']} items"


def _members(value: Json, schema: Json, at: str) -> Iterator[str]:
    known = schema.get("properties", {})
    inside = f"{at}." if at else ""
    for name in schema.get("required", ()):
        if name not in value:
            yield f"The required parameter `{inside}{name}` is missing"
    if schema.get("additionalProperties") is False:
        yield from (f"An unexpected parameter `{inside}{name}` was provided" for name in value if name not in known)
    for name in (name for name in value if name in known):
        yield from _issues(value[name], known[name], inside + name)


def _told(kind: str) -> str:
    """A type as models know it: whole numbers are numbers."""
    return "number" if kind == "integer" else kind


def _name(value: Any) -> str:
    return next((_told(kind) for kind in _TYPES if _fits(value, kind)), type(value).__name__)
