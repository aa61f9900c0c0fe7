"""The fields of a request that control thinking and effort, as Claude Code sends them for each model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from clew.api.request_body import Capability
from clew.models import has_trait, known_name, model_of
from clew.wire.json_codec import Json

EFFORTS = ("low", "medium", "high", "xhigh", "max")
AUTO_EFFORT = "auto"  # leave the effort to the server
DISPLAYS = ("omitted", "summarized")  # what of the thinking the API returns: only its signature, or a summary
MIN_BUDGET = 1024  # least tokens of thinking that the API accepts
INTERLEAVED = Capability("interleaved thinking", "interleaved-thinking-2025-05-14")
CONTEXT_MANAGEMENT = Capability(
    "context management",
    "context-management-2025-06-27",
    {"context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}},
)
_EFFORT_BETA = "effort-2025-11-24"
_TASK_BUDGET_BETA = "task-budgets-2026-03-13"


class Reasoning(Struct, frozen=True):
    """What was asked about thinking and effort, for all models of a session."""

    is_off: bool = False  # models that always think ignore it
    budget: int | None = None  # most tokens of thinking; for models that do not adapt it themselves
    effort: str = ""  # one of EFFORTS or AUTO_EFFORT; empty for what the settings or the model say
    saved_efforts: Mapping[str, str] = field(default_factory=dict)  # by model, from settings
    shared_effort: str = ""  # for all models, from settings
    user_effort: str = ""  # the same from the user's own file, which newer models ignore
    display: str = "omitted"
    task_budget: int = 0  # in tokens: what the model is told that it may use for the whole task

    def effort_for(self, model: str) -> str:
        """Return the effort that a request to a model asks for; "" if none."""
        facts = model_of(model)
        if not facts.effort or self.effort == AUTO_EFFORT:
            return ""
        user_effort = "" if has_trait(model, "own_effort") else self.user_effort
        saved = self.saved_efforts.get(facts.name or model)
        level = self.effort or saved or self.shared_effort or user_effort or facts.effort
        is_too_high = any(level == high and has_trait(model, f"no_{high}") for high in ("xhigh", "max"))
        return "high" if is_too_high else level

    def with_effort(self, level: str) -> Reasoning:
        return replace(self, effort=level)

    def says_nothing(self) -> bool:
        """Whether nothing was asked for, so that the model's own defaults apply."""
        return not (self.is_off or self.budget or self.effort or self.task_budget)


class ReasoningFields(Struct, frozen=True):
    """The fields for one request."""

    thinking: Json | None = None
    temperature: float | None = None
    capabilities: tuple[Capability, ...] = ()


def reasoning_fields(model: str, max_tokens: int, asked: Reasoning) -> ReasoningFields:
    """Return the fields for a request to a model.

    A model of another maker is left alone unless something was asked for: many servers reject what they do not know.
    """
    if not known_name(model) and "claude" not in model.lower() and asked.says_nothing():
        return ReasoningFields()
    effort = asked.effort_for(model)
    output_config: dict[str, Any] = {"effort": effort} if effort else {}
    capabilities = [Capability("effort", _EFFORT_BETA, {"output_config": output_config})] if effort else []
    if asked.task_budget:
        output_config = {**output_config, "task_budget": {"type": "tokens", "total": asked.task_budget}}
        capabilities.append(Capability("task budget", _TASK_BUDGET_BETA, {"output_config": output_config}))
    thinking = _thinking(model, max_tokens, asked)
    if thinking is not None and thinking["type"] != "disabled":
        return ReasoningFields(thinking, None, (INTERLEAVED, CONTEXT_MANAGEMENT, *capabilities))
    temperature = 1 if asked.is_off and has_trait(model, "samples") else None
    return ReasoningFields(thinking, temperature, tuple(capabilities))


def _thinking(model: str, max_tokens: int, asked: Reasoning) -> Json | None:
    kind = model_of(model).thinking
    if not kind:
        return None
    if asked.is_off and not has_trait(model, "always_thinks"):
        return None if has_trait(model, "omits_off") else {"type": "disabled"}
    if kind == "adaptive":
        return {"type": "adaptive", "display": asked.display}
    # The budget must be smaller than the limit of the reply; a limit that leaves no room for the least budget turns
    # thinking off. Example: a limit of 32,000 allows a budget of 31,999.
    budget = max(min(asked.budget or max_tokens, max_tokens - 1), MIN_BUDGET)
    if budget >= max_tokens:
        return {"type": "disabled"}
    return {"budget_tokens": budget, "type": "enabled", "display": asked.display}
