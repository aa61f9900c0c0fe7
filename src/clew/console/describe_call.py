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
from clew.view.approval_text import escape, escape_line
from clew.view.sanitize import short_path

_MAX_SHORT_FACT = 100  # characters; a longer reason or task is shown after the input
_MAX_INLINE_JSON = 60  # characters; a longer list or object is shown on several lines
_MAX_COMPARED_BYTES = 8 << 20  # larger files are not compared with their new content
_PATH_FIELDS = {"Write": "file_path", "Edit": "file_path", "MultiEdit": "file_path", "NotebookEdit": "notebook_path"}
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


def describe(request: PermissionRequested) -> list[QuestionLine]:
    """Return everything that the user needs to decide: who makes which call, where, and why."""
    asker = request.asker
    who = f"agent {asker.kind or 'general-purpose'}" if asker else "main conversation"
    lines = [
        _fact_line("Tool", request.name, is_context=True),
        _fact_line("Asked by", who, is_context=asker is None),
        _fact_line("Folder", short_path(request.folder), is_context=True),
    ]
    reason = request.decision.reason.replace(f"{request.folder}/", "")
    texts = {"Reason": reason, "Agent's task": asker.description if asker else ""}
    facts = [_fact_line(name, text, is_context=name == "Reason") for name, text in texts.items() if text]
    lines += [fact for fact in facts if len(fact.text) <= _MAX_SHORT_FACT]
    lines += _input_lines(request.name, request.input, Path(request.folder))
    return lines + [
        fact for fact in facts if len(fact.text) > _MAX_SHORT_FACT
    ]  # long ones must not push the subject away


def quote_lines(text: str, style: str = "", indent: str = "") -> list[QuestionLine]:
    """Return a text of any length, line by line."""
    return [QuestionLine(line, f"{indent}│", style) for line in escape(text).split("\n")]


def _fact_line(name: str, value: str, is_context: bool = False) -> QuestionLine:
    return QuestionLine(escape_line(value), f"{name}:", "fact", is_context)


def _input_lines(name: str, call_input: Mapping[str, Any], folder: Path) -> Iterator[QuestionLine]:
    """Yield the input of a call: its main part first, then every other argument."""
    shown: set[str] = set()
    if name in _PATH_FIELDS:
        shown |= {_PATH_FIELDS[name]}
        yield from _file_lines(str(call_input.get(_PATH_FIELDS[name]) or ""), folder)
    main = {"Bash": "command", "ExitPlanMode": "plan"}.get(name)
    if main and isinstance(call_input.get(main), str):
        shown.add(main)
        yield from quote_lines(call_input[main])
        if name == "Bash" and isinstance(call_input.get("description"), str):
            shown.add("description")
            yield _fact_line("Model's note", call_input["description"])
    elif name in ("Write", "Edit", "MultiEdit") and (changes := _change_lines(name, call_input, folder)) is not None:
        shown |= {"content", "old_string", "new_string", "edits"}
        yield from changes
    unset = {"replace_all"} if name == "Edit" and call_input.get("replace_all") is False else set()  # the default
    others = {key: value for key, value in call_input.items() if key not in shown | unset}
    if others:
        yield QuestionLine(
            "", "Arguments:" if not shown else "Other arguments:", "fact"
        )  # none of them can pass for a fact
    for key, value in others.items():
        yield from _argument_lines(key, value)


def _file_lines(path: str, folder: Path) -> Iterator[QuestionLine]:
    absolute = os.path.normpath(folder / Path(path).expanduser())
    is_below = path == absolute and path.startswith(f"{folder}/")
    yield _fact_line("File", path[len(f"{folder}/") :] if is_below else short_path(path))
    if (real := os.path.realpath(absolute)) != absolute:
        yield _fact_line("Which leads to", real)


def _argument_lines(key: str, value: Any) -> Iterator[QuestionLine]:
    name = escape_line(key if key.isidentifier() else json.dumps(key, ensure_ascii=False))
    if isinstance(value, str):
        if "\n" not in value:
            yield QuestionLine(escape(value), f"  {name}:", "fact")
            return
        text = value
    else:
        text = json.dumps(value, ensure_ascii=False, default=str)
        if not isinstance(value, dict | list) or len(text) <= _MAX_INLINE_JSON:
            yield QuestionLine(escape(text), f"  {name}:", "fact")
            return
        text = json.dumps(value, ensure_ascii=False, indent=2, default=str)
    yield QuestionLine("", f"  {name}:", "fact")
    yield from quote_lines(text, indent="    ")


# -- changes of files


def _change_lines(name: str, call_input: Mapping[str, Any], folder: Path) -> list[QuestionLine] | None:
    """Return the change as a diff, or the texts themselves if there is nothing to compare with."""
    edits: Sequence[Mapping[str, Any]] = objects(call_input.get("edits")) if name == "MultiEdit" else [call_input]
    keys = ("content",) if name == "Write" else ("old_string", "new_string")
    if not edits or not all(isinstance(edit.get(key), str) for edit in edits for key in keys):
        return None  # not what the tool expects: every argument is shown as it is
    before = _read_text(folder / Path(str(call_input.get("file_path") or "")).expanduser())
    if name == "Write":
        after = str(call_input["content"])
        if before is None:
            return [
                *_note_lines("The file does not exist, or cannot be compared. Its whole content would be:"),
                *_new_file_lines(after),
            ]
        return _diff_lines(before, after) or _note_lines("The file would stay as it is.")
    text = before or ""
    for edit in edits:
        if edit["old_string"] not in text:
            return _unplaced_edits(edits)
        count = -1 if edit.get("replace_all") else 1
        text = text.replace(edit["old_string"], edit["new_string"], count)
    return _diff_lines(before or "", text) or _unplaced_edits(edits)


def _note_lines(text: str) -> list[QuestionLine]:
    return [QuestionLine(text, "", "note")]


def _unplaced_edits(edits: Sequence[Mapping[str, Any]]) -> list[QuestionLine]:
    """Return edits that do not match the file: the text to replace and its replacement."""
    lines = _note_lines("The text to replace was not found by a comparison. What would be replaced by what:")
    for edit in edits:
        lines += [QuestionLine(line, "-", "removed") for line in escape(edit["old_string"]).split("\n")]
        lines += [QuestionLine(line, "+", "added") for line in escape(edit["new_string"]).split("\n")]
        lines += _note_lines("Every occurrence is replaced.") if edit.get("replace_all") else []
    return lines


def _new_file_lines(text: str) -> list[QuestionLine]:
    lines = escape(text).removesuffix("\n").split("\n") if text else []
    return [QuestionLine(line, f"{number:>4} +", "added") for number, line in enumerate(lines, 1)]


def _diff_lines(before: str, after: str) -> list[QuestionLine]:
    """Return the hunks with line numbers, and a note if only the final newline changes."""
    lines: list[QuestionLine] = []
    for hunk in diff_hunks(before, after):
        old, new = hunk["oldStart"], hunk["newStart"]
        lines += [QuestionLine("", "   ⋮")] if lines else []
        for line in hunk["lines"]:
            sign = line[0]
            lines.append(QuestionLine(escape(line[1:]), f"{old if sign == '-' else new:>4} {sign}", _SIGNS[sign]))
            old += sign != "+"
            new += sign != "-"
    if before.endswith("\n") != after.endswith("\n") and before and after:
        lines += _note_lines(f"The last line would end {'with' if after.endswith(chr(10)) else 'without'} a newline.")
    return lines


_SIGNS = {"+": "added", "-": "removed", " ": ""}


def _read_text(path: Path) -> str | None:
    """Return the text of a file; None if it cannot be read or compared."""
    try:
        if not path.is_file() or path.stat().st_size > _MAX_COMPARED_BYTES:
            return None
        return path.read_bytes().decode("utf-8").replace("\r\n", "\n")  # the tools keep the line ends of a file
    except (OSError, ValueError):
        return None
