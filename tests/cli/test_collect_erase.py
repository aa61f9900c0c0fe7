"""`clew collect erase`: what was erased is in no page of the archive, and is not collected again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import apsw
import pytest

from clew.collect.archive.packing import unpack
from clew.demo.demo_tree import DemoSummary
from tests.cli.conftest import Run


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "data"


def add_session(claude: Path, id: str, text: str, project: str = "-home-ada-secret") -> Path:
    path = claude / "projects" / project / f"{id}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [
        {"type": "user", "sessionId": id, "uuid": f"{id}-{n}", "message": {"role": "user", "content": f"{text} {n}"}}
        for n in range(3)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def everything(data: Path) -> bytes:
    """Every byte of every file of the archive, and what is packed in it."""
    folder = data / "clew" / "archive"
    connection = apsw.Connection(str(folder / "archive.db"))
    query = "SELECT packing, data, size FROM content UNION ALL SELECT packing, data, size FROM pack"
    rows: list[Any] = connection.execute(query).fetchall()
    packed = [unpack(*row) or b"" for row in rows]
    connection.close()
    return b"\n".join([*(path.read_bytes() for path in folder.iterdir()), *packed])


ONE, TWO = "aaaaaaaa-0000-4000-8000-000000000001", "bbbbbbbb-0000-4000-8000-000000000002"


def test_an_erased_session_is_gone_and_stays_gone(clew: Run, demo: DemoSummary, claude: Path, data: Path) -> None:
    add_session(claude, ONE, "zebra crossing")
    add_session(claude, TWO, "other animal")
    with open(claude / "history.jsonl", "a") as history:
        history.write(json.dumps({"display": "zebra crossing 0", "sessionId": ONE, "timestamp": 1}) + "\n")
    clew("collect")
    assert b"zebra crossing" in everything(data)
    before = json.loads(clew("collect", "status", "--json")[1])["counts"]["files"]
    code, out, _ = clew("collect", "erase", ONE[:8], "--dry-run")
    assert code == 0 and "would be erased" in out and b"zebra crossing" in everything(data)
    assert clew("collect", "erase", ONE[:8])[0] == 2, "it asks"
    code, out, err = clew("collect", "erase", ONE[:8], "--yes")
    assert code == 0 and "1 file, 4 lines erased" in out and "Still on the disk" in err
    assert b"zebra crossing" not in everything(data) and b"other animal" in everything(data)
    clew("collect", "--scrub")
    assert b"zebra crossing" not in everything(data), "it is not collected again"
    assert clew("collect", "verify")[0] == 0
    assert json.loads(clew("collect", "status", "--json")[1])["counts"]["files"] == before - 1


def test_an_erased_text_is_gone_from_every_line(clew: Run, demo: DemoSummary, claude: Path, data: Path) -> None:
    path = add_session(claude, ONE, 'the \\u00fcber zebra "crossing"')
    add_session(claude, TWO, "other animal")
    clew("collect")
    code, out, _ = clew("collect", "erase", "--text", 'zebra "crossing"', "--yes", "--json")
    report = json.loads(out)
    assert code == 0 and (report["lines"], report["erased"], report["files"]) == (3, True, [])
    assert b"zebra" not in everything(data)
    clew("collect", "--scrub")
    path.write_text(path.read_text() + path.read_text())  # the file grows and is read again as another generation
    clew("collect")
    assert b"zebra" not in everything(data)
    path.unlink()
    clew("collect")
    assert clew("restore", ONE)[0] == 0 and "[ERASED]" in path.read_text()


def test_an_erased_project_is_gone_and_new_lines_are_still_sent(
    clew: Run, demo: DemoSummary, claude: Path, data: Path, tmp_path: Path
) -> None:
    add_session(claude, ONE, "zebra crossing")
    target = tmp_path / "out.jsonl"
    clew("collect", "--to", str(target))
    code, _, _ = clew("collect", "erase", "--project", "-home-ada-secret", "--yes")
    assert code == 0 and b"zebra crossing" not in everything(data)
    add_session(claude, TWO, "other animal", "-home-ada-open")
    clew("collect", "--to", str(target))
    assert target.read_text().count("other animal") == 3, "numbers of erased lines are not used again"
    assert clew("collect", "verify")[0] == 0
    assert clew("collect", "erase", "--text", "nothing like this", "--yes")[0] != 0
