"""An ingester takes the objects of a landing zone to a store: each once, in order, whatever happens."""

from __future__ import annotations

import json
import os
import shutil
import zlib
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from clew.collect.config import SinkConfig
from clew.collect.landing.ingester import Part
from clew.collect.landing.object_codec import ObjectHeader, encode_object
from clew.collect.landing.object_name import ObjectName, parse_key, stream_host
from clew.collect.landing.open_ingest import open_ingest_store, open_landing_zone
from clew.collect.sinks.outbox import SequenceCursor
from clew.collect.sinks.record import Record
from clew.errors import StoreError
from tests.collect.collect_fixture import session
from tests.collect.landing.zone_fixture import Host, Target, expected
from tests.collect.team import Team, contents

EPOCH = "e" * 32
SECRET = "sk-ant-api03-" + "Zx9" * 31 + "AA"


@pytest.fixture
def zone(tmp_path: Path) -> str:
    return f"landing:{tmp_path / 'zone'}"


def objects(zone: str) -> list[Path]:
    folder = Path(zone.removeprefix("landing:"))
    return sorted(path for path in folder.rglob("*.gz") if "aside" not in path.parts)


def aside(zone: str) -> list[Path]:
    return sorted(path for path in Path(zone.removeprefix("landing:"), "aside").rglob("*") if path.is_file())


def test_what_hosts_put_is_in_the_store_once_and_the_objects_are_gone(
    tmp_path: Path, zone: str, target: Target
) -> None:
    hosts = [Host(tmp_path / name, zone) for name in ("ada", "ben")]
    for turns in (1, 2, 4):
        for host in hosts:
            host.talk("one", turns)
            host.talk(f"two {host.folder.name}", turns)
            host.put()
        if turns != 2:  # several objects of a host wait at once
            report = target.ingest(zone)
            assert not report.aside and not report.remarks
    assert target.lines() == expected(hosts)
    assert target.ingest(zone).objects == 0
    assert not objects(zone)
    assert len({row[0] for row in target.rows("host")}) == 2
    numbers = target.rows("session, turns, calls", "sessions")
    assert [row[1:] for row in numbers] == [(4, 4)] * 4


def test_sessions_that_were_ingested_are_read_from_the_store_completely(
    tmp_path: Path, zone: str, target: Target
) -> None:
    hosts = [Host(tmp_path / name, zone) for name in ("ada", "ben")]
    team = Team(tmp_path, target.address)
    for turns in (2, 5):
        for host in hosts:
            host.talk(f"of {host.folder.name}", turns)
            host.put()
        target.ingest(zone)
        assert len(team.rows("ls")) == 2
        assert sorted(line for data in contents(team.tree).values() for line in data.splitlines()) == expected(hosts)


def test_the_first_run_commits_everything_in_one_transaction(tmp_path: Path, zone: str, target: Target) -> None:
    for number in range(5):
        host = Host(tmp_path / str(number), zone)
        host.talk(f"session {number}")
        host.put()
    report = target.ingest(zone)
    assert (report.objects, report.commits, report.files) == (10, 1, 5)


def test_kept_objects_are_not_committed_again_and_fill_a_second_store(
    tmp_path: Path, zone: str, target: Target
) -> None:
    host = Host(tmp_path / "ada", zone)
    for turns in (1, 2, 3):
        host.talk("one", turns)
        host.put()
        target.ingest(zone, keep=True)
    assert target.ingest(zone, keep=True).commits == 0
    second = Target(f"delta:{tmp_path / 'second'}")
    assert second.ingest(zone).objects == 6
    assert target.lines() == second.lines() == expected([host])


def test_parts_share_the_hosts_and_the_same_part_twice_adds_nothing(tmp_path: Path, zone: str, target: Target) -> None:
    hosts = [Host(tmp_path / str(number), zone) for number in range(6)]
    for host in hosts:
        host.talk(host.folder.name)
        host.put()
    took = [target.ingest(zone, Part(number, 3), keep=True).objects for number in (1, 2, 3, 2)]
    assert sum(took) == 12 and took[3] == 0 and max(took) < 12
    assert target.lines() == expected(hosts)


def test_an_ingester_that_another_one_came_before_is_refused_and_looks_again(
    tmp_path: Path, zone: str, target: Target
) -> None:
    """Both have read the same states; the store takes the objects of one."""
    host = Host(tmp_path / "ada", zone)
    host.talk("one")
    host.put()
    store = open_ingest_store(target.address, target.secret)
    names = [parse_key(found.key) for found in open_landing_zone(zone).list_objects()]
    hosts = [stream_host(name.host, name.epoch, 0) for name in names if name]
    before = store.states(hosts)
    target.ingest(zone, keep=True)
    from clew.collect.landing.ingest_store import StreamObject
    from clew.collect.landing.object_codec import LandedObject, decode_object

    first = names[0]
    assert first
    content = decode_object(first, open_landing_zone(zone).get(first.key))
    assert isinstance(content, LandedObject)
    with pytest.raises(StoreError, match="another ingester"):
        store.commit([StreamObject(first, hosts[0], content)], before)
    store.close()
    assert target.lines() == expected([host])


def test_a_host_that_was_killed_after_its_put_puts_the_same_object_again(
    tmp_path: Path, zone: str, target: Target
) -> None:
    """The answer to the put is lost: the archive is as it was before, but for the object beside it."""
    host = Host(tmp_path / "ada", zone)
    host.talk("one")
    host.put()
    shutil.copytree(host.archive.parent, tmp_path / "before")
    host.talk("one", 5)
    _fail_after_put(host)
    pending = list(host.archive.parent.glob("*.pending"))
    assert len(pending) == 1
    target.ingest(zone)
    host.talk("one", 6)
    host.put()
    report = target.ingest(zone)
    assert not report.remarks and not report.aside
    assert target.lines() == expected([host])
    assert not list(host.archive.parent.glob("*.pending"))


def _fail_after_put(host: Host) -> None:
    """Run a host in a process that ends between the put and the note of it."""
    child = os.fork()
    if not child:
        from clew.collect.landing import object_chain

        class Killed:
            def __init__(self, *_: object) -> None:
                os._exit(9)

        vars(object_chain)["WriteTransaction"] = Killed
        host.put()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


def test_a_damaged_object_is_put_aside_and_named_and_the_rest_goes_on(
    tmp_path: Path, zone: str, target: Target
) -> None:
    hosts = [Host(tmp_path / name, zone) for name in ("ada", "ben")]
    for turns in (1, 2, 3):
        for host in hosts:
            host.talk(f"of {host.folder.name}", turns)
            host.put()
    ada = [path for path in objects(zone) if path.name.endswith("lines.gz")][:3]
    data = bytearray(ada[1].read_bytes())
    data[len(data) // 2] ^= 1
    ada[1].write_bytes(data)
    report = target.ingest(zone)
    assert [key.rpartition("/")[2] for key, _ in report.aside] == [ada[1].name]
    assert "checksum" in report.aside[0][1]
    assert [path.name for path in aside(zone)] == [ada[1].name]
    assert not objects(zone)
    lost = set(expected(hosts)) - set(target.lines())
    assert 0 < len(lost) < 6
    damaged = next(host for host in hosts if host.lines()[0] in expected([host]) and set(host.lines()) >= lost)
    _resend(damaged)
    assert not target.ingest(zone).aside
    assert target.lines() == expected(hosts), "sent again, each line is there once"


def _resend(host: Host) -> None:
    import apsw

    connection = apsw.Connection(str(host.archive))
    SequenceCursor(connection, host.zone).resend()
    connection.close()
    host.put()


def _put(zone: str, name: ObjectName, body: bytes) -> None:
    open_landing_zone(zone).put(name.key, body)


def _named(body: bytes, host: str = "eve", number: int = 1, previous: int = 0) -> ObjectName:
    return ObjectName(host, EPOCH, number, previous, sha256(body).hexdigest(), "lines")


HEADER = ObjectHeader("lines", "eve", EPOCH, 1, 0, 1)


def _gzip(data: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return packer.compress(data) + packer.flush()


def _facts_of(host: str) -> bytes:
    """Facts whose rows name another host."""
    none: dict[str, list[Any]] = {"fact_turn": [], "fact_reply": [], "fact_call": []}
    header = {"clew": 1, **HEADER._replace(kind="facts")._asdict(), "items": 1}
    columns = {"fact_file": ["host", "file"], **none}
    item = {"host": EPOCH, "file": 1, "seq": 1, "damaged": [], "rows": {"fact_file": [[host, 1]], **none}}
    return _gzip(b"".join(json.dumps(line).encode() + b"\n" for line in ({**header, "columns": columns}, item)))


HOSTILE = {
    "empty": b"",
    "not gzip": b"{}",
    "truncated": encode_object(HEADER, ())[:-4],
    "more behind it": encode_object(HEADER, ()) + b"x",
    "another host": encode_object(HEADER._replace(host="ada"), ()),
    "another epoch": encode_object(HEADER._replace(epoch="a" * 32), ()),
    "another number": encode_object(HEADER._replace(number=2), ()),
    "another format": _gzip(zlib.decompress(encode_object(HEADER, ()), 31).replace(b'"clew":1', b'"clew":2')),
    "no object": _gzip(b"[1]\n"),
    "deep": _gzip(b"[" * 100_000 + b"\n"),
    "items that are missing": _gzip(zlib.decompress(encode_object(HEADER, ()), 31).replace(b'items":0', b'items":9')),
}


@pytest.mark.parametrize("case", [*HOSTILE, "rows of another host"])
def test_what_no_honest_host_puts_is_put_aside(tmp_path: Path, zone: str, case: str) -> None:
    target = Target(f"delta:{tmp_path / 'lake'}")
    body = _facts_of("a" * 32) if case == "rows of another host" else HOSTILE[case]
    name = _named(body)
    _put(zone, name._replace(kind="facts") if case == "rows of another host" else name, body)
    host = Host(tmp_path / "ada", zone)
    host.talk("one")
    host.put()
    report = target.ingest(zone)
    assert len(report.aside) == 1, report
    assert target.lines() == expected([host])
    assert target.ingest(zone).aside == []


def test_an_object_that_unpacks_to_too_much_is_put_aside(
    tmp_path: Path, zone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clew.collect.landing.object_codec.MAX_BYTES", 1 << 20)
    target = Target(f"delta:{tmp_path / 'lake'}")
    bomb = _gzip(bytes(2 << 20))
    assert len(bomb) < 5_000
    _put(zone, _named(bomb), bomb)
    [(_, reason)] = target.ingest(zone).aside
    assert "unpacks to more" in reason


def test_names_that_are_none_links_and_pipes_do_no_harm(tmp_path: Path, zone: str) -> None:
    host = Host(tmp_path / "ada", zone)
    host.talk("one")
    host.put()
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    folder = objects(zone)[0].parent
    (folder / "x..%2f..%2f.lines.gz").write_bytes(b"x")
    (folder / _named(b"secret").key.rpartition("/")[2]).symlink_to(secret)
    os.mkfifo(folder / _named(b"pipe").key.rpartition("/")[2])
    (folder.parent.parent / "host=eve").symlink_to(folder.parent)
    target = Target(f"delta:{tmp_path / 'lake'}")
    report = target.ingest(zone)
    assert [reason for _, reason in report.aside] == ["its name is not that of an object"]
    assert target.lines() == expected([host])
    assert secret.read_bytes() == b"secret"


def test_an_archive_that_was_copied_or_put_back_by_hand_gets_a_second_host(
    tmp_path: Path, zone: str, target: Target
) -> None:
    """Both put under the same prefix with the same numbers; no row of the one is taken for that of the other."""
    host, copy = (Host(tmp_path / "ada", zone) for _ in range(2))
    host.talk("one")
    host.put()
    target.ingest(zone)
    said = host.lines()
    copy.archive = tmp_path / "copy" / "archive.db"
    shutil.copytree(host.archive.parent, copy.archive.parent)
    for each, name in ((host, "two"), (copy, "three")):
        said += each.say(name, 3)
    report = target.ingest(zone)
    assert any("copied" in remark for remark in report.remarks)
    for each, name in ((host, "four"), (copy, "five")):
        said += each.say(name, 2)
    assert not target.ingest(zone).remarks
    assert target.lines() == sorted(said)
    assert len({row[0] for row in target.rows("host")}) == 2
    assert len(target.rows("session", "sessions")) == 5


def test_an_archive_that_was_put_back_by_hand_loses_no_line_between_known_ones(
    tmp_path: Path, zone: str, target: Target
) -> None:
    """It collects again what the store has, with something new between and after it."""
    host = Host(tmp_path / "ada", zone)
    host.talk("one")
    host.put()
    shutil.copytree(host.archive.parent, tmp_path / "backup")
    host.talk("two", 3)
    host.put()
    said = host.lines()
    target.ingest(zone)
    shutil.rmtree(host.archive.parent)
    shutil.copytree(tmp_path / "backup", host.archive.parent)
    for turns in (3, 4):
        host.put()
        host.talk("two", turns)
        said += host.say(f"new {turns}", 2)
    target.ingest(zone)
    missing = {*said, *host.lines()} - set(target.lines())
    assert not missing
    assert len({row[0] for row in target.rows("host")}) == 2
    assert not target.ingest(zone).remarks and not objects(zone)


def test_copies_without_end_are_put_aside(tmp_path: Path, zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clew.collect.landing.ingester._MAX_STREAMS", 3)
    target = Target(f"delta:{tmp_path / 'lake'}")
    for number in range(1, 6):
        record = Record(number, EPOCH, "p", "session", "", "", "", 1, 1, 1, 0, 2, 0, f"{number:064x}", b"{}")
        body = encode_object(HEADER._replace(made=number), [record])
        _put(zone, _named(body), body)
    report = target.ingest(zone)
    assert [reason for _, reason in report.aside] == ["its archive has 3 copies already"] * 2
    assert len(target.lines()) == 3


def test_secrets_and_other_projects_do_not_reach_the_zone(tmp_path: Path, zone: str) -> None:
    host = Host(tmp_path / "ada", zone)
    for folder in ("shop", "private"):
        path = host.root / session(1, f"projects/-home-ada-{folder}")
        path.parent.mkdir(parents=True)
        path.write_text(
            json.dumps({"type": "user", "uuid": folder, "message": {"role": "user", "content": SECRET}}) + "\n"
        )
    for outcome in host.send(SinkConfig(zone, denied=("private",))):
        assert outcome.error is None
    plain = b"".join(zlib.decompress(path.read_bytes(), 31) for path in objects(zone))
    assert b"[REDACTED:anthropic-key:" in plain and b"-home-ada-shop" in plain
    assert SECRET.encode()[14:40] not in plain and b"private" not in plain
    numbers = f"landing:{tmp_path / 'numbers'}"
    host.send(SinkConfig(numbers, send="facts", contents=False))
    assert [path.name.rpartition("-")[2][64:] for path in objects(numbers)] == [".facts.gz"]
    assert b"REDACTED" not in b"".join(zlib.decompress(path.read_bytes(), 31) for path in objects(numbers))


def test_an_object_that_comes_late_a_second_time_is_recognized(tmp_path: Path, zone: str, target: Target) -> None:
    """A put that a network delivered again after the object was committed and deleted."""
    host = Host(tmp_path / "ada", zone)
    host.talk("one")
    host.put()
    late = {path: path.read_bytes() for path in objects(zone)}
    for turns in (3, 4):
        host.talk("one", turns)
        host.put()
        target.ingest(zone)
    for path, data in late.items():
        path.write_bytes(data)
    report = target.ingest(zone)
    assert not report.objects and not report.aside and not objects(zone)
    assert target.lines() == expected([host])
    assert target.rows("turns", "sessions") == [(4,)]


def test_an_object_that_never_arrived_is_missed_and_those_after_it_are_taken(
    tmp_path: Path, zone: str, target: Target
) -> None:
    host = Host(tmp_path / "ada", zone)
    for turns in (1, 2, 3):
        host.talk("one", turns)
        host.put()
    objects(zone)[2].unlink()
    report = target.ingest(zone)
    assert "1 object" in report.remarks[0] and "resend" in report.remarks[0]
    _resend(host)
    target.ingest(zone)
    assert target.lines() == expected([host])


def test_no_host_can_claim_the_rows_of_another() -> None:
    """The column `host` follows from the prefix, and only a host itself can write there."""
    assert stream_host("ada", EPOCH, 0) != stream_host("eve", EPOCH, 0)
    assert stream_host("ada", EPOCH, 0) != stream_host("ada", EPOCH, 1)
    assert parse_key(f"host=../epoch={EPOCH}/00000001-{'0' * 16}-{'a' * 64}.lines.gz") is None
