"""Validate the input of a call against the schema of its tool, and build the error texts.

Models sometimes write numbers and booleans as strings; unambiguous values are converted. Only the JSON Schema
keywords that the tools use are checked; others (of MCP servers) are left to the server.
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


def validate_input(tool: Tool, input: Any) -> Json:
    """Return the converted input. Raises ToolFailed with all problems."""
    schema = tool.schema
    converted = _coerce(input, schema)
    issues = list(_issues(converted, schema, ""))
    if issues:
        noun = "issue" if len(issues) == 1 else "issues"
        lines = "\n".join(issues)
        raise ToolFailed(f"InputValidationError: {tool.name} failed due to the following {noun}:\n{lines}")
    result: Json = converted
    return result


def unknown_tool_error(name: str) -> ToolFailed:
    """Return the error for a call of an unknown tool."""
    return ToolFailed(f"Error: No such tool available: {name}")


def failure_result(failed: ToolFailed) -> CallResult:
    """Return the result of a failed call. A wrong call is marked with `<tool_use_error>`, other failures are plain
    text.
    """
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


def _coerce(value: Any, schema: Any) -> Any:
    """Return the value with strings converted to the type of the schema. The argument is not changed."""
    if not isinstance(schema, dict):
        return value
    kinds = _types(schema)
    if isinstance(value, str) and kinds and "string" not in kinds:
        value = next((converted for kind in kinds for converted in _parse_as(value, kind)), value)
    if isinstance(value, float) and "integer" in kinds and value.is_integer():
        value = int(value)
    if isinstance(value, list) and "items" in schema:
        return [_coerce(item, schema["items"]) for item in value]
    if isinstance(value, dict) and isinstance(known := schema.get("properties"), dict):
        return _coerce_fields(value, known, schema.get("required", ()))
    return value


def _coerce_fields(value: Json, known: Json, required: Any) -> Json:
    """Convert the fields of an object; null for an optional field is dropped, and defaults are added."""
    converted = {}
    for name, item in value.items():
        field = known.get(name)
        if item is None and isinstance(field, dict) and name not in required and not _takes_null(field):
            continue
        converted[name] = _coerce(item, field)
    for name, field in known.items():
        if name not in converted and isinstance(field, dict) and "default" in field:
            converted[name] = field["default"]
    return converted


def _takes_null(schema: Json) -> bool:
    kinds = _types(schema)
    return not kinds or "null" in kinds


def _parse_as(text: str, kind: str) -> Iterator[Any]:
    """Yield the value that a text denotes, if it is of this type."""
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
        expected = " | ".join(map(_type_label, kinds))
        yield f"{where} type is expected as `{expected}` but provided as `{_type_name(value)}`"
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


def _type_label(kind: str) -> str:
    """Return the type name as models know it: an integer is a number."""
    return "number" if kind == "integer" else kind


def _type_name(value: Any) -> str:
    return next((_type_label(kind) for kind in _TYPES if _fits(value, kind)), type(value).__name__)
