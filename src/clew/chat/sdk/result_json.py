"""Outcomes: how a turn ended, in the form that scripts and the SDKs read."""

from __future__ import annotations

from clew.chat.events import TurnFinished
from clew.models import model_of, window_of
from clew.wire.json_codec import Json


def result(finished: TurnFinished, session_id: str, uuid: str) -> Json:
    """The result of a turn, as `--output-format json` prints it."""
    made: Json = {
        "type": "result",
        "subtype": finished.ending,
        "is_error": finished.is_error,
        "duration_ms": finished.milliseconds,
        "duration_api_ms": finished.api_milliseconds,
        "num_turns": finished.turns,
        "result": finished.text or " ".join(finished.errors),
        "stop_reason": finished.stop_reason,
        "session_id": session_id,
        "total_cost_usd": finished.cost or 0,
        "usage": finished.usage,
        "modelUsage": {model: {**spent, **_limits(model)} for model, spent in finished.models.items()},
        "permission_denials": list(finished.denials),
        "uuid": uuid,
    }
    if finished.cost is None:
        made["hasUnknownModelCost"] = True
    made["terminal_reason"] = _reason(finished)
    if finished.errors or finished.ending != "success":  # the SDK for TypeScript goes through them without looking
        made["errors"] = list(finished.errors)
    if finished.status is not None:
        made["api_error_status"] = finished.status
    return made


def _limits(model: str) -> Json:
    return {"contextWindow": window_of(model), "maxOutputTokens": model_of(model).output}


def _reason(finished: TurnFinished) -> str:
    """Why the turn ended, in the SDKs' words."""
    if finished.is_interrupted:
        return "aborted_tools" if finished.stop_reason == "tool_use" else "aborted_streaming"
    if finished.ending == "error_max_turns":
        return "max_turns"
    return "api_error" if finished.status is not None else "completed"
