"""A landing zone on a real S3 server, with a key for hosts that may do nothing but put objects."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

import pytest

from clew.cli import main
from clew.collect.landing.folder_zone import Zone
from clew.collect.landing.landing_sink import open_zone
from clew.collect.sql.open_store import open_engine
from clew.errors import StoreError
from tests.collect.landing.put_only import Gate
from tests.collect.landing.zone_fixture import Host, expected, ingest
from tests.collect.s3 import HOST_KEY, HOST_SECRET, S3


@pytest.fixture(scope="module")
def s3() -> Iterator[S3]:
    server = S3()
    yield server
    server.close()


@pytest.fixture
def gate(s3: S3) -> Iterator[Gate]:
    gate = Gate(s3.endpoint, "/lake/landing/host=ada-laptop/")
    yield gate
    gate.close()


@pytest.fixture
def host(tmp_path: Path, gate: Gate) -> Host:
    token = tmp_path / "token"
    token.write_text(f"{HOST_KEY}:{HOST_SECRET}\n")
    return Host(tmp_path / "ada", f"landing+s3://lake/landing?endpoint={gate.endpoint}&host=ada-laptop", str(token))


@contextmanager
def opened(address: str, secret: str = "", environment: Mapping[str, str] = MappingProxyType({})) -> Iterator[Zone]:
    zone = open_zone(address, secret, environment)
    try:
        yield zone
    finally:
        zone.close()


def _zone(s3: S3, folder: str = "landing") -> str:
    return f"landing+s3://lake/{folder}?endpoint={s3.endpoint}"


def test_a_host_only_puts_and_an_ingester_commits_what_any_engine_reads(
    s3: S3, gate: Gate, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)
    for turns in (1, 3):
        host.talk("one", turns)
        host.put()
    assert {method for method, _, _ in gate.requests} == {"PUT"}
    assert all(is_allowed for _, _, is_allowed in gate.requests)
    report = ingest(_zone(s3), s3.address("sessions"))
    assert (report.objects, report.lines, report.commits) == (4, len(expected([host])), 1)
    with opened(_zone(s3), "", s3.environment) as zone:
        assert list(zone.list_objects()) == []
    with open_engine(s3.address("sessions")) as engine, engine.run("SELECT turns, calls FROM sessions") as answer:
        assert list(answer.rows) == [(3, 3)]


def test_the_key_of_a_host_is_refused_everything_else(gate: Gate, host: Host) -> None:
    with opened(host.zone, f"{HOST_KEY}:{HOST_SECRET}") as zone:
        zone.put("host=ada-laptop/probe", b"")
        for attempt in (
            lambda: list(zone.list_objects()),
            lambda: zone.get("host=ada-laptop/probe"),
            lambda: zone.delete(["host=ada-laptop/probe"]),
            lambda: zone.set_aside("host=ada-laptop/probe"),
            lambda: zone.put("host=eve/probe", b""),
        ):
            with pytest.raises(StoreError) as failed:
                attempt()
            assert failed.value.kind == "denied"


@pytest.mark.parametrize("status", [500, 503, 409, 412])
def test_an_unknown_outcome_is_put_again_as_the_same_object(s3: S3, gate: Gate, host: Host, status: int) -> None:
    """The server has the object, and the answer says otherwise; 412 says that it has it."""
    host.talk(f"session {status}")
    gate.answers = [status]
    outcomes = host.send()
    assert bool(outcomes[0].error) == (status != 412)
    host.put()
    put = [path for _, path, _ in gate.requests]
    assert len(put) - len(set(put)) == (status != 412)


def test_a_store_without_conditions_is_put_to_without(gate: Gate, host: Host) -> None:
    host.talk("plain")
    gate.answers = [501]
    host.put()
    assert len(gate.requests) == 3


def test_many_objects_are_listed_in_order_and_damaged_ones_are_moved(s3: S3) -> None:
    with opened(_zone(s3, "many"), "", s3.environment) as zone:
        keys = [f"host=a/{number:04} é+=&.gz" for number in range(1005)]
        for key in keys:
            zone.put(key, b"x")
        assert [found.key for found in zone.list_objects()] == keys
        zone.set_aside(keys[3])
        zone.set_aside(keys[3])
        zone.delete(keys[1:])
        assert [found.key for found in zone.list_objects("")] == [f"aside/{keys[3]}", keys[0]]
        assert zone.get(f"aside/{keys[3]}") == b"x"


def test_the_command_line_tests_sends_and_ingests(
    s3: S3, host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    own = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(host.root), "XDG_CONFIG_HOME": str(tmp_path / ".config")}
    for name, value in {**s3.environment, **own, "XDG_DATA_HOME": str(tmp_path / "data")}.items():
        monkeypatch.setenv(name, value)

    def clew(*words: str, code: int = 0) -> str:
        result = main(["collect", *words])
        said = capsys.readouterr()
        assert result == code, (words, said)
        return said.out + said.err

    host.talk("command")
    config = tmp_path / ".config" / "clew" / "collect.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f'[[sink]]\nname = "fleet"\nto = "{host.zone}"\ntoken-file = "{host.token_file}"\n')
    assert "may be put into the landing zone" in clew("test")
    assert "went to landing+s3://lake/landing" in clew("--quiet")
    assert "0 records wait for landing+s3://lake/landing" in clew("status")
    zone, lake = _zone(s3), f"delta:{tmp_path / 'lake'}"
    said = json.loads(clew("ingest", "--from", zone, "--to", lake, "--json", "--part", "1/1"))
    assert (said["kind"], said["aside"], said["commits"]) == ("ingested", [], 1)
    assert "0 objects" in clew("ingest", "--from", zone, "--to", lake)
    with opened(zone, "", s3.environment) as there:
        there.put("host=eve/nonsense", b"?")
    assert "is put aside: its name" in clew("ingest", "--from", zone, "--to", lake, code=1)
    for wrong in (["--from", zone], ["--from", lake, "--to", lake], ["--from", zone, "--to", "x.jsonl"]):
        assert "Refused" in clew("ingest", *wrong, code=2)
    assert "third of eight" in clew("ingest", "--from", zone, "--to", lake, "--part", "9/8", code=2)
