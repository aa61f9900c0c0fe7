"""Packages of npm that tests run: fetched once into `.cache`, whole or not at all."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

INSTALL_SECONDS = 240
Entry = Callable[[Path], Path | None]  # what is started in a folder; None if it is not there


class Unavailable(RuntimeError):
    """A package cannot be run here; the message says what to install."""


def installed(package: str, version: str, name: str, entry: Entry, *options: str) -> Path:
    """The folder that holds a version of a package, fetched unless it is there. `name` is that of its place."""
    if sys.platform == "win32":
        raise Unavailable("the oracle runs on Linux and macOS only")
    folder = cache_folder() / name / version
    if entry(folder):
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _locked(folder.parent / f"{version}.lock"):
        if not entry(folder):  # another process may have been faster
            shutil.rmtree(folder, ignore_errors=True)
            _fetch(f"{package}@{version}", folder, entry, options)
    return folder


def need(program: str) -> str:
    found = shutil.which(program)
    if not found:
        raise Unavailable(f"{program} is not on the PATH: install Node.js 18 or newer, which brings node and npm")
    return found


def cache_folder() -> Path:
    """The folder for what tests keep between runs: `.cache`, or CLEW_TEST_CACHE."""
    repository = Path(__file__).resolve().parents[2]
    return Path(os.environ.get("CLEW_TEST_CACHE") or repository / ".cache").resolve()


def _fetch(package: str, folder: Path, entry: Entry, more: tuple[str, ...]) -> None:
    """Install beside the folder and move it there whole, so that a folder that exists is complete."""
    npm = need("npm")
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f"{folder.name}-") as temporary:
        partial = Path(temporary) / "install"
        options = ["--no-save", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund", *more]
        try:
            done = subprocess.run(
                [npm, "install", "--prefix", str(partial), *options, package],
                capture_output=True,
                text=True,
                timeout=INSTALL_SECONDS,
            )
        except subprocess.TimeoutExpired as late:
            raise Unavailable(f"npm install {package} took over {INSTALL_SECONDS} s") from late
        if done.returncode:
            errors = [line for line in done.stderr.splitlines() if line.startswith(("npm error", "npm ERR!"))]
            raise Unavailable(f"npm install {package} failed: {'; '.join(errors[:3])}")
        if not entry(partial):
            raise Unavailable(f"{package} has no program for this platform ({sys.platform})")
        partial.rename(folder)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    import fcntl  # not on Windows, where `installed` ends before this

    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # let go by the kernel, however the holder ends
        yield
