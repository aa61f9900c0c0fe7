"""One case for each rule of the collector, small enough to see what it is about.

Each takes a maker of worlds, so that it can also be run with the rule switched off.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FunctionType
from typing import Any

from clew.errors import StoreError
from tests.collect.collect_fixture import KEY, World, line, session

Make = Callable[..., World]

ONE, TWO = session(1), session(2)
TIGHT = {"window": 16, "verify_below": 0, "racy": 0}  # nothing is seen but what the rule in question sees


class Death(BaseException):
    """The process dies here."""


def settle(world: World, path: str) -> None:
    """Give the file a time that is long past, as an edit by a careful tool would."""
    os.utime(world.root / path, ns=(10**18, 10**18))


def follows_no_link(make: Make) -> None:
    world = make()
    secret = world.folder / "outside.jsonl"
    secret.write_bytes(line(1, "outside"))
    (world.root / ONE).symlink_to(secret)
    (world.root / "projects" / "-linked").symlink_to(world.folder, target_is_directory=True)
    report = world.poll()
    assert world.kept() == {}
    assert set(report.skipped) == {ONE, "projects/-linked"}


def sees_an_edit_with_the_old_time(make: Make) -> None:
    """R3: the same mtime and the same size prove nothing."""
    world = make(**TIGHT)
    world.write(ONE, line(1) + line(2) + line(3))
    settle(world, ONE)
    world.poll()
    world.write(ONE, line(1) + line(9) + line(3))
    settle(world, ONE)
    world.poll()
    assert world.kept()[ONE] == line(1) + line(9) + line(3)


def sees_an_edit_within_a_tick(make: Make) -> None:
    """R3: a file that was written just now can be written again without a new time."""
    world = make(window=16, verify_below=0)
    world.write(ONE, line(1) + line(2) + line(3))
    world.poll()
    row = "UPDATE file SET mtime = ?, ctime = ?, size = ?"
    world.write(ONE, line(1) + line(9) + line(3))
    now = (world.root / ONE).stat()
    world.connection.execute(row, (now.st_mtime_ns, now.st_ctime_ns, now.st_size))
    world.poll()
    assert world.kept()[ONE] == line(1) + line(9) + line(3)


def leaves_unchanged_files_closed(make: Make) -> None:
    world = make(racy=0)
    world.write(ONE, line(1))
    assert world.poll().opened == 1
    assert world.poll().opened == 0


def takes_the_smallest_files(make: Make) -> None:
    world = make()
    world.write(ONE, b"{}\n")
    world.poll()
    assert world.kept()[ONE] == b"{}\n"


def leaves_empty_files_closed(make: Make) -> None:
    world = make()
    world.write(ONE, b"")
    report = world.poll()
    assert (report.files, report.opened, report.lines) == (1, 0, 0)


def tells_a_moved_file_by_its_content(make: Make) -> None:
    """R5, R10: the same inode under another name, with other content, is another file."""
    world = make(**TIGHT)
    world.write(ONE, line(1) + line(2) + line(3))
    world.poll()
    (world.root / ONE).rename(world.root / TWO)
    world.write(TWO, line(1) + line(8) + line(3) + line(4))
    report = world.poll()
    assert report.moves == []
    assert world.kept() == {ONE: line(1) + line(2) + line(3), TWO: line(1) + line(8) + line(3) + line(4)}


def keeps_a_moved_file_in_its_generation(make: Make) -> None:
    world = make()
    world.write(ONE, line(1) + line(2))
    world.poll()
    (world.root / ONE).rename(world.root / TWO)
    world.append(TWO, line(3))
    report = world.poll()
    assert [(move.old, move.new) for move in report.moves] == [(ONE, TWO)]
    assert report.lines == 1
    assert world.generations(TWO) == [("new", line(1) + line(2) + line(3))]
    assert list(world.kept()) == [TWO]


def sees_a_rewrite_that_grew(make: Make) -> None:
    """R6: a line was removed in place, and then the file grew beyond where it was."""
    world = make(**TIGHT)
    world.write(ONE, line(1) + line(2) + line(3))
    world.poll()
    world.write(ONE, line(1) + line(3) + line(4) + line(5))
    report = world.poll()
    assert [reset.reason for reset in report.resets] == ["rewritten"]
    assert [data for _, data in world.generations(ONE)] == [
        line(1) + line(2) + line(3),
        line(1) + line(3) + line(4) + line(5),
    ]


def sees_a_new_beginning(make: Make) -> None:
    """R6: the other end."""
    world = make(**TIGHT)
    world.write(ONE, line(1) + line(2))
    world.poll()
    world.write(ONE, line(7) + line(2) + line(3))
    world.poll()
    assert world.kept()[ONE] == line(7) + line(2) + line(3)


def sees_a_truncated_file(make: Make) -> None:
    world = make(**TIGHT)
    world.write(ONE, line(1) + line(2))
    world.poll()
    world.write(ONE, line(1))
    report = world.poll()
    assert [reset.reason for reset in report.resets] == ["truncated"]
    assert world.kept()[ONE] == line(1)


def sees_another_file_between_equal_ends(make: Make) -> None:
    """R6: another inode is compared whole, even if it is longer and both ends are the same."""
    world = make(**TIGHT)
    world.write(ONE, line(1) + line(2) + line(3))
    world.poll()
    draft = world.write(ONE.replace(".jsonl", ".draft"), line(1) + line(9) + line(3) + line(4))
    draft.replace(world.root / ONE)
    world.poll()
    assert world.kept()[ONE] == line(1) + line(9) + line(3) + line(4)


def goes_on_with_an_equal_file(make: Make) -> None:
    """A session that was put back from a copy is still the same session."""
    world = make()
    world.write(ONE, line(1) + line(2))
    world.poll()
    (world.root / ONE).unlink()
    world.poll()
    world.write(ONE, line(1) + line(2) + line(3))
    assert world.poll().lines == 1
    assert world.generations(ONE) == [("new", line(1) + line(2) + line(3))]


def sees_an_edit_of_the_same_length(make: Make) -> None:
    """R7: the time changed and the size did not."""
    world = make(**TIGHT)
    world.write(ONE, line(1) + line(2) + line(3))
    world.poll()
    world.write(ONE, line(1) + line(9) + line(3))
    world.poll()
    assert [data for _, data in world.generations(ONE)] == [
        line(1) + line(2) + line(3),
        line(1) + line(9) + line(3),
    ]


def finds_by_scrubbing_what_growth_hid(make: Make) -> None:
    """R8: an edit of the same length in the middle, and then the file grew."""
    world = make(**TIGHT)
    world.write(ONE, line(1) + line(2) + line(3))
    world.poll()
    world.write(ONE, line(1) + line(9) + line(3) + line(4))
    world.poll()
    assert world.kept()[ONE] != line(1) + line(9) + line(3) + line(4), "then no scrub is needed, and this case is stale"
    world.poll(scrub=True)
    assert world.kept()[ONE] == line(1) + line(9) + line(3) + line(4)


def scrubs_before_a_file_is_deleted(make: Make) -> None:
    """R8: without being asked, when the file comes near the age at which Claude Code deletes it."""
    world = make(**TIGHT, scrub_age=10**18)
    day = 86_400 * 10**9
    target = world.write(ONE, line(1) + line(2) + line(3))
    world.poll()
    world.write(ONE, line(1) + line(9) + line(3) + line(4))
    world.poll()
    written = target.stat().st_mtime_ns
    world.now = lambda: written + 28 * day
    report = world.poll()
    assert (report.expiring, report.scrubbed) == (1, 1)
    assert world.kept()[ONE] == line(1) + line(9) + line(3) + line(4)
    assert world.poll().scrubbed == 0


def scrubs_every_file_in_its_turn(make: Make) -> None:
    """R8: a portion at each poll, and a file that is larger than a portion has its turn too."""
    world = make(**TIGHT, scrub_budget=10, scrub_age=10**9)
    for path in (ONE, TWO):
        world.write(path, line(1) + line(2) + line(3))
    world.poll()
    for path in (ONE, TWO):
        world.write(path, line(1) + line(9) + line(3) + line(4))
    world.poll()
    later = max((world.root / path).stat().st_ctime_ns for path in (ONE, TWO)) + 10**10
    world.now = lambda: later
    assert [world.poll().scrubbed for _ in range(3)] == [1, 1, 0]
    assert world.kept() == world.there()


def compares_small_files_whole(make: Make) -> None:
    world = make(window=16, racy=0)
    world.write(ONE, line(1) + line(2) + line(3))
    world.poll()
    world.write(ONE, line(1) + line(9) + line(3) + line(4))
    world.poll()
    assert world.kept()[ONE] == line(1) + line(9) + line(3) + line(4)


def sees_what_changed_during_the_read(make: Make) -> None:
    """The beginning was read, then the file was rewritten, then the end was read."""
    world = make(window=16, verify_below=0, racy=0, block=60)
    world.write(ONE, b"".join(line(n) for n in range(1, 6)))
    new = b"".join(line(n) for n in (1, 12, 13, 14, 15, 16))
    left = [8]

    def trace(cursor: object, statement: str, bindings: object) -> bool:
        left[0] -= statement.startswith("INSERT INTO content")
        if left[0] == 6:
            left[0] -= 1
            world.write(ONE, new)
        return True

    world.connection.exec_trace = trace
    world.poll()
    world.connection.exec_trace = None
    assert left[0] < 6
    world.append(ONE, line(17))
    world.poll()
    assert world.kept()[ONE] == new + line(17)


def begins_a_generation_before_its_rows(make: Make) -> None:
    """R9, R21: what a file was stays as it was when it begins anew."""
    world = make()
    world.write(ONE, line(1) + line(2))
    world.poll()
    world.write(ONE, line(5))
    world.poll()
    world.write(ONE, line(6) + line(7) + line(8))
    world.poll()
    assert [data for _, data in world.generations(ONE)] == [
        line(1) + line(2),
        line(5),
        line(6) + line(7) + line(8),
    ]


def takes_nothing_for_deleted_after_half_a_scan(make: Make) -> None:
    """R11: a folder that is not there at the moment, such as a disk that is not mounted, deletes nothing."""
    world = make()
    world.write(ONE, line(1))
    world.poll()
    world.root.rename(world.folder / "unmounted")
    report = world.poll()
    assert report.missed and not report.gone
    (world.folder / "unmounted").rename(world.root)
    (world.root / ONE).unlink()
    assert world.poll().gone == [ONE]
    assert world.kept()[ONE] == line(1)
    assert world.poll().gone == []


def cuts_at_newlines_alone(make: Make) -> None:
    """R12: a carriage return, U+2028 and U+0085 are characters like others."""
    world = make()
    odd = '{"a":"x\u2028y\u0085z"}\r\n'.encode() + b'{"b":1}\r{"c":\x0b\x0c2}\n'
    world.write(ONE, odd)
    assert world.poll().lines == 2
    assert world.kept()[ONE] == odd


def waits_for_the_end_of_a_line(make: Make) -> None:
    """R13: an unfinished line is kept beside the lines, and is none of them before it is whole."""
    world = make()
    world.write(ONE, line(1) + line(2)[:20])
    assert world.poll().lines == 1
    assert world.connection.execute("SELECT count(*) FROM occurrence").get == 1
    assert world.kept()[ONE] == line(1) + line(2)[:20]
    world.append(ONE, line(2)[20:])
    assert world.poll().lines == 1
    assert world.generations(ONE) == [("new", line(1) + line(2))]
    assert world.connection.execute("SELECT max(number), count(*) FROM occurrence").fetchall() == [(2, 2)]


def takes_lines_of_any_length(make: Make) -> None:
    """R14: nothing is split, cut or left out; what is beyond the hard limit is known by its hash."""
    world = make(block=100, stream_above=1000, max_stored=5000)
    data = line(1) + line(2, "x" * 3000) + line(3)
    world.write(ONE, data)
    assert world.poll().lines == 3
    assert world.kept()[ONE] == data
    world.write(TWO, line(4) + line(5, "y" * 9000) + line(6))
    assert world.poll().lines == 3
    assert [row.reason for row in world.archive.quarantine()] == ["it is too long to be kept"]
    sizes = "SELECT c.size FROM occurrence o JOIN content c ON c.id = o.content WHERE o.length > 9000"
    assert world.connection.execute(sizes).get == len(line(5, "y" * 9000)) - 1


def waits_for_the_end_of_a_long_line(make: Make) -> None:
    world = make(block=100, stream_above=1000)
    world.write(ONE, line(1) + line(2, "x" * 3000)[:-1])
    assert world.poll().pending == len(line(2, "x" * 3000)) - 1
    world.append(ONE, b"\n" + line(3))
    assert world.poll().lines == 2
    assert world.kept()[ONE] == line(1) + line(2, "x" * 3000) + line(3)


def puts_damage_in_quarantine(make: Make) -> None:
    """R15, R16: it is kept as it is, told, and what is whole in it is saved."""
    world = make()
    glued = b'{"type":"pr-link","prNu{"type":"user","uuid":"u","sessionId":"s"}\n'
    world.write(ONE, line(1) + glued + b"\0" * 40 + b"\n" + line(2))
    report = world.poll()
    assert (report.lines, report.damaged) == (4, 2)
    found = world.archive.quarantine()
    assert [(row.offset, row.length, row.kind) for row in found] == [
        (len(line(1)), len(glued), "spliced"),
        (len(line(1) + glued), 41, "nul"),
    ]
    saved = world.connection.execute("SELECT salvaged FROM quarantine WHERE kind = 'spliced'").get
    start = len(line(1)) + glued.find(b'{"type":"user"')
    assert saved == f"[[{start}, {len(line(1) + glued) - 1 - start}]]"
    assert world.kept()[ONE] == line(1) + glued + b"\0" * 40 + b"\n" + line(2)


def keeps_equal_lines_once(make: Make) -> None:
    """R20: a line that occurs often, in one file or in many, is stored once."""
    world = make()
    world.write(ONE, line(1) * 50 + line(2))
    world.write(TWO, line(1) * 50 + line(3))
    world.poll()
    assert world.kept() == {ONE: line(1) * 50 + line(2), TWO: line(1) * 50 + line(3)}
    assert world.connection.execute("SELECT count(*) FROM content").get == 3


def is_for_its_owner_alone(make: Make) -> None:
    """R24: the archive and whatever lies beside it."""
    umask = os.umask(0)
    try:
        world = make()
        world.module("archive.archive_schema").load_key(str(Path(world.path).with_suffix(".key")))
        with world.module("collector_lock").hold_lock(str(Path(world.path).with_suffix(".lock"))):
            world.write(ONE, line(1))
            world.poll()
    finally:
        os.umask(umask)
    folder = Path(world.path).parent
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert {"archive.db", "archive.db-wal", "archive.key", "archive.lock"} <= set(modes)
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def works_alone(make: Make) -> None:
    """R25: a second collector is told so, and by whom it is kept out."""
    from clew.errors import Busy

    world = make()
    path = str(Path(world.path).with_suffix(".lock"))
    alone = world.module("collector_lock").hold_lock
    with alone(path):
        try:
            with alone(path):
                raise AssertionError("two collectors at work")
        except Busy as busy:
            assert busy.since
            assert str(os.getpid()) in busy.hint
    with alone(path):
        pass


def reads_the_oldest_first(make: Make) -> None:
    """R30: what is deleted next is read first; then transcripts before agents, and these before the history."""
    world = make()
    agent = f"{ONE.removesuffix('.jsonl')}/subagents/agent-a1.jsonl"
    ages = {"history.jsonl": 40, agent: 9, TWO: 1, ONE: 5}
    for path, age in ages.items():
        world.write(path, line(age))
        os.utime(world.root / path, ns=(10**18 - age * 86_400 * 10**9,) * 2)
    world.now = lambda: 10**18
    world.poll()
    joined = "occurrence o JOIN generation g ON g.id = o.generation JOIN file f ON f.id = g.file"
    rows = world.connection.execute(f"SELECT f.path FROM {joined} ORDER BY o.seq")
    assert [row[0] for row in rows] == ["history.jsonl", ONE, TWO, agent]


def keeps_the_last_good_side_file(make: Make) -> None:
    """A JSON file that is read while it is written is no JSON: what was good stays, and the next state is taken."""
    world = make()
    index = "projects/-home-ada-shop/sessions-index.json"
    for data in (b'{"version":1,"entries":[]}', b'{"version":1,"ent', b'{"version":1,"entries":[1]}'):
        world.write(index, data)
        world.poll()
    assert [data for _, data in world.generations(index)] == [
        b'{"version":1,"entries":[]}',
        b'{"version":1,"entries":[1]}',
    ]


def commits_rows_and_offsets_together(make: Make) -> None:
    """R19: wherever the process dies, what is in the archive is what its offset says."""
    for statement in range(1, 40):
        world = make(commit_bytes=100)
        world.write(ONE, b"".join(line(n) for n in range(1, 8)))
        left = [statement]

        def trace(cursor: object, text: str, bindings: object, left: list[int] = left) -> bool:
            left[0] -= 1
            if left[0] == 0:
                raise Death
            return True

        world.connection.exec_trace = trace
        try:
            world.poll()
        except Death:
            pass
        world.reopen()
        assert world.connection.execute("SELECT coalesce(max(offset + length), 0) FROM occurrence").get == (
            world.connection.execute("SELECT coalesce(max(offset), 0) FROM generation").get
        )
        world.poll()
        assert world.generations(ONE) == [("new", b"".join(line(n) for n in range(1, 8)))]


class Shelf:
    """A sink in memory that refuses what it is told to."""

    name = "shelf"
    leaves = True

    def __init__(self, refused: dict[bytes, StoreError]) -> None:
        self.refused = refused
        self.taken: list[bytes] = []

    def write(self, records: Sequence[Any]) -> None:
        for record in records:
            if record.raw in self.refused:
                raise self.refused[record.raw]
        self.taken += [record.raw for record in records]

    def close(self) -> None:
        pass


def _deliver(world: World, shelf: Shelf) -> Any:
    outbox, policy = world.module("sinks.outbox"), world.module("masking").Policy(KEY)
    cursor = outbox.SequenceCursor(world.connection, shelf.name)
    return outbox.Delivery(shelf, cursor, world.connection, policy).run(0.0)


def moves_the_cursor_behind_what_was_accepted(make: Make) -> None:
    """R26, R27: a batch that failed is sent again, and one that was accepted is not."""
    world = make()
    world.write(ONE, line(1) + line(2))
    world.poll()
    shelf = Shelf({line(2)[:-1]: StoreError("down", "unavailable", True)})
    assert _deliver(world, shelf).error
    shelf.refused.clear()
    _deliver(world, shelf)
    _deliver(world, shelf)
    assert shelf.taken == [line(1)[:-1], line(2)[:-1]]


def finds_the_poison_in_a_batch(make: Make) -> None:
    """R28: what can never be taken is put aside, and nothing else is."""
    world = make()
    world.write(ONE, b"".join(line(n) for n in range(1, 9)))
    world.poll()
    shelf = Shelf({line(3)[:-1]: StoreError("no", "poison", False)})
    assert _deliver(world, shelf).rejected == 1
    assert shelf.taken == [line(n)[:-1] for n in (1, 2, 4, 5, 6, 7, 8)]


def sends_no_secret(make: Make) -> None:
    """R29: what leaves the machine is masked."""
    world = make()
    world.write(ONE, line(1, "sk-ant-api03-" + "Zq7" * 12))
    world.poll()
    shelf = Shelf({})
    _deliver(world, shelf)
    assert [b"Zq7" in raw for raw in shelf.taken] == [False]


def sends_no_stub_unless_it_goes_on(make: Make) -> None:
    world = make()
    agent = f"{ONE.removesuffix('.jsonl')}/subagents/agent-a1.jsonl"
    warmup = b'{"type":"user","message":{"role":"user","content":"Warmup"}}\n'
    world.write(ONE, line(1))
    world.write(agent, warmup)
    world.poll()
    shelf = Shelf({})
    _deliver(world, shelf)
    assert shelf.taken == [line(1)[:-1]]
    world.append(agent, line(2))
    world.poll()
    _deliver(world, shelf)
    assert shelf.taken == [line(1)[:-1], warmup[:-1], line(2)[:-1]]


CASES: tuple[Callable[[Make], None], ...] = tuple(
    value
    for name, value in list(globals().items())
    if isinstance(value, FunctionType) and value.__module__ == __name__ and name not in ("settle", "_deliver")
)
