"""Build tools from their parts, and the fields of their input schemas."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Struct

from clew.chat.tools.tool import CallResult, ToolContext
from clew.wire.json_codec import Json

TEXT: Json = {"type": "string"}
INTEGER: Json = {"type": "integer"}
NUMBER: Json = {"type": "number"}
BOOLEAN: Json = {"type": "boolean"}


class SpecTool(Struct, frozen=True):
    """A tool built from its parts."""

    name: str
    description: str
    schema: Json
    run: Callable[[Json, ToolContext], Awaitable[CallResult]]
    reads: bool = False  # True if no call changes anything
    precondition: Callable[[Json, ToolContext], object] | None = None  # raises ToolFailed if a call cannot succeed

    def is_read_only(self, input: Json) -> bool:
        return self.reads

    async def check(self, input: Json, scene: ToolContext) -> None:
        if self.precondition is not None:
            self.precondition(input, scene)

    async def call(self, input: Json, scene: ToolContext) -> CallResult:
        return await self.run(input, scene)


def object_schema(**properties: Json) -> Json:
    """Return the schema of an object with exactly these fields; those that are not `optional` are required."""
    return {
        "type": "object",
        "properties": {k: {n: v for n, v in p.items() if n != "optional"} for k, p in properties.items()},
        "required": [k for k, p in properties.items() if not p.get("optional")],
        "additionalProperties": False,
    }


def required_field(kind: Json, description: str, **more: Any) -> Json:
    """Return the schema of a required field."""
    return {**kind, "description": description, **more}


def optional_field(kind: Json, description: str, **more: Any) -> Json:
    """Return the schema of an optional field."""
    return {**kind, "description": description, "optional": True, **more}


def enum_schema(*values: str) -> Json:
    """Return the schema of a string with one of these values."""
    return {"type": "string", "enum": list(values)}


def array_schema(items: Json, least: int = 0, most: int | None = None) -> Json:
    """Return the schema of an array."""
    return {"type": "array", "items": items, "minItems": least} | ({} if most is None else {"maxItems": most})
