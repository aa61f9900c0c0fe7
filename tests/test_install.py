"""clew installed from the checkout in each documented way, and the hints for missing parts, which must work."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(os.environ.get("CLEW_SOAK") != "1", reason="installs packages: set CLEW_SOAK=1"),
]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A copy of the checkout in a folder whose name needs quotes, and an environment with pip, uv and build."""
    ignored = shutil.ignore_patterns(".git", ".venv", ".cache", ".mypy_cache", "build", "dist", "__pycache__")
    shutil.copytree(ROOT, tmp_path / "my clew", ignore=ignored)
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "tools"], check=True)
    subprocess.run([tmp_path / "tools/bin/pip", "install", "-q", "uv", "build"], check=True)
    return tmp_path


def sh(place: Path, command: str) -> str:
    """Run a shell command in the copy, with the tools on the path; return what it prints."""
    path = f"{place}/.local/bin:{place}/tools/bin:{os.environ['PATH']}"
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "VIRTUAL_ENV"))}
    environment = {**kept, "HOME": str(place), "PATH": path}
    done = subprocess.run(
        ["bash", "-c", command], cwd=place / "my clew", env=environment, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    ("install", "clew"),
    [
        ("python -m venv ../v && ../v/bin/pip install -q .", "../v/bin/clew"),
        ("python -m venv ../v && ../v/bin/pip install -q -e .", "../v/bin/clew"),
        (
            "python -m build -q -o ../dist && python -m venv ../v && ../v/bin/pip install -q ../dist/*.whl",
            "../v/bin/clew",
        ),
        ("uv venv -q ../v && uv pip install -q --python ../v/bin/python .", "../v/bin/clew"),
        ("uv tool install -q .", "clew"),
        ("true", "uvx -q --from . clew"),
    ],
    ids=["pip", "editable", "wheel", "uv-pip", "uv-tool", "uvx"],
)
def test_an_installed_clew_runs_and_its_hint_installs_what_is_missing(place: Path, install: str, clew: str) -> None:
    print(sh(place, install))
    assert re.fullmatch(r"clew \d+\.\d+\.\d+\n", sh(place, f"{clew} --version"))
    assert "23 sessions" in sh(place, f"{clew} demo ../demo")
    hint = re.search(r"Install it with: (.*)", sh(place, f"{clew} usage --plot x.png --claude-dir ../demo"))
    assert hint, "nothing says how to draw a .png"
    command = hint[1].removesuffix("; or write an .svg.")
    if clew.startswith("uvx"):
        assert command.startswith("uvx --from ")
        assert "Written: y.png" in sh(place, f"{command} usage --plot y.png --claude-dir ../demo")
        return
    print(sh(place, command))
    assert "Written: y.png" in sh(place, f"{clew} usage --plot y.png --claude-dir ../demo")
    if "../v" in clew and "-e" not in install:
        assert (place / "v/share/man/man1/clew.1").is_file()
