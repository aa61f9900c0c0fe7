"""Formatting, lint and types, for each platform that clew is checked for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = ("src", "tests", "benchmarks")
CHECKS = {
    "format": ("ruff", "format", "--check", *FOLDERS),
    "lint": ("ruff", "check", *FOLDERS),
    "types": ("mypy",),
    "types on Windows": ("mypy", "--platform", "win32", "--cache-dir", ".mypy_cache/win32", "src"),
    "types on macOS": ("mypy", "--platform", "darwin", "--cache-dir", ".mypy_cache/darwin", "src"),
}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("command", CHECKS.values(), ids=CHECKS)
def test_static_checks_find_nothing(command: tuple[str, ...]) -> None:
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
