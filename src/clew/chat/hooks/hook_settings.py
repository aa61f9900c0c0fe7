"""Read hooks from settings and plugins."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from clew.chat.config.settings import SettingsSource, as_object, as_strings
from clew.chat.hooks.hook import EVENTS, NOT_RAISED, TIMEOUT, Hook, Kind
from clew.wire.json_codec import Json

# The field of the settings that says what a hook of this kind runs.
_MAIN_FIELDS: dict[str, str] = {
    "command": "command",
    "http": "url",
    "prompt": "prompt",
    "agent": "prompt",
    "mcp_tool": "tool",
}


def read_hooks(
    source: SettingsSource, where: str, notices: list[str], variables: Mapping[str, str] | None = None
) -> Iterator[Hook]:
    """Yield the hooks of a source; `where` names it in notices, `variables` are added to their environment."""
    for event, groups in as_object(source.data.get("hooks")).items():
        if event not in EVENTS:
            why = "clew does not raise the hook event" if event in NOT_RAISED else "unknown hook event"
            notices.append(f"{where}: {why} {event}; its hooks are not run.")
            continue
        for group in groups if isinstance(groups, list) else ():
            matcher = str(as_object(group).get("matcher") or "")
            if not _is_pattern(matcher):
                notices.append(f"{where}: the matcher {matcher!r} of {event} is not a pattern; its hooks are not run.")
                continue
            stated = as_object(group).get("hooks")
            for fields in map(as_object, stated if isinstance(stated, list) else ()):
                hook = _read(event, matcher, fields, variables or {})
                if hook is None:
                    kind = fields.get("type", "command")
                    what = (
                        "is not complete"
                        if kind in _MAIN_FIELDS
                        else f"is of the type {kind}, which clew does not know"
                    )
                    notices.append(f"{where}: a hook of {event} {what}; it is not run.")
                    continue
                yield hook


def _read(event: str, matcher: str, fields: Json, variables: Mapping[str, str]) -> Hook | None:
    kind: Any = fields.get("type", "command")
    main = fields.get(_MAIN_FIELDS.get(kind, ""))
    if not isinstance(main, str) or not main.strip():
        return None
    if kind == "mcp_tool" and not isinstance(fields.get("server"), str):
        return None
    chosen: Kind = kind
    timeout: Any = fields.get("timeout")
    is_number = isinstance(timeout, int | float) and not isinstance(timeout, bool) and timeout > 0
    arguments = as_strings(fields.get("args"))
    if kind == "command" and arguments:
        main = shlex.join([main, *(_fill(argument, variables) for argument in arguments)])
    condition = fields.get("if")
    return Hook(
        event,
        main,
        matcher,
        float(timeout) if is_number else TIMEOUT,
        fields.get("onFailure") == "block",
        chosen,
        {} if kind == "command" else fields,
        variables,
        bool(fields.get("async")) and not fields.get("asyncRewake"),  # the model must hear of a failure of that
        condition if isinstance(condition, str) else "",
    )


def _fill(text: str, variables: Mapping[str, str]) -> str:
    for name, value in variables.items():
        text = text.replace(f"${{{name}}}", value)
    return text


def _is_pattern(text: str) -> bool:
    try:
        re.compile(text if text != "*" else "")
    except re.error:
        return False
    return True
