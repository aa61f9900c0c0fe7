"""ccusage as a judge and a peer: the published program, installed from npm, with the prices that it carries along."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

VERSION = "20.0.24"  # the newest whose program for Linux is published
INSTALL_SECONDS = 240
RUN_SECONDS = 120


class Unavailable(RuntimeError):
    """It cannot be run here; the message says what to install."""


class Spent(NamedTuple):
    """What it says of a model."""

    input: int
    output: int
    cache_write: int
    cache_read: int
    cost: float


def install() -> list[str]:
    """How to start it; it is fetched from npm unless it is there."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if not node or not npm:
        raise Unavailable("node and npm are not on the PATH: install Node.js 20 or newer")
    base = Path(os.environ.get("CLEW_TEST_CACHE") or Path(__file__).resolve().parents[1] / ".cache").resolve()
    folder = base / "ccusage" / VERSION
    script = folder / "node_modules" / "ccusage" / "src" / "cli.js"
    if not script.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
            partial = Path(temporary) / "install"
            options = ["--no-save", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund"]
            command = [npm, "install", "--prefix", str(partial), *options, f"ccusage@{VERSION}"]
            done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
            if done.returncode or not list(partial.glob("node_modules/@ccusage/*/bin/ccusage*")):
                raise Unavailable(f"npm install ccusage@{VERSION} failed: {done.stderr[-300:]}")
            if not script.exists():  # another process may have been faster
                shutil.rmtree(folder, ignore_errors=True)
                partial.rename(folder)
    return [node, str(script)]


def environment(root: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(root), "CLAUDE_CONFIG_DIR": str(root), "TZ": "UTC"}


REPORT = ("claude", "daily", "--json", "--offline", "--timezone", "UTC", "--mode", "calculate")


def by_model(root: Path) -> dict[str, Spent]:
    """Its daily report of a tree, added up by model; models that it has no price for cost nothing."""
    done = subprocess.run(
        [*install(), *REPORT],
        env=environment(root),
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS,
        check=True,
    )
    found: dict[str, Spent] = {}
    for day in json.loads(done.stdout)["daily"]:
        for row in day["modelBreakdowns"]:
            spent = Spent(
                row["inputTokens"], row["outputTokens"], row["cacheCreationTokens"], row["cacheReadTokens"], row["cost"]
            )
            before = found.get(row["modelName"], Spent(0, 0, 0, 0, 0.0))
            found[row["modelName"]] = Spent(*(a + b for a, b in zip(before, spent, strict=True)))  # type: ignore[arg-type]
    return found
