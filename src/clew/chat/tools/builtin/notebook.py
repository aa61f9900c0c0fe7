"""Show notebooks for Read, and implement NotebookEdit; keys, their order and the indentation are kept."""

from __future__ import annotations

import json
import re
import secrets
from pathlib import Path
from typing import Any

from clew.api.token_estimate import estimate_tokens
from clew.chat.tools import read_tracking
from clew.chat.tools.atomic_files import read_content, write_file
from clew.chat.tools.image_files import image_block
from clew.chat.tools.path_arguments import missing_file_error, os_error, resolve_argument
from clew.chat.tools.text_encoding import Text, convert_line_ends, decode, encode
from clew.chat.tools.tool import CallResult, ToolContext, ToolFailed
from clew.chat.tools.tool_spec import TEXT, SpecTool, enum_schema, object_schema, optional_field, required_field
from clew.wire.json_codec import Json

_LONGEST = 10_000  # characters of an output that are shown
_INDENT = re.compile(r'^\{\r?\n([ \t]+)"')


def notebook_result(path: Path, data: bytes, most: int) -> CallResult:
    """Return a notebook for the model: each cell in tags, followed by its output."""
    book, _ = _parse_notebook(path, data)
    language = _language(book)
    cells = [_cell(cell, number, language) for number, cell in enumerate(book["cells"])]
    parts = [part for cell in cells for part in _parts(cell, language)]
    blocks: list[Json] = []
    for part in parts:
        if blocks and part["type"] == blocks[-1]["type"] == "text":
            blocks[-1] = {"type": "text", "text": f"{blocks[-1]['text']}\n\n{part['text']}"}
        else:
            blocks.append(part)
    if (count := estimate_tokens(blocks)) > most:
        raise ToolFailed(
            f"File content ({count} tokens) exceeds maximum allowed tokens ({most}). "
            "Look at single cells with Bash, such as jq '.cells[0].source'.",
            is_misuse=False,
        )
    content = blocks or "The notebook has no cells."
    return CallResult(content, {"type": "notebook", "file": {"filePath": str(path), "cells": cells}})


def _parse_notebook(path: Path, data: bytes) -> tuple[Json, Text]:
    """Return the notebook and the text that it was parsed from. Raises ToolFailed."""
    text = decode(data)
    try:
        book: Json = json.loads(text.raw) if text else {}
    except (ValueError, RecursionError):
        text = None
    if text is None:
        raise ToolFailed(f"{path} is not valid JSON, so it cannot be a notebook.")
    cells = book.get("cells") if isinstance(book, dict) else None
    if not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cells):
        raise ToolFailed(f"{path} has no list of cells, so it is not a notebook.")
    return book, text


def _language(book: Json) -> str:
    about = book.get("metadata")
    info = about.get("language_info") if isinstance(about, dict) else None
    name = info.get("name") if isinstance(info, dict) else None
    return name if isinstance(name, str) else "python"


def _join_lines(value: Any) -> str:
    """Return a text that notebooks store as a string or as a list of lines."""
    return "".join(map(str, value)) if isinstance(value, list) else str(value or "")


def _cell(cell: Json, number: int, language: str) -> Json:
    cell_json: Json = {
        "cellType": cell.get("cell_type", "code"),
        "source": _join_lines(cell.get("source")),
        "cell_id": str(cell.get("id") or f"cell-{number}"),
    }
    if cell_json["cellType"] == "code":
        cell_json["language"] = language
        if cell.get("execution_count") is not None:
            cell_json["execution_count"] = cell["execution_count"]
        outputs = cell.get("outputs")
        if isinstance(outputs, list) and outputs:
            cell_json["outputs"] = [_output(output) for output in outputs if isinstance(output, dict)]
    return cell_json


def _output(output: Json) -> Json:
    kind = output.get("output_type")
    output_json: Json = {"output_type": kind}
    data = output.get("data")
    if kind == "stream":
        output_json["text"] = _bounded(_join_lines(output.get("text")))
    elif kind == "error":
        trace = output.get("traceback")
        lines = "\n".join(map(str, trace)) if isinstance(trace, list) else ""
        output_json["text"] = _bounded(f"{output.get('ename')}: {output.get('evalue')}\n{lines}".rstrip())
    elif isinstance(data, dict):
        output_json["text"] = _bounded(_join_lines(data.get("text/plain")))
        for picture in ("image/png", "image/jpeg"):
            if picture in data:
                output_json["image"] = {
                    "image_data": "".join(_join_lines(data[picture]).split()),
                    "media_type": picture,
                }
                break
    return output_json


def _bounded(text: str) -> str:
    if len(text) <= _LONGEST:
        return text
    return f"{text[:_LONGEST]}\n[{len(text) - _LONGEST} more characters]"


def _parts(cell: Json, language: str) -> list[Json]:
    name, kind = cell["cell_id"], cell["cellType"]
    about = "" if kind == "code" else f"<cell_type>{kind}</cell_type>"
    about += f"<language>{language}</language>" if kind == "code" and language != "python" else ""
    parts: list[Json] = [{"type": "text", "text": f'<cell id="{name}">{about}{cell["source"]}</cell id="{name}">'}]
    for output in cell.get("outputs", ()):
        if output.get("text"):
            parts.append({"type": "text", "text": output["text"]})
        if image := output.get("image"):
            parts.append(image_block(image["media_type"], image["image_data"]))
    return parts


def prepare_edit(input: Json, scene: ToolContext) -> tuple[Json, Text, str, str]:
    """Return the changed notebook, its text before, and the id and type of the cell. Raises ToolFailed."""
    path = resolve_argument(input["notebook_path"], scene.state)
    if path.suffix.lower() != ".ipynb":
        raise ToolFailed("File must be a Jupyter notebook (.ipynb file). Use Edit for other files.")
    mode, kind = input.get("edit_mode", "replace"), input.get("cell_type")
    if mode == "insert" and kind is None:
        raise ToolFailed("Cell type is required when a cell is inserted.")
    try:
        content = read_content(path)
    except (FileNotFoundError, NotADirectoryError):
        raise missing_file_error(path, scene.state) from None
    except OSError as error:
        raise os_error(error, path, "read") from error
    read_tracking.require_read(path, content, scene.state)
    book, original = _parse_notebook(path, content.data)
    return book, original, *_apply_change(book, input, mode, kind)


async def edit(input: Json, scene: ToolContext) -> CallResult:
    path, mode = resolve_argument(input["notebook_path"], scene.state), input.get("edit_mode", "replace")
    book, original, name, kind = prepare_edit(input, scene)
    after = _serialize(book, original.plain)
    write_file(path, encode(original, convert_line_ends(after, original.line_end), path), scene)
    verb = {"replace": "Updated", "insert": "Inserted", "delete": "Deleted"}[mode]
    detail = {
        "new_source": input["new_source"],
        "cell_type": kind,
        "language": _language(book),
        "edit_mode": mode,
        "cell_id": name,
        "error": "",
        "notebook_path": str(path),
        "original_file": original.plain,
        "updated_file": after,
    }
    return CallResult(f"{verb} cell {name}" + ("" if mode == "delete" else f" with {input['new_source']}"), detail)


def _apply_change(book: Json, input: Json, mode: str, kind: str | None) -> tuple[str, str]:
    """Change the notebook in place. Return the id and the type of the cell."""
    cells = book["cells"]
    asked = input.get("cell_id")
    if asked is None and mode != "insert":
        raise ToolFailed("Cell ID must be specified unless a cell is inserted.")
    at = -1 if asked is None else _find_cell(cells, asked)
    if mode == "insert":
        cell: Json = {"cell_type": kind}
        if _has_ids(book):
            cell["id"] = secrets.token_hex(4)
        cell["metadata"] = {}
        cells.insert(at + 1, cell)
        at += 1
        _set_source(cell, input["new_source"], is_listed=True)
    elif mode == "delete":
        cell = cells.pop(at)
    else:
        cell = cells[at]
        cell["cell_type"] = kind or cell.get("cell_type", "code")
        _set_source(cell, input["new_source"], is_listed=not isinstance(cell.get("source"), str))
    return str(cell.get("id") or f"cell-{at}"), str(cell.get("cell_type", "code"))


def _has_ids(book: Json) -> bool:
    """Return True if cells of this format version have ids."""
    version = [book.get("nbformat"), book.get("nbformat_minor")]
    return all(isinstance(part, int) for part in version) and version >= [4, 5]


def _find_cell(cells: list[Json], asked: str) -> int:
    """Return the index of the cell with this id; `cell-3` also denotes the fourth cell."""
    for number, cell in enumerate(cells):
        if cell.get("id") == asked:
            return number
    place = re.fullmatch(r"cell-(\d{1,6})", asked)
    if place and int(place[1]) < len(cells):
        return int(place[1])
    raise ToolFailed(f'Cell with ID "{asked}" not found in notebook.')


def _set_source(cell: Json, source: str, is_listed: bool) -> None:
    """Set the source of a cell and clear its outputs, which no longer apply."""
    cell["source"] = source.splitlines(keepends=True) if is_listed else source
    if cell["cell_type"] == "code":
        cell["execution_count"] = None
        cell["outputs"] = []
    else:
        cell.pop("execution_count", None)
        cell.pop("outputs", None)


def _serialize(book: Json, before: str) -> str:
    """Return the notebook as text, in the style of the file."""
    indent = _INDENT.match(before)
    style: Any = indent[1] if indent else None if "\n" not in before.strip() else 1
    text = json.dumps(book, indent=style, ensure_ascii=before.isascii() and "\\u" in before)
    return text + ("\n" if before.endswith("\n") else "")


NOTEBOOK_EDIT = SpecTool(
    "NotebookEdit",
    "Replace, insert or delete one cell of a Jupyter notebook that was read before. An inserted cell comes after the "
    "cell of that id, or first of all.",
    object_schema(
        notebook_path=required_field(TEXT, "The absolute path of the notebook"),
        cell_id=optional_field(TEXT, "The id of the cell"),
        new_source=required_field(TEXT, "The new source of the cell"),
        cell_type=optional_field(enum_schema("code", "markdown"), "What kind of cell; needed for insert"),
        edit_mode=optional_field(enum_schema("replace", "insert", "delete"), "What to do; replace if not given"),
    ),
    edit,
    precondition=prepare_edit,
)
