"""Tools made of their parts, and the pieces that their schemas are made of."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from clew.chat.tools.tool import CallResult, ToolContext
from clew.wire.json_codec import Json

TEXT: Json = {"type": "string"}
WHOLE: Json = {"type": "integer"}
NUMBER: Json = {"type": "number"}
FLAG: Json = {"type": "boolean"}


@dataclass(frozen=True, slots=True)
class SpecTool:
    """A tool made of its parts."""

    name: str
    description: str
    schema: Json
    run: Callable[[Json, ToolContext], Awaitable[CallResult]]
    reads: bool = False  # every call of it changes nothing

    def is_read_only(self, input: Json) -> bool:
        return self.reads

    async def call(self, input: Json, scene: ToolContext) -> CallResult:
        return await self.run(input, scene)


def fields(**properties: Json) -> Json:
    """An object of these fields and no others; those that are not `optional` have to be there."""
    return {
        "type": "object",
        "properties": {k: {n: v for n, v in p.items() if n != "optional"} for k, p in properties.items()},
        "required": [k for k, p in properties.items() if not p.get("optional")],
        "additionalProperties": False,
    }


def needed(kind: Json, description: str, **more: Any) -> Json:
    """A field that has to be given."""
    return {**kind, "description": description, **more}


def optional(kind: Json, description: str, **more: Any) -> Json:
    """A field that may be left out."""
    return {**kind, "description": description, "optional": True, **more}


def choice(*values: str) -> Json:
    """One of these words."""
    return {"type": "string", "enum": list(values)}


def listed(items: Json, least: int = 0, most: int | None = None) -> Json:
    """A list of such things."""
    return {"type": "array", "items": items, "minItems": least} | ({} if most is None else {"maxItems": most})
