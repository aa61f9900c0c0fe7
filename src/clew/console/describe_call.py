"""Describe a call that needs the user's approval: complete, escaped, and independent of what else is on the screen."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from clew.chat.events import PermissionRequested
from clew.chat.tools.structured_patch import diff_hunks
from clew.console.menu import QuestionLine
from clew.facts.tool_catalog import objects, tool_name
from clew.system.environment import user_home
from clew.view.approval_text import escape, escape_line

_SHORT = 100  # characters of a reason or a task that stands before the subject
_LARGEST = 8 << 20  # bytes of a file that is compared with its new content
_FILES = {"Write": "file_path", "Edit": "file_path", "MultiEdit": "file_path", "NotebookEdit": "notebook_path"}
_TITLES = {
    "Bash": "Run this command?",
    "Edit": "Make this edit?",
    "MultiEdit": "Make these edits?",
    "Write": "Write this file?",
    "NotebookEdit": "Change this notebook?",
    "Read": "Read this file?",
    "WebFetch": "Fetch this page?",
    "WebSearch": "Search the web for this?",
    "ExitPlanMode": "Begin with this plan?",
}


def title(name: str) -> str:
    return _TITLES.get(name) or escape_line(f"Use {tool_name(name)}?")


def describe(told: PermissionRequested) -> list[QuestionLine]:
    """Everything that a user has to know to decide: who asks for what, where, and why."""
    asker = told.asker
    who = f"agent {asker.kind or 'general-purpose'}" if asker else "main conversation"
    made = [_fact("Tool", told.name), _fact("Asked by", who), _fact("Folder", short_path(told.folder))]
    reason = told.decision.reason.replace(f"{told.folder}/", "")
    texts = {"Reason": reason, "Agent's task": asker.description if asker else ""}
    facts = [_fact(name, text) for name, text in texts.items() if text]
    made += [fact for fact in facts if len(fact.text) <= _SHORT]
    made += _subject(told.name, told.input, Path(told.folder))
    return made + [fact for fact in facts if len(fact.text) > _SHORT]  # long ones must not push the subject away


def short_path(path: str) -> str:
    """A path with `~` for the home folder; no other absolute path begins with that."""
    home = user_home()
    return f"~{path[len(home) :]}" if path == home or path.startswith(f"{home}/") else path


def quoted(text: str, style: str = "") -> list[QuestionLine]:
    """A text of any length, line by line."""
    return [QuestionLine(line, "│", style) for line in escape(text).split("\n")]


def _fact(name: str, value: str) -> QuestionLine:
    return QuestionLine(escape_line(value), f"{name}:", "fact")


def _subject(name: str, given: Mapping[str, Any], folder: Path) -> Iterator[QuestionLine]:
    """The input of a call: its main part first, then every other argument."""
    shown: set[str] = set()
    if name in _FILES:
        shown |= {_FILES[name]}
        yield from _file(str(given.get(_FILES[name]) or ""), folder)
    main = {"Bash": "command", "ExitPlanMode": "plan"}.get(name)
    if main and isinstance(given.get(main), str):
        shown.add(main)
        yield from quoted(given[main])
    elif name in ("Write", "Edit", "MultiEdit") and (changes := _changes(name, given, folder)) is not None:
        shown |= {"content", "old_string", "new_string", "edits"}
        yield from changes
    others = {key: value for key, value in given.items() if key not in shown}
    if others:
        yield QuestionLine(
            "", "Arguments:" if not shown else "Other arguments:", "fact"
        )  # none of them can pass for a fact
    for key, value in others.items():
        yield from _argument(key, value)


def _file(path: str, folder: Path) -> Iterator[QuestionLine]:
    yield _fact("File", path)
    place = os.path.normpath(folder / Path(path).expanduser())
    if (real := os.path.realpath(place)) != place:
        yield _fact("Which leads to", real)


def _argument(key: str, value: Any) -> Iterator[QuestionLine]:
    name = escape_line(key if key.isidentifier() else json.dumps(key, ensure_ascii=False))
    if isinstance(value, str):
        if "\n" not in value:
            yield QuestionLine(escape(value), f"  {name}:", "fact")
            return
        text = value
    else:
        text = json.dumps(value, ensure_ascii=False, indent=2, default=str)
        if not isinstance(value, dict | list) or not value:
            yield QuestionLine(escape(text), f"  {name}:", "fact")
            return
    yield QuestionLine("", f"  {name}:", "fact")
    yield from quoted(text)


# -- changes of files


def _changes(name: str, given: Mapping[str, Any], folder: Path) -> list[QuestionLine] | None:
    """The change as a diff, or as the texts themselves where there is nothing to compare with."""
    edits: Sequence[Mapping[str, Any]] = objects(given.get("edits")) if name == "MultiEdit" else [given]
    keys = ("content",) if name == "Write" else ("old_string", "new_string")
    if not edits or not all(isinstance(edit.get(key), str) for edit in edits for key in keys):
        return None  # not what the tool expects: every argument is shown as it is
    before = _content(folder / Path(str(given.get("file_path") or "")).expanduser())
    if name == "Write":
        after = str(given["content"])
        if before is None:
            return [*_note("The file does not exist, or cannot be compared. Its whole content would be:"), *_new(after)]
        return _diff(before, after) or _note("The file would stay as it is.")
    text = before or ""
    for edit in edits:
        if edit["old_string"] not in text:
            return _apart(edits)
        count = -1 if edit.get("replace_all") else 1
        text = text.replace(edit["old_string"], edit["new_string"], count)
    return _diff(before or "", text) or _apart(edits)


def _note(text: str) -> list[QuestionLine]:
    return [QuestionLine(text, "", "note")]


def _apart(edits: Sequence[Mapping[str, Any]]) -> list[QuestionLine]:
    """Edits that cannot be shown in their place: what is looked for, and what would replace it."""
    made = _note("The text to replace was not found by a comparison. What would be replaced by what:")
    for edit in edits:
        made += [QuestionLine(line, "-", "removed") for line in escape(edit["old_string"]).split("\n")]
        made += [QuestionLine(line, "+", "added") for line in escape(edit["new_string"]).split("\n")]
        made += _note("Every occurrence is replaced.") if edit.get("replace_all") else []
    return made


def _new(text: str) -> list[QuestionLine]:
    lines = escape(text).removesuffix("\n").split("\n") if text else []
    return [QuestionLine(line, f"{number:>4} +", "added") for number, line in enumerate(lines, 1)]


def _diff(before: str, after: str) -> list[QuestionLine]:
    """The hunks with line numbers. What a comparison by lines does not see (the last newline) is said."""
    made: list[QuestionLine] = []
    for hunk in diff_hunks(before, after):
        old, new = hunk["oldStart"], hunk["newStart"]
        made += [QuestionLine("", "   ⋮")] if made else []
        for line in hunk["lines"]:
            sign = line[0]
            made.append(QuestionLine(escape(line[1:]), f"{old if sign == '-' else new:>4} {sign}", _SIGNS[sign]))
            old += sign != "+"
            new += sign != "-"
    if before.endswith("\n") != after.endswith("\n") and before and after:
        made += _note(f"The last line would end {'with' if after.endswith(chr(10)) else 'without'} a newline.")
    return made


_SIGNS = {"+": "added", "-": "removed", " ": ""}


def _content(path: Path) -> str | None:
    """The text of a file; None if it cannot be read or compared."""
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST:
            return None
        return path.read_bytes().decode("utf-8").replace("\r\n", "\n")  # the tools keep the line ends of a file
    except (OSError, ValueError):
        return None
