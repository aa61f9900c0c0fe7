"""Implement StructuredOutput: the model hands in its answer as JSON that fits the schema of the caller."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from clew.chat.tools.tool import CallResult, ToolContext, ToolFailed
from clew.errors import ClewError
from clew.system.extras import install_hint
from clew.wire.json_codec import Json

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

STRUCTURED_OUTPUT = "StructuredOutput"
MAX_ATTEMPTS = 5  # calls with an invalid answer, as in Claude Code
MAX_PROBLEMS = 10  # problems of one answer that the model is told of


class StructuredOutput:
    """The tool for one schema. It keeps the answer of the current turn."""

    name = STRUCTURED_OUTPUT
    description = (
        "Hand in your final answer in the form that was asked for. Call it once, when everything else is done; the call "
        "ends your work."
    )

    def __init__(self, schema: Json) -> None:
        """Raises ClewError if the schema is invalid or does not describe an object."""
        self.schema = schema
        self._validator = _validator(schema)
        self.begin()

    def begin(self) -> None:
        """Forget the answer of the last turn."""
        self.answer: Json | None = None
        self.attempts = 0
        self.problem = ""

    @property
    def text(self) -> str:
        """The answer as compact JSON."""
        return json.dumps(self.answer, ensure_ascii=False, separators=(",", ":"))

    @property
    def is_exhausted(self) -> bool:
        """Whether too many invalid answers were handed in."""
        return self.answer is None and self.attempts >= MAX_ATTEMPTS

    def is_read_only(self, input: Json) -> bool:
        return True

    async def check(self, input: Json, scene: ToolContext) -> None:
        """Accept any input: `call` counts the attempts that do not fit."""

    async def call(self, input: Json, scene: ToolContext) -> CallResult:
        problems = [f"{_place(each.absolute_path)}: {each.message}" for each in self._validator.iter_errors(input)]
        if problems:
            self.attempts += 1
            more = f" (and {len(problems) - MAX_PROBLEMS} more)" if len(problems) > MAX_PROBLEMS else ""
            self.problem = f"The output does not fit the schema: {', '.join(problems[:MAX_PROBLEMS])}{more}"
            raise ToolFailed(self.problem, is_misuse=False)
        self.answer = input
        return CallResult("The output fits the schema and was taken.")


def parse_schema(text: str) -> Json:
    """Parse a JSON Schema. Raises ClewError with a full sentence."""
    try:
        schema = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ClewError(f"The schema is not JSON: {error}.", hint="Give an object, such as: " + _EXAMPLE) from None
    if not isinstance(schema, dict):
        raise ClewError("The schema is not a JSON object.", hint="Give one such as: " + _EXAMPLE)
    return schema


_EXAMPLE = '{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}'


def _validator(schema: Json) -> Validator:
    try:
        from jsonschema.exceptions import SchemaError
        from jsonschema.validators import validator_for
    except ModuleNotFoundError:
        raise ClewError("Structured output needs the package jsonschema.", hint=install_hint("chat")) from None
    kind: Any = validator_for(schema)
    try:
        kind.check_schema(schema)
    except SchemaError as error:
        raise ClewError(f"The schema is not a valid JSON Schema: {_place(error.path)}: {error.message}.") from None
    if schema.get("type", "object") != "object":
        raise ClewError("The schema must describe an object.", hint="Put the value into a field of an object.")
    validator: Validator = kind(schema)
    return validator


def _place(path: Any) -> str:
    return "/".join(map(str, path)) or "root"
