"""Imported by Python processes that tests start under a mutation, before their own code: applies the same mutation."""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path


def start() -> None:
    here = Path(__file__).parent
    root = str(here.parents[2])
    sys.path[:] = [entry for entry in sys.path if entry != str(here)]
    folders = [entry for entry in os.environ.pop("PYTHONPATH", "").split(os.pathsep) if entry and entry != str(here)]
    if folders:
        os.environ["PYTHONPATH"] = os.pathsep.join(folders)
    sys.path.insert(0, root)
    try:
        from tests.mutations.registry import apply

        apply(os.environ["CLEW_MUTATION"])
    finally:
        sys.path.remove(root)


if os.environ.get("CLEW_MUTATION"):
    try:
        start()
    except Exception:  # noqa: BLE001 - the interpreter would print a line and go on without the mutation
        traceback.print_exc()
        os._exit(99)
