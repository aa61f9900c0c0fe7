"""NotebookEdit: one cell changed, the rest of the file as it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clew.chat.tools.builtin.notebook import NOTEBOOK_EDIT
from clew.chat.tools.builtin.read_file import READ
from clew.chat.tools.tool import ToolContext
from tests.chat.tools.tool_fixture import good, misuse, run, stage

BOOK: dict[str, Any] = {
    "cells": [
        {"cell_type": "markdown", "id": "m", "metadata": {}, "source": ["# Grün\n", "x"]},
        {
            "cell_type": "code",
            "execution_count": 3,
            "id": "c1",
            "metadata": {"odd": 1.5},
            "outputs": [{"output_type": "stream", "name": "stdout", "text": "1"}],
            "source": "print(1)",
        },
    ],
    "zzz": None,
    "metadata": {"language_info": {"name": "julia"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}


@pytest.fixture
def scene(tmp_path: Path) -> ToolContext:
    scene = stage(tmp_path)
    write(scene, json.dumps(BOOK, indent=1, ensure_ascii=False) + "\n")
    return scene


def write(scene: ToolContext, text: str) -> Path:
    path = scene.state.cwd / "a.ipynb"
    path.write_bytes(text.encode())
    run(READ, scene, file_path="a.ipynb")
    return path


def test_a_cell_is_replaced_and_what_it_had_put_out_goes(scene: ToolContext) -> None:
    path = scene.state.cwd / "a.ipynb"
    before = path.read_text()
    result = run(NOTEBOOK_EDIT, scene, notebook_path="a.ipynb", cell_id="c1", new_source="print(2)")
    assert result.content == "Updated cell c1 with print(2)"
    cell = {**BOOK["cells"][1], "source": "print(2)", "execution_count": None, "outputs": []}
    expected = json.dumps({**BOOK, "cells": [BOOK["cells"][0], cell]}, indent=1, ensure_ascii=False) + "\n"
    assert path.read_text() == expected
    assert result.detail == {
        "new_source": "print(2)",
        "cell_type": "code",
        "language": "julia",
        "edit_mode": "replace",
        "cell_id": "c1",
        "error": "",
        "notebook_path": str(path),
        "original_file": before,
        "updated_file": expected,
    }


def test_cells_are_inserted_and_deleted(scene: ToolContext) -> None:
    path = scene.state.cwd / "a.ipynb"
    result = run(
        NOTEBOOK_EDIT,
        scene,
        notebook_path="a.ipynb",
        cell_id="m",
        new_source="a\nb",
        cell_type="code",
        edit_mode="insert",
    )
    cells = json.loads(path.read_text())["cells"]
    assert [c["id"] for c in cells] == ["m", result.detail["cell_id"], "c1"]
    assert cells[1]["source"] == ["a\n", "b"]
    assert cells[1]["outputs"] == []
    run(NOTEBOOK_EDIT, scene, notebook_path="a.ipynb", new_source="top", cell_type="markdown", edit_mode="insert")
    assert json.loads(path.read_text())["cells"][0]["source"] == ["top"]
    result = run(NOTEBOOK_EDIT, scene, notebook_path="a.ipynb", cell_id="m", new_source="", edit_mode="delete")
    assert result.content == "Deleted cell m"
    assert [c["cell_type"] for c in json.loads(path.read_text())["cells"]] == ["markdown", "code", "code"]


def test_style_line_ends_and_cells_without_ids(scene: ToolContext) -> None:
    old = {"cells": [{"cell_type": "code", "metadata": {}, "outputs": [], "source": []}], "nbformat": 4}
    path = write(scene, json.dumps(old, indent=4).replace("\n", "\r\n"))
    assert good(
        run(NOTEBOOK_EDIT, scene, notebook_path="a.ipynb", cell_id="cell-0", new_source="é", cell_type="markdown")
    )
    cell = {"cell_type": "markdown", "metadata": {}, "source": ["é"]}
    expected = json.dumps({"cells": [cell], "nbformat": 4}, indent=4, ensure_ascii=False)
    assert path.read_bytes() == expected.replace("\n", "\r\n").encode()
    write(scene, json.dumps(old))
    run(NOTEBOOK_EDIT, scene, notebook_path="a.ipynb", new_source="x", cell_type="code", edit_mode="insert")
    assert "\n" not in path.read_text()
    assert "id" not in json.loads(path.read_text())["cells"][0]


def test_what_cannot_be_done(scene: ToolContext) -> None:
    def told(**input: str) -> str:
        return misuse(run(NOTEBOOK_EDIT, scene, **{"notebook_path": "a.ipynb", "new_source": "x", **input}))

    assert told(cell_id="nope") == 'Cell with ID "nope" not found in notebook.'
    assert told(cell_id="cell-7") == 'Cell with ID "cell-7" not found in notebook.'
    assert told().startswith("Cell ID must be specified")
    assert told(edit_mode="insert").startswith("Cell type is required")
    assert told(notebook_path="a.py").startswith("File must be a Jupyter notebook")
    assert told(notebook_path="b.ipynb").startswith("File does not exist.")
    assert "must be one of" in told(edit_mode="paint")
    path = scene.state.cwd / "a.ipynb"
    path.write_text("{}")
    assert told(cell_id="m").startswith("File has been modified since it was read")
    scene.state.seen.clear()
    assert told(cell_id="m").startswith("File has not been read yet.")
