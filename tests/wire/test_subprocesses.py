"""Starting programs: from absolute folders alone, and our own processes from this very installation."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import zipapp
from pathlib import Path

import pytest

import clew
from clew.system import environment
from clew.system.subprocesses import (
    clew_process_command,
    find_program,
    isolate_process,
    neutral_folder,
    resolve_program,
    start_clew,
)


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder that holds a program of each name."""
    place = tmp_path / "work"
    program(place / "tool")
    program(place / "bin" / "tool")
    monkeypatch.chdir(place)
    return place


@pytest.mark.parametrize("path", [".", "", ":", "bin", "./bin", ".:bin:", "../work", "~/bin"])
def test_relative_entries_of_the_path_find_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.setenv("PATH", path)
    assert find_program("tool") is None
    with pytest.raises(FileNotFoundError, match="tool"):
        resolve_program("tool")


def test_the_first_absolute_entry_wins(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = program(tmp_path / "usr" / "tool")
    monkeypatch.setenv("PATH", os.pathsep.join([".", "", str(tmp_path / "none"), str(real.parent), str(folder)]))
    assert find_program("tool") == str(real)
    assert find_program("tool", str(folder)) == str(folder / "tool")
    assert find_program("./tool") == "./tool"  # whoever names a file means it
    real.chmod(0o644)
    assert find_program("tool") == str(folder / "tool")


@pytest.mark.parametrize("path", [None, "", ".", ":", "bin:"])
def test_a_program_never_gets_a_path_that_means_the_working_folder(
    monkeypatch: pytest.MonkeyPatch, path: str | None
) -> None:
    """An empty PATH means the working folder, and what an unset one means depends on the shell."""
    if path is None:
        monkeypatch.delenv("PATH")
    else:
        monkeypatch.setenv("PATH", path)
    folders = environment.child_environment()["PATH"].split(os.pathsep)
    assert folders and all(Path(folder).is_absolute() for folder in folders)


def test_libraries_are_not_searched_in_the_working_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{os.pathsep}/opt/lib{os.pathsep}.")
    assert environment.child_environment()["LD_LIBRARY_PATH"] == "/opt/lib"
    monkeypatch.setenv("LD_LIBRARY_PATH", os.pathsep)
    assert "LD_LIBRARY_PATH" not in environment.child_environment()


def test_our_own_process_gets_no_python_variables_and_absolute_folders(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONUSERBASE", "PYTHONWARNINGS"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "claude")
    made = environment.isolated_environment()
    assert not [name for name in made if name.startswith("PYTHON")]
    assert made["CLAUDE_CONFIG_DIR"] == str(folder / "claude")


def test_our_own_process_runs_in_a_neutral_folder(folder: Path) -> None:
    process = start_clew("--version", output=True)
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, f"clew {clew.__version__}\n")
    assert neutral_folder() == "/"


@pytest.mark.parametrize("entry", ["", ".", "src", "{cwd}", "{cwd}/src"])
def test_import_folders_of_the_project_are_dropped(folder: Path, monkeypatch: pytest.MonkeyPatch, entry: str) -> None:
    """A leading colon in PYTHONPATH, as a careless export leaves it, means the working folder."""
    named = entry.format(cwd=folder)
    monkeypatch.setenv("PYTHONPATH", f"{named}{os.pathsep}/opt/libraries")
    monkeypatch.setattr(sys, "path", [str(folder / named), "/opt/libraries", *sys.path])
    before = list(sys.path)
    isolate_process()
    assert sys.path == before[1:]


def test_folders_of_the_interpreter_stay_whatever_the_working_folder_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for place in (os.path.dirname(os.__file__), sys.prefix, str(Path(clew.__file__).parents[1])):
        monkeypatch.chdir(place)
        monkeypatch.setenv("PYTHONPATH", f"{os.pathsep}{place}")
        before = list(sys.path)
        isolate_process()
        assert sys.path == before


# -- the kinds of installation


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A folder with another version of clew, which only PYTHONPATH leads to."""
    place = tmp_path / "libraries"
    shutil.copytree(Path(clew.__file__).parent, place / "clew", ignore=shutil.ignore_patterns("__pycache__"))
    version = place / "clew" / "version.py"
    version.write_text(version.read_text().replace(clew.__version__, "99.0"))
    return place


def run(words: list[str], cwd: Path, **variables: str) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(words, cwd=cwd, env=kept | variables, capture_output=True, text=True, check=True).stdout


def test_an_installation_that_isolation_hides_starts_itself(copy: Path, tmp_path: Path) -> None:
    """As `pip install --target` and `pip install --user` make them; another clew is installed here too."""
    script = (
        "import json; from clew.system.subprocesses import clew_process_command as command; "
        "print(json.dumps(command('--version')))"
    )
    command = json.loads(run([sys.executable, "-c", script], tmp_path, PYTHONPATH=str(copy)))
    assert command[1:3] == ["-I", str(copy / "clew" / "__main__.py")]
    assert run(command, tmp_path) == "clew 99.0\n"


def test_a_zipapp_starts_itself(copy: Path, tmp_path: Path) -> None:
    archive = tmp_path / "clew.pyz"
    zipapp.create_archive(copy, archive, main="clew.cli:main")
    folder = tmp_path / "claude"
    folder.mkdir()
    run([sys.executable, str(archive), "statusline", "--install", "--yes", "--claude-dir", str(folder)], tmp_path)
    command = shlex.split(json.loads((folder / "settings.json").read_bytes())["statusLine"]["command"])
    assert command[:4] == [sys.executable, "-I", str(archive), "statusline"]
    assert run([*command[:3], "--version"], tmp_path) == "clew 99.0\n"


def test_a_frozen_program_is_its_own_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert clew_process_command("ls") == [sys.executable, "ls"]


@pytest.mark.skipif(not shutil.which("git"), reason="needs git")
def test_our_git_calls_fetch_nothing_and_run_nothing(tmp_path: Path) -> None:
    """A partial clone fetches what is missing by a program that its configuration names."""
    from clew.chat.config.repository import git_environment

    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    settings = {
        "extensions.partialClone": "origin",
        "core.repositoryformatversion": "1",
        "remote.origin.url": str(tmp_path),
        "remote.origin.promisor": "true",
        "remote.origin.uploadpack": f"touch {tmp_path}/TRIPPED; git-upload-pack",
    }
    for name, value in settings.items():
        subprocess.run(["git", "-C", str(tmp_path), "config", name, value], check=True)
    words = ["git", "-C", str(tmp_path), "cat-file", "-p", "1" * 40]
    subprocess.run(words, env=git_environment(), capture_output=True, check=False)
    assert not (tmp_path / "TRIPPED").exists()
    subprocess.run(words, capture_output=True, check=False)
    assert (tmp_path / "TRIPPED").exists(), "the trap does not work"
