"""Tools of other programs under the names of Claude Code's, where both mean the same.

A row says which inputs have which name there. A call with an input that no row knows stays as it was: a model that reads it
later should see what was really asked.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from clew.foreign.codex_patch import patched
from clew.foreign.json_values import objects, text
from clew.wire.json_codec import Json

Made = tuple[str, Json]

_ODD = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST = 128
_SHELLS = ("bash", "sh", "zsh", "/bin/bash", "/bin/sh", "/bin/zsh", "/usr/bin/bash", "/usr/bin/zsh")
_STATES = ("pending", "in_progress", "completed")
_PATHS = ("file_path", "path")


@dataclass(frozen=True, slots=True)
class ToolMapping:
    """Claude Code's name of a tool, and of its inputs; `spare` are inputs that change nothing of what is done."""

    name: str
    inputs: Mapping[str, str]
    needs: tuple[str, ...]
    spare: frozenset[str] = field(default_factory=frozenset)


def _row(name: str, inputs: str, needs: str, spare: str = "") -> ToolMapping:
    """Inputs as `theirs>ours`, or one word where both are the same."""
    pairs = (word.partition(">") for word in inputs.split())
    return ToolMapping(name, {old: new or old for old, _, new in pairs}, tuple(needs.split()), frozenset(spare.split()))


_READ = _row("Read", "filePath>file_path absolute_path>file_path file_path path>file_path offset limit", "file_path")
_WRITE = _row("Write", "filePath>file_path file_path path>file_path content", "file_path content", "modified_by_user")
_EDIT = _row(
    "Edit",
    "filePath>file_path file_path oldString>old_string newString>new_string old_string new_string "
    "replaceAll>replace_all allow_multiple>replace_all replace_all",
    "file_path old_string new_string",
    "instruction",
)
_GLOB = _row("Glob", "pattern path dir_path>path", "pattern")
_GREP = _row("Grep", "pattern path dir_path>path include>glob include_pattern>glob", "pattern")
_LIST = _row("LS", "path dir_path>path", "path")
_TASK = _row("Task", "description prompt subagent_type", "description prompt subagent_type")
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
    "google_web_search": _row("WebSearch", "query", "query"),
    "websearch": _row("WebSearch", "query", "query"),
    "task": _TASK,
}


def translated(name: str, given: Json, cwd: str) -> Made:
    """The name and input that a call has in a session."""
    found = _SPECIAL[name](given, cwd) if name in _SPECIAL else _by_table(name, given)
    if found is None:
        return _ODD.sub("_", name)[:_LONGEST] or "tool", given
    return found[0], {key: _absolute(value, cwd) if key in _PATHS else value for key, value in found[1].items()}


def _by_table(name: str, given: Json) -> Made | None:
    row = _TABLE.get(name)
    if row is None or not row.inputs.keys() | row.spare >= given.keys():
        return None
    made = {row.inputs[key]: value for key, value in given.items() if key in row.inputs and value is not None}
    return (row.name, made) if all(isinstance(made.get(key), str) for key in row.needs) else None


def _absolute(path: Any, cwd: str) -> Any:
    is_relative = isinstance(path, str) and cwd and path and path[0] not in "/\\~" and path[1:2] != ":"
    return os.path.normpath(f"{cwd}/{path}") if is_relative else path


# -- shells


def _shell(given: Json, cwd: str) -> Made | None:
    command = given.get("command") or given.get("cmd") or given.get("code")
    if isinstance(command, list) and command and all(isinstance(word, str) for word in command):
        if command[0] == "apply_patch" and len(command) == 2:
            return patched(command[1])
        is_wrapped = len(command) == 3 and command[0] in _SHELLS and command[1] in ("-lc", "-c", "-ic")
        command = command[2] if is_wrapped else shlex.join(command)
    if not isinstance(command, str) or not command.strip():
        return None
    where = text(given, "workdir", "working_directory", "directory", "dir_path", "cwd")
    if where and where != "." and os.path.normpath(_absolute(where, cwd)) != os.path.normpath(cwd):
        command = f"cd {shlex.quote(where)} && {command}"
    made: Json = {"command": command}
    if description := text(given, "description"):
        made["description"] = description
    limit = given.get("timeout_ms", given.get("timeout"))
    if isinstance(limit, int) and not isinstance(limit, bool) and limit > 0:
        made["timeout"] = limit
    return "Bash", made


def _patch(given: Json, cwd: str) -> Made | None:
    return patched(text(given, "input", "patch", "patchText"))


def _plan(given: Json, cwd: str) -> Made | None:
    """A list of things to do; one with a state of its own is left as it was."""
    todos = [
        {"content": words, "status": item["status"], "activeForm": words}
        for item in objects(given.get("plan") or given.get("todos"))
        if (words := text(item, "step", "content", "description")) and item.get("status") in _STATES
    ]
    count = len(given.get("plan") or given.get("todos") or [])
    return ("TodoWrite", {"todos": todos}) if todos and len(todos) == count else None


_SPECIAL: Mapping[str, Callable[[Json, str], Made | None]] = {
    "shell": _shell,
    "shell_command": _shell,
    "local_shell": _shell,
    "container.exec": _shell,
    "exec_command": _shell,
    "bash": _shell,
    "run_shell_command": _shell,
    "apply_patch": _patch,
    "update_plan": _plan,
    "todowrite": _plan,
    "write_todos": _plan,
}
