"""Thinking and effort as settings and environment variables ask for them.

Of several sources the first counts: `CLAUDE_CODE_EFFORT_LEVEL`, the command line, `modelSettings` (by model),
`effortLevel`. `effortLevel` in the user's own file counts only for models that Claude Code reads it for.
"""

from __future__ import annotations

import json
from pathlib import Path

from msgspec.structs import replace

from clew.api.reasoning import AUTO_EFFORT, EFFORTS, Reasoning
from clew.chat.config.settings import Settings, as_object, settings_file
from clew.errors import Refused
from clew.models import known_name
from clew.system import environment
from clew.wire import session_writer
from clew.wire.json_codec import Json

MODEL_SETTINGS, EFFORT_LEVEL = "modelSettings", "effortLevel"


def complete_reasoning(asked: Reasoning, settings: Settings) -> Reasoning:
    """Return what was asked for, completed by the environment and the settings."""
    merged = settings.merged
    level = environment.effort_level().lower()
    budget = environment.thinking_budget()
    budget = asked.budget if budget is None else budget
    effort = AUTO_EFFORT if level in (AUTO_EFFORT, "unset") else level if level in EFFORTS else asked.effort
    is_off = asked.is_off or budget == 0 or merged.get("alwaysThinkingEnabled") is False
    efforts = [(s.scope, str(s.data[EFFORT_LEVEL])) for s in settings.sources if s.data.get(EFFORT_LEVEL) in EFFORTS]
    return replace(
        asked,
        is_off=is_off,
        budget=budget or None,
        effort=effort,
        saved_efforts=_saved_efforts(settings),
        shared_effort=next((found for scope, found in efforts if scope != "user"), ""),
        user_effort=next((found for scope, found in efforts if scope == "user"), ""),
    )


def save_effort(home: Path, model: str, level: str) -> Path:
    """Save the effort of a model in the user's settings, or remove it if `level` is empty. Return the file.

    `home` is Claude Code's folder. Raises Refused if the file cannot be understood.
    """
    path = settings_file("user", home, home)
    data = _read_file(path)
    models = as_object(data.get(MODEL_SETTINGS))
    own = {key: value for key, value in as_object(models.get(model)).items() if key != EFFORT_LEVEL}
    _write_file(path, {**data, MODEL_SETTINGS: {**models, model: own | ({EFFORT_LEVEL: level} if level else {})}})
    return path


def save_setting(path: Path, name: str, value: str) -> None:
    """Save one setting in a file. Raises Refused if the file cannot be understood."""
    _write_file(path, {**_read_file(path), name: value})


def _read_file(path: Path) -> Json:
    try:
        data = json.loads(path.read_text(encoding="utf-8-sig")) if path.exists() else {}
    except ValueError as error:
        raise Refused([f"{path} is not JSON and was not changed: {error}"]) from error
    if not isinstance(data, dict):
        raise Refused([f"{path} is not an object and was not changed"])
    return data


def _write_file(path: Path, data: Json) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    session_writer.replace(path, (json.dumps(data, indent=2, ensure_ascii=False) + "\n").encode())


def _saved_efforts(settings: Settings) -> dict[str, str]:
    """Return the efforts that settings give to single models."""
    saved = {}
    for name, own in as_object(settings.merged.get(MODEL_SETTINGS)).items():
        level = as_object(own).get(EFFORT_LEVEL)
        if level in EFFORTS:
            saved[known_name(name) or name] = level
    return saved
