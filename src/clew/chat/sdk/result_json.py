"""The result of a turn as JSON, for scripts and the SDKs."""

from __future__ import annotations

from collections.abc import Mapping

from clew.chat.events import TurnFinished
from clew.models import model_of, window_of
from clew.system.environment import limit_window
from clew.wire.json_codec import Json


def result(finished: TurnFinished, session_id: str, uuid: str) -> Json:
    """Return the result of a turn, as `--output-format json` prints it."""
    fields: Json = {
        "type": "result",
        "subtype": finished.ending,
        "is_error": finished.is_error,
        "duration_ms": finished.milliseconds,
        "duration_api_ms": finished.api_milliseconds,
        "num_turns": finished.turns,
        "result": finished.text or " ".join(finished.errors),
        "stop_reason": finished.stop_reason,
        "api_error_status": finished.status,
        "session_id": session_id,
        "total_cost_usd": finished.cost or 0,
        "usage": {"service_tier": "standard", **finished.turn_usage},
        "modelUsage": model_usage(finished.models),
        "permission_denials": list(finished.denials),
        "uuid": uuid,
    }
    if finished.structured_output is not None:
        fields["structured_output"] = finished.structured_output
    if finished.cost is None:
        fields["hasUnknownModelCost"] = True
    fields["terminal_reason"] = _terminal_reason(finished)
    if finished.errors or finished.ending != "success":  # the TypeScript SDK iterates over them without a check
        fields["errors"] = list(finished.errors)
    return fields


def model_usage(by_model: Mapping[str, Json]) -> Json:
    """Return usage and cost by model, with the limits of each model."""
    return {model: {**spent, **_limits(model)} for model, spent in by_model.items()}


def _limits(model: str) -> Json:
    known = model_of(model)
    return {
        "contextWindow": limit_window(window_of(model)),
        "maxOutputTokens": known.output,
        "canonicalModel": known.name or model,
    }


def _terminal_reason(finished: TurnFinished) -> str:
    """Why the turn ended, in the SDKs' terms."""
    if finished.end_reason:
        return finished.end_reason
    if finished.is_interrupted:
        return "aborted_tools" if finished.stop_reason == "tool_use" else "aborted_streaming"
    if finished.ending == "error_max_turns":
        return "max_turns"
    if finished.ending == "error_max_budget_usd":
        return "budget_exhausted"
    if finished.ending == "error_max_structured_output_retries":
        return "structured_output_retry_exhausted"
    return "api_error" if finished.status is not None else "completed"
