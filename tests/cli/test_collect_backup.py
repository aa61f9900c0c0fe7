"""`clew collect backup`, `restore-archive` and `resend`, as they are typed."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from clew.demo.demo_tree import DemoSummary
from tests.cli.conftest import Run


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "data"


def test_a_backup_is_put_back_with_its_key(
    clew: Run, demo: DemoSummary, claude: Path, tmp_path: Path, data: Path
) -> None:
    clew("collect")
    target = tmp_path / "saved.db"
    code, out, _ = clew("collect", "backup", str(target))
    assert code == 0 and "contents verified" in out
    assert os.name == "nt" or stat.S_IMODE(target.stat().st_mode) == 0o600
    folder = data / "clew" / "archive"
    key = (folder / "archive.key").read_bytes()
    assert clew("collect", "backup", str(target))[0] == 2, "nothing is overwritten"
    for name in folder.iterdir():
        name.unlink()
    code, out, _ = clew("collect", "restore-archive", str(target))
    assert code == 0 and (folder / "archive.key").read_bytes() == key
    assert clew("collect", "verify")[0] == 0
    assert json.loads(clew("collect", "--json")[1])["lines"] == 0, "nothing is read twice"
    code, out, _ = clew("collect", "restore-archive", str(target), "--json")
    assert code == 0 and Path(json.loads(out)["replaced"]).exists(), "the archive that was there is kept"


def test_a_file_that_is_no_backup_changes_nothing(clew: Run, demo: DemoSummary, tmp_path: Path, data: Path) -> None:
    clew("collect")
    (tmp_path / "notes").write_text("hello " * 1000)
    code, _, err = clew("collect", "restore-archive", str(tmp_path / "notes"))
    assert code == 2 and "is not an archive" in err
    assert clew("collect", "restore-archive", str(tmp_path / "nothing"))[0] == 2
    assert clew("collect", "restore-archive")[0] == 2
    assert clew("collect", "verify")[0] == 0
    assert sorted(path.name for path in (data / "clew" / "archive").glob("archive.db*")) == ["archive.db"]


def test_resend_fills_a_lake_from_which_rows_are_missing(clew: Run, demo: DemoSummary, tmp_path: Path) -> None:
    deltalake = pytest.importorskip("deltalake")
    lake = tmp_path / "lake"
    assert clew("collect", "--to", f"delta:{lake}")[0] == 0
    table = deltalake.DeltaTable(str(lake / "line"))
    before = table.to_pyarrow_table().num_rows
    table.delete("seq > 300 and seq < 600")
    assert deltalake.DeltaTable(str(lake / "line")).to_pyarrow_table().num_rows < before
    assert clew("collect", "resend", "--to", f"delta:{lake}")[0] == 0
    assert deltalake.DeltaTable(str(lake / "line")).to_pyarrow_table().num_rows == before


def test_a_lake_that_is_not_there_is_an_error(clew: Run, demo: DemoSummary, tmp_path: Path) -> None:
    pytest.importorskip("deltalake")
    code, out, err = clew("sql", "SELECT count(*) FROM sessions", "--store", f"delta:{tmp_path}/nothere")
    assert (code, out) == (2, "") and "has no tables of clew" in err
    assert not (tmp_path / "nothere").exists()
