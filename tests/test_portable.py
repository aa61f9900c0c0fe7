"""What runs on Windows too, as far as that can be seen here: see tests/hide_posix.py."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import clew
from clew.cli import main
from clew.collect.install_plan import plan_timer
from clew.demo.talk import talk, write
from clew.errors import Refused


@pytest.mark.skipif(sys.platform == "win32", reason="this is what is hidden already")
def test_the_portable_tests_pass_with_what_windows_lacks_hidden() -> None:
    words = [sys.executable, "-m", "tests.hide_posix", "-q", "-n0", "-p", "no:cacheprovider"]
    done = subprocess.run(words, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert int(done.stdout.split(" passed")[0].split()[-1]) > 120


@pytest.mark.portable
def test_every_module_can_be_imported() -> None:
    names = [each.name for each in pkgutil.walk_packages(clew.__path__, "clew.") if "__main__" not in each.name]
    assert len(names) > 500 and all(map(import_module, names))


@pytest.mark.portable
@pytest.mark.skipif(sys.platform != "win32", reason="what Windows cannot do")
def test_what_windows_cannot_do_is_said_in_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session = talk().user("hi").reply("", call=write("/home/ada/a.txt", "x")).result("ok").write(tmp_path)
    assert main(["rewind", session.stem, "--code", "--claude-dir", str(tmp_path)]) == 2
    assert "clew cannot change files on Windows yet" in capsys.readouterr().err
    with pytest.raises(Refused, match="clew cannot install a timer on Windows yet"):
        plan_timer([])
