"""When the real CLI is asked about a case, and when what it confirmed before is enough."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.conversation.session import Session
from clew.demo.talk import talk
from clew.edit.plan import plan
from tests.oracle import agreed
from tests.oracle.agreed import canonical, fingerprint, must_ask
from tests.oracle.claude import LATEST


def written(text: str = "hello") -> bytes:
    return talk().user("hi").reply(text).user("and?").reply("bye").bytes()


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(agreed, "TABLE", tmp_path / "agreed.tsv")
    monkeypatch.setattr(agreed, "ONE_IN", 1 << 64)
    monkeypatch.setattr(agreed, "ASKS_ALL", False)
    agreed.confirmed.cache_clear()
    yield tmp_path / "agreed.tsv"
    agreed.confirmed.cache_clear()


def test_a_confirmed_prediction_is_not_asked_again(table: Path) -> None:
    assert must_ask(LATEST, "a", written())
    agreed.record(LATEST, "a", written())
    agreed.confirmed.cache_clear()
    assert not must_ask(LATEST, "a", written())
    assert must_ask("2.1.29", "a", written()) and must_ask(LATEST, "b", written())


def test_another_file_is_asked_about(table: Path) -> None:
    agreed.record(LATEST, "a", written())
    assert must_ask(LATEST, "a", written("hallo"))


def test_another_prediction_for_the_same_file_is_asked_about(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agreed.record(LATEST, "a", written())
    right = agreed.predict
    monkeypatch.setattr(agreed, "predict", lambda version, data, *rest: right(version, data[:-100], *rest))
    assert must_ask(LATEST, "a", written())


def test_a_sample_and_a_soak_are_asked_about_all_the_same(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agreed.record(LATEST, "a", written())
    monkeypatch.setattr(agreed, "ONE_IN", 1)
    assert must_ask(LATEST, "a", written())
    monkeypatch.setattr(agreed, "ONE_IN", 1 << 64)
    monkeypatch.setattr(agreed, "ASKS_ALL", True)
    assert must_ask(LATEST, "a", written())


def test_ids_that_are_new_in_each_run_make_no_difference(tmp_path: Path) -> None:
    path = tmp_path / "00000000-0000-4000-8000-000000000001.jsonl"
    path.write_bytes(written())
    source = Session(path)
    copies = [plan(source).write(folder=tmp_path / name).path.read_bytes() for name in ("one", "other")]
    assert copies[0] != copies[1]
    assert fingerprint(LATEST, copies[0]) == fingerprint(LATEST, copies[1]) != fingerprint(LATEST, written("hallo"))


def test_which_id_stands_where_does_make_a_difference() -> None:
    one, other = b"0" * 8 + b"-0000-4000-8000-" + b"1" * 12, b"0" * 8 + b"-0000-4000-8000-" + b"2" * 12
    assert canonical(one + other + one) == canonical(other + one + other) != canonical(one + other + other)


def test_each_row_of_the_table_is_of_one_case() -> None:
    rows = [line.split("\t") for line in Path(agreed.__file__).with_suffix(".tsv").read_text("utf-8").splitlines()]
    assert len(rows) > 1000 and rows == sorted(rows)
    assert len({(version, name) for version, name, _ in rows}) == len(rows)
    assert 16 < sum(int(mark, 16) % agreed.ONE_IN == 0 for _, _, mark in rows) < len(rows) / 4
