"""Which mutations there are, and how one is applied to a process."""

from __future__ import annotations

import csv
import importlib
import os
import subprocess
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.mutations.patch import Patch

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
TABLE = FOLDER.with_suffix(".tsv")
HOOK = FOLDER / "hook"
FRAME = {"__init__", "__main__", "patch", "registry", "runner"}
NAME, LOG = "CLEW_MUTATION", "CLEW_MUTATION_LOG"
NOTHING = "nothing"

Function = Callable[[Patch], None]


@dataclass(frozen=True, slots=True)
class Mutation:
    """`name` is the area and the function: `layout.history_is_searched`."""

    number: str
    name: str
    sentence: str
    function: Function


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table: the test that fails under a mutation."""

    number: str
    mutation: str
    test: str


_FOUND: dict[tuple[str, str], Mutation] = {}


def violates(number: str, sentence: str) -> Callable[[Function], Function]:
    """Register a mutation of a requirement. `sentence` says what clew does wrong under it."""

    def register(function: Function) -> Function:
        name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
        if (number, name) in _FOUND and _FOUND[number, name].function.__code__ != function.__code__:
            raise ValueError(f"{name} is defined twice for {number}")
        _FOUND[number, name] = Mutation(number, name, sentence, function)
        return function

    return register


def areas() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in FRAME)


def mutations() -> list[Mutation]:
    """All of them, by number and name."""
    for area in areas():
        importlib.import_module(f"tests.mutations.{area}")
    return [_FOUND[key] for key in sorted(_FOUND)]


def rows() -> list[Row]:
    if not TABLE.exists():
        return []
    with TABLE.open(encoding="utf-8", newline="") as file:
        return [Row(**row) for row in csv.DictReader(file, delimiter="\t") if row["number"] != "number"]


def save(found: list[Row]) -> None:
    text = ["number\tmutation\ttest", *(f"{row.number}\t{row.mutation}\t{row.test}" for row in found)]
    TABLE.write_text("\n".join(text) + "\n", encoding="utf-8")


def apply(name: str) -> None:
    """Change this process and every Python process that it starts. `NOTHING` changes nothing, by the same means."""
    _reach_children()
    os.environ[NAME] = name
    if name == NOTHING:
        mutations()
        return
    area, _, title = name.partition(".")
    module = importlib.import_module(f"tests.mutations.{area}")
    getattr(module, title)(Patch(_reached, _crashed))


def _log(text: str) -> None:
    if os.environ.get(LOG):
        with open(os.environ[LOG], "a", encoding="utf-8") as file:
            file.write(text + "\n")


_SEEN: list[bool] = []


def _reached() -> None:
    if not _SEEN:
        _SEEN.append(True)
        _log("reached")


def _crashed(error: BaseException) -> None:
    _log("crashed " + "".join(traceback.format_exception(error)).replace("\n", "\n    "))


def _reach_children() -> None:
    """Let the Python processes that this one starts import `hook/sitecustomize.py`, also isolated ones."""
    original = subprocess.Popen.__init__
    log = os.environ.get(LOG, "")

    def start(self: Any, args: Any, *rest: Any, **options: Any) -> None:
        surroundings = dict(os.environ if options.get("env") is None else options["env"])
        folders = surroundings.get("PYTHONPATH", "")
        if isinstance(args, list | tuple) and len(args) > 1 and args[0] == sys.executable and args[1] == "-I":
            args = [args[0], "-P", "-s", *args[2:]]  # what -I means, but for PYTHONPATH
            surroundings = {key: value for key, value in surroundings.items() if not str(key).startswith("PYTHON")}
            folders = ""
        surroundings["PYTHONPATH"] = os.pathsep.join(filter(None, (str(HOOK), folders)))
        surroundings |= {NAME: os.environ.get(NAME, ""), LOG: log}
        options["env"] = surroundings
        original(self, args, *rest, **options)

    subprocess.Popen.__init__ = start  # type: ignore[method-assign]
