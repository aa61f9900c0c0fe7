"""Translate tool calls of other programs to Claude Code tools with the same meaning.

A row maps the input names. A call with an input that no row knows is not translated: a model that reads it later
must see the actual call.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct, field

from clew.foreign.codex_patch import translate_patch
from clew.foreign.json_values import get_objects, get_text
from clew.wire.json_codec import Json

TranslatedCall = tuple[str, Json]

_INVALID_NAME = re.compile(r"[^A-Za-z0-9_-]")
_MAX_NAME = 128
_SHELLS = ("bash", "sh", "zsh", "/bin/bash", "/bin/sh", "/bin/zsh", "/usr/bin/bash", "/usr/bin/zsh")
_STATES = ("pending", "in_progress", "completed")
_PATHS = ("file_path", "path")


class ToolMapping(Struct, frozen=True):
    """The Claude Code name of a tool and of its inputs; `spare` inputs do not change what is done."""

    name: str
    inputs: Mapping[str, str]
    needs: tuple[str, ...]
    spare: frozenset[str] = field(default_factory=frozenset)


def _mapping(name: str, inputs: str, needs: str, spare: str = "") -> ToolMapping:
    """Build a mapping. Inputs are `theirs>ours`, or one name if both are equal."""
    pairs = (word.partition(">") for word in inputs.split())
    return ToolMapping(name, {old: new or old for old, _, new in pairs}, tuple(needs.split()), frozenset(spare.split()))


_READ = _mapping(
    "Read", "filePath>file_path absolute_path>file_path file_path path>file_path offset limit", "file_path"
)
_WRITE = _mapping(
    "Write", "filePath>file_path file_path path>file_path content", "file_path content", "modified_by_user"
)
_EDIT = _mapping(
    "Edit",
    "filePath>file_path file_path oldString>old_string newString>new_string old_string new_string "
    "replaceAll>replace_all allow_multiple>replace_all replace_all",
    "file_path old_string new_string",
    "instruction",
)
_GLOB = _mapping("Glob", "pattern path dir_path>path", "pattern")
_GREP = _mapping("Grep", "pattern path dir_path>path include>glob include_pattern>glob", "pattern")
_LIST = _mapping("LS", "path dir_path>path", "path")
_TASK = _mapping("Task", "description prompt subagent_type", "description prompt subagent_type")
_TABLE: Mapping[str, ToolMapping] = {
    "read": _READ,
    "read_file": _READ,
    "view_image": _READ,
    "write": _WRITE,
    "write_file": _WRITE,
    "save": _WRITE,
    "edit": _EDIT,
    "replace": _EDIT,
    "glob": _GLOB,
    "grep": _GREP,
    "search_file_content": _GREP,
    "grep_search": _GREP,
    "list": _LIST,
    "list_directory": _LIST,
    "google_web_search": _mapping("WebSearch", "query", "query"),
    "websearch": _mapping("WebSearch", "query", "query"),
    "task": _TASK,
}


def translate_call(name: str, arguments: Json, cwd: str) -> TranslatedCall:
    """Return the tool name and input for a call in a session."""
    translation = _SPECIAL[name](arguments, cwd) if name in _SPECIAL else _translate_by_table(name, arguments)
    if translation is None:
        return _INVALID_NAME.sub("_", name)[:_MAX_NAME] or "tool", arguments
    return translation[0], {
        key: _to_absolute(value, cwd) if key in _PATHS else value for key, value in translation[1].items()
    }


def _translate_by_table(name: str, arguments: Json) -> TranslatedCall | None:
    row = _TABLE.get(name)
    if row is None or not row.inputs.keys() | row.spare >= arguments.keys():
        return None
    translated = {row.inputs[key]: value for key, value in arguments.items() if key in row.inputs and value is not None}
    return (row.name, translated) if all(isinstance(translated.get(key), str) for key in row.needs) else None


def _to_absolute(path: Any, cwd: str) -> Any:
    is_relative = isinstance(path, str) and cwd and path and path[0] not in "/\\~" and path[1:2] != ":"
    return os.path.normpath(f"{cwd}/{path}") if is_relative else path


# -- shells


def _translate_shell(arguments: Json, cwd: str) -> TranslatedCall | None:
    command = arguments.get("command") or arguments.get("cmd") or arguments.get("code")
    if isinstance(command, list) and command and all(isinstance(word, str) for word in command):
        if command[0] == "apply_patch" and len(command) == 2:
            return translate_patch(command[1])
        is_wrapped = len(command) == 3 and command[0] in _SHELLS and command[1] in ("-lc", "-c", "-ic")
        command = command[2] if is_wrapped else shlex.join(command)
    if not isinstance(command, str) or not command.strip():
        return None
    folder = get_text(arguments, "workdir", "working_directory", "directory", "dir_path", "cwd")
    if folder and folder != "." and os.path.normpath(_to_absolute(folder, cwd)) != os.path.normpath(cwd):
        command = f"cd {shlex.quote(folder)} && {command}"
    bash_input: Json = {"command": command}
    if description := get_text(arguments, "description"):
        bash_input["description"] = description
    limit = arguments.get("timeout_ms", arguments.get("timeout"))
    if isinstance(limit, int) and not isinstance(limit, bool) and limit > 0:
        bash_input["timeout"] = limit
    return "Bash", bash_input


def _translate_patch_call(arguments: Json, cwd: str) -> TranslatedCall | None:
    return translate_patch(get_text(arguments, "input", "patch", "patchText"))


def _translate_todo_list(arguments: Json, cwd: str) -> TranslatedCall | None:
    """Translate a todo list; one with an unknown status is not translated."""
    todos = [
        {"content": label, "status": item["status"], "activeForm": label}
        for item in get_objects(arguments.get("plan") or arguments.get("todos"))
        if (label := get_text(item, "step", "content", "description")) and item.get("status") in _STATES
    ]
    count = len(arguments.get("plan") or arguments.get("todos") or [])
    return ("TodoWrite", {"todos": todos}) if todos and len(todos) == count else None


_SPECIAL: Mapping[str, Callable[[Json, str], TranslatedCall | None]] = {
    "shell": _translate_shell,
    "shell_command": _translate_shell,
    "local_shell": _translate_shell,
    "container.exec": _translate_shell,
    "exec_command": _translate_shell,
    "bash": _translate_shell,
    "run_shell_command": _translate_shell,
    "apply_patch": _translate_patch_call,
    "update_plan": _translate_todo_list,
    "todowrite": _translate_todo_list,
    "write_todos": _translate_todo_list,
}
