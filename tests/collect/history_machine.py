"""The state machine of deliveries: archives, backups, stores, the network and the clock.

Each history ends with everything healthy. Then every line that an archive has, and every line that a store had taken,
is in the store, once for each name under which it was sent, unchanged; and the facts agree with the lines.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any, cast

import apsw

from clew.collect.archive.archive_backup import back_up, put_back
from clew.collect.archive.archive_schema import open_archive
from clew.collect.archive.content_reader import CONTENT, ContentReader
from clew.collect.archive.erase import erase
from clew.collect.collector import Collector
from clew.collect.config import SinkConfig
from clew.collect.sinks.address import deliveries
from clew.collect.sinks.outbox import Delivery, SequenceCursor
from clew.collect.sinks.rejected import list_rejected, retry_rejected
from clew.errors import StoreError
from tests.collect.collect_fixture import KEY, SHM, flip_bit, session
from tests.collect.machine import Crash
from tests.collect.store_kinds import StoreKind

PATHS = (session(1), session(2), session(3, "projects/-home-ada-other"))
DAYS = ("2026-11-10", "2026-11-11")
ROWS = 3  # in a batch, so that few lines make several
HOUR = 3600 * 10**9
LIVES = 3  # archives in one history

_FAULTS = ("", "", "", "refuse", "deafen", "crash", "crash")

Move = tuple[str, dict[str, Any]]


def reply_line(number: int, path: str) -> bytes:
    """A reply that nothing else repeats, on one of two days."""
    time = f"{DAYS[number % 2]}T09:{number // 60 % 60:02}:{number % 60:02}Z"
    return (
        f'{{"type":"assistant","uuid":"u{number}","parentUuid":null,"sessionId":"{Path(path).stem}","timestamp":"{time}",'
        f'"message":{{"id":"msg_{number}","role":"assistant","model":"claude-opus-4-5","content":[{{"type":"text",'
        f'"text":"reply {number}"}}],"stop_reason":"end_turn","usage":{{"input_tokens":3,"output_tokens":{number}}}}}}}\n'
    ).encode()


class Life:
    """An archive on a machine, with the folder of Claude Code that it collects. Only one stands at the path of all."""

    def __init__(self, base: Path, number: int) -> None:
        self.folder = base / f"life-{number}"
        self.folder.mkdir()
        self.root = self.folder / "claude"
        (self.root / "projects").mkdir(parents=True)
        self.archive = str(self.folder / "archive.db")
        self.known: set[bytes] = set()
        self.watching: ExitStack | None = None
        self.deliveries: list[Delivery[Any]] = []
        self.connection: apsw.Connection = open_archive(self.archive)

    def close(self) -> None:
        self.stop()
        self.connection.close()

    def reopen(self) -> None:
        self.close()
        self.connection = open_archive(self.archive)

    def stop(self) -> None:
        if self.watching is not None:
            self.watching.close()
        self.watching, self.deliveries = None, []

    def lines(self) -> set[bytes]:
        """Every whole line in the files now."""
        files = (self.root / "projects").rglob("*.jsonl")
        return {line for file in files for line in file.read_bytes().split(b"\n")[:-1]}

    def archived(self) -> set[bytes]:
        """Every line in the archive."""
        query = f"SELECT {CONTENT} FROM occurrence o JOIN content c ON c.id = o.content"
        reader = ContentReader(self.connection)
        return {reader.read(*row[:5]) or b"" for row in cast("Any", self.connection.execute(query))}


class HistoryMachine:
    """One history on one store."""

    def __init__(self, store: StoreKind) -> None:
        self.store = store
        self.base = Path(tempfile.mkdtemp(dir=SHM if SHM.is_dir() else None))
        self.store.reset()
        self.lives: list[Life] = []
        self.number = 0
        self.now = 1_800_000_000 * 10**9
        self.time = 0.0
        self.held: set[bytes] = set()
        self.ever: set[bytes] = set()
        self.backups: list[tuple[str, set[bytes], Life]] = []
        self.copies: list[set[bytes]] = []
        self.is_plain = True  # no archive was put back or copied, and no store lost: one name is enough
        self.needs_resend = False
        self.has_copies = False  # then the facts under a name are those of one of the archives
        self.has_repeats = False
        self.has_erased = False
        self.lives.append(Life(self.base, 0))
        self.standing: Life | None = None

    def close(self) -> None:
        for life in self.lives:
            life.close()
        self.store.heal()
        shutil.rmtree(self.base, ignore_errors=True)

    # -- which machine

    def life(self, who: int) -> Life:
        """Return one of the machines, with its folder at the path that all of them use."""
        life = self.lives[who % len(self.lives)]
        place = self.base / "claude"
        if self.standing is not life:
            if self.standing is not None:
                place.rename(self.standing.folder / "claude")
                self.standing.root = self.standing.folder / "claude"
            life.root.rename(place)
            life.root, self.standing = place, life
        return life

    # -- what happens to files

    def _next(self, path: str) -> bytes:
        self.number += 1
        return reply_line(self.number, path)

    def append(self, who: int, path: str, count: int, torn: bool) -> None:
        file = self.life(who).root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        data = b"".join(self._next(path) for _ in range(count))
        with open(file, "ab") as stream:
            stream.write(data + self._next(path)[:40] if torn else data)

    def work(self, who: int, path: str, count: int, fault: str, after: int) -> None:
        """New lines are polled and sent."""
        self.append(who, path, count, False)
        self.poll(who, False)
        self.deliver(who, fault, after)

    def watch_work(self, who: int, path: str, count: int, fault: str, after: int) -> None:
        """New lines are polled and sent by a collector that keeps running."""
        self.append(who, path, count, False)
        self.poll(who, False)
        self.watch(who, fault, after, 1.0)

    def rewrite(self, who: int, path: str, which: int, whole: bool) -> None:
        """A line is removed in place, or all lines are others."""
        file = self.life(who).root / path
        if file.exists() and (lines := file.read_bytes().splitlines(keepends=True)):
            del lines[which % len(lines)]
            file.write_bytes(self._next(path) + self._next(path) if whole else b"".join(lines))

    def delete(self, who: int, path: str) -> None:
        (self.life(who).root / path).unlink(missing_ok=True)

    def rename(self, who: int, old: str, new: str) -> None:
        root = self.life(who).root
        if (root / old).exists() and not (root / new).exists():
            (root / new).parent.mkdir(parents=True, exist_ok=True)
            (root / old).rename(root / new)

    # -- what the collector does

    def collector(self, life: Life) -> Collector:
        return Collector(str(self.base / "claude"), life.connection, KEY, clock=lambda: self.now)

    def poll(self, who: int, scrub: bool = False) -> None:
        life = self.life(who)
        report = self.collector(life).poll(scrub=scrub)
        assert not report.failures
        life.known |= life.lines()
        self.ever |= life.lines()

    def die_in_poll(self, who: int, after: int) -> None:
        life = self.life(who)
        self.ever |= life.lines()
        self._die_at(life.connection, after)
        try:
            self.collector(life).poll()
        except Crash:
            pass
        life.connection.exec_trace = None
        life.reopen()

    def deliver(self, who: int, fault: str, after: int) -> None:
        """One run of `clew collect --to`."""
        life = self.life(who)
        life.stop()
        with deliveries(self.collector(life), [SinkConfig(self.store.address, reveal=True)]) as waiting:
            self.send(life, waiting, fault, after)

    def watch(self, who: int, fault: str, after: int, seconds: float) -> None:
        """One turn of `clew collect --watch`, which keeps its connections."""
        life = self.life(who)
        if life.watching is None:
            life.watching = ExitStack()
            made = deliveries(self.collector(life), [SinkConfig(self.store.address, reveal=True)])
            life.deliveries = life.watching.enter_context(made)
        self.time += seconds
        self.send(life, life.deliveries, fault, after)

    def send(self, life: Life, waiting: list[Delivery[Any]], fault: str, after: int) -> None:
        if fault == "crash":
            self._die_at(life.connection, after)
        elif fault:
            self.store.break_down(fault, after)
        known, is_complete = set(life.known), True
        try:
            for delivery in waiting:
                shorten(delivery)
                outcome = delivery.run(self.time)
                is_complete = is_complete and outcome is not None and not outcome.error and not outcome.rejected
                if outcome and outcome.error and not fault:
                    raise outcome.error
        except Crash:
            is_complete = False
        finally:
            life.connection.exec_trace = None
            self.store.heal()
        if fault == "crash":
            life.reopen()
        if is_complete and not fault and not list_rejected(life.connection):
            self.held |= known

    @staticmethod
    def _die_at(connection: apsw.Connection, after: int) -> None:
        left = [after]

        def trace(cursor: Any, statement: str, bindings: Any) -> bool:
            left[0] -= 1
            if left[0] == 0:
                raise Crash
            return True

        connection.exec_trace = trace

    def resend(self, who: int) -> None:
        life = self.life(who)
        life.stop()
        self._send_again(life)

    def _send_again(self, life: Life) -> None:
        names = life.connection.execute("SELECT name FROM sink WHERE name NOT LIKE '%#facts'").fetchall()
        for (name,) in names:
            SequenceCursor(life.connection, str(name)).resend()
        self.has_repeats = True

    def damage(self, who: int, which: int) -> None:
        """A bit of the archive flips while the source is there; lines are sent, and a scrub repairs it."""
        self.poll(who)
        life = self.life(who)
        rows: list[Any] = life.connection.execute(f"SELECT id, {CONTENT} FROM content c ORDER BY id").fetchall()
        there, reader = life.lines(), ContentReader(life.connection)
        rows = [row for row in rows if reader.read(*row[1:6]) in there]
        if not rows:
            return
        content, _, _, pack, *_ = rows[which % len(rows)]
        table, number = ("content", content) if pack is None else ("pack", pack)
        flip_bit(life.connection, table, number)
        self.has_repeats = True  # in a file, if an acknowledgement was lost before
        self.deliver(who, "", 0)
        self.poll(who, scrub=True)

    def erase(self, who: int, path: str) -> None:
        """A session is erased in the archive; its file is gone too. What a store has of it stays there."""
        life = self.life(who)
        life.stop()
        (life.root / path).unlink(missing_ok=True)
        erase(life.connection, [Path(path).stem], dry_run=False)
        life.connection.execute("DELETE FROM erased")  # the path is used again
        life.known = life.archived()
        self.has_erased = True

    # -- backups, copies, stores, the clock

    def back_up(self, who: int) -> None:
        life = self.life(who)
        target = str(self.base / f"backup-{len(self.backups)}.db")
        back_up(life.archive, str(self.base / "no.key"), target)
        self.backups.append((target, set(life.known), life))

    def restore(self, who: int, which: int, command: bool) -> None:
        """A backup is put back, by the command or by copying the file; also one of another machine."""
        if not self.backups:
            return
        life = self.life(who)
        life.close()
        source, known, owner = self.backups[which % len(self.backups)]
        self.has_copies = self.has_copies or owner is not life
        if command:
            put_back(source, life.archive, str(self.base / "no.key"))
        else:
            for end in ("-wal", "-shm"):
                Path(life.archive + end).unlink(missing_ok=True)
            shutil.copy(source, life.archive)
        life.connection = open_archive(life.archive)
        life.known = set(known)
        self.is_plain = False

    def clone(self, who: int, with_files: bool) -> None:
        """The archive is copied to another machine, with or without the folder of Claude Code, and both go on."""
        if len(self.lives) == LIVES:
            return
        life = self.life(who)
        other = Life(self.base, len(self.lives))
        other.close()
        life.reopen()
        life.close()
        shutil.copy(life.archive, other.archive)
        life.connection, other.connection = open_archive(life.archive), open_archive(other.archive)
        if with_files:
            shutil.copytree(life.root, other.root, dirs_exist_ok=True)
        other.known = set(life.known)
        self.has_copies = True
        self.lives.append(other)
        self.is_plain = False

    def lose_store(self) -> None:
        if self.store.knows_itself:
            self.store.reset()
            self.held = set()
            self.is_plain = False

    def copy_store(self) -> None:
        if self.store.knows_itself:
            self.store.copy(len(self.copies))
            self.copies.append(set(self.held))

    def restore_store(self, which: int) -> None:
        if self.copies and self.store.knows_itself:
            number = which % len(self.copies)
            self.store.put_back(number)
            self.held = set(self.copies[number])
            self.is_plain = False

    def drop_day(self, day: str) -> None:
        self.needs_resend = self.store.drop_day(day) or self.needs_resend

    def move_clock(self, hours: int) -> None:
        self.now += hours * HOUR

    # -- what must hold

    def finish(self) -> None:
        """Send everything with a healthy network, and compare."""
        self.store.heal()
        for who, life in enumerate(self.lives):
            self.deliver(who, "", 0)
            if self.needs_resend:
                self.resend(who)
                self.deliver(who, "", 0)
            if list_rejected(life.connection):
                self._retry(life)
        self._check_lines()
        if self.store.knows_itself:
            self._check_facts()

    def _retry(self, life: Life) -> None:
        with deliveries(self.collector(life), [SinkConfig(self.store.address, reveal=True)]) as waiting:
            for delivery in waiting:
                outcome = retry_rejected(delivery).run(self.time)
                assert outcome and not outcome.error and not outcome.rejected, outcome
        assert not list_rejected(life.connection)

    def _check_lines(self) -> None:
        rows = list(self.store.rows())
        have = {row.raw for row in rows}
        if not self.needs_resend:  # a day that was dropped took lines with it that no archive has any more
            assert self.held <= have, f"taken and lost: {sorted(self.held - have)}"
        for number, life in enumerate(self.lives):
            assert life.known <= have, f"machine {number} lacks {sorted(life.known - have)}"
        assert have <= self.ever, f"never stood in a file: {sorted(have - self.ever)}"
        assert all(row.hash == sha256(row.raw).hexdigest() for row in rows), "changed"
        if self.store.knows_itself or (self.is_plain and not self.has_repeats):
            twice = [place for place, count in Counter(row.place for row in rows).items() if count > 1]
            assert not twice, f"twice: {twice}"
        if self.is_plain and not self.has_erased:
            assert len({row.place[0] for row in rows}) <= 1, "a new name without need"

    def _check_facts(self) -> None:
        replies, files = self.store.replies(), self.store.files()
        assert all(name == f"msg_{output}" for name, output in replies.items())
        current: set[str] = set()
        if self.has_copies:
            return
        for number, life in enumerate(self.lives):
            for path, lines in self._newest(life):
                if self.is_plain:  # else the store may have facts of lines that a restored archive lacks
                    assert (path, len(lines)) in files, f"machine {number}: {path} has {len(lines)} lines"
                mine = {_reply(line) for line in lines} - {""}
                assert mine <= set(replies), f"machine {number}: {path} lacks {sorted(mine - set(replies))}"
                current |= mine
        if self.is_plain and not self.has_erased:
            assert set(replies) == current, f"no longer there: {sorted(set(replies) - current)}"

    @staticmethod
    def _newest(life: Life) -> Iterator[tuple[str, list[bytes]]]:
        """Each session with its lines in the newest generation."""
        query = f"""SELECT f.path, {CONTENT} FROM file f JOIN occurrence o ON o.generation = f.generation
          JOIN content c ON c.id = o.content ORDER BY f.id, o.offset"""
        found: dict[str, list[bytes]] = {}
        reader = ContentReader(life.connection)
        row: Any
        for row in life.connection.execute(query):
            found.setdefault(row[0], []).append(reader.read(*row[1:6]) or b"")
        yield from found.items()


_HOURS = (-1000, -1, 1, 200, 10_000)
_MOVES: dict[str, tuple[int, tuple[str, ...]]] = {
    "append": (4, ("who", "path", "count", "torn")),
    "work": (10, ("who", "path", "count", "fault", "after")),
    "watch_work": (6, ("who", "path", "count", "fault", "after")),
    "rewrite": (3, ("who", "path", "which", "whole")),
    "delete": (2, ("who", "path")),
    "rename": (2, ("who", "old", "new")),
    "poll": (3, ("who", "scrub")),
    "die_in_poll": (2, ("who", "after")),
    "deliver": (4, ("who", "fault", "after")),
    "watch": (4, ("who", "fault", "after", "seconds")),
    "resend": (2, ("who",)),
    "damage": (2, ("who", "which")),
    "erase": (1, ("who", "path")),
    "back_up": (3, ("who",)),
    "restore": (3, ("who", "which", "command")),
    "clone": (2, ("who", "with_files")),
    "lose_store": (2, ()),
    "copy_store": (3, ()),
    "restore_store": (3, ("which",)),
    "drop_day": (1, ("day",)),
    "move_clock": (2, ("hours",)),
}
"""How often each move is made, and what it needs."""

_VALUES: dict[str, Callable[[Random], Any]] = {
    "who": lambda random: random.randrange(LIVES),
    "path": lambda random: random.choice(PATHS),
    "old": lambda random: random.choice(PATHS),
    "new": lambda random: random.choice(PATHS),
    "count": lambda random: random.randint(1, 4),
    "fault": lambda random: random.choice(_FAULTS),
    "after": lambda random: random.randint(1, 40),
    "which": lambda random: random.randrange(8),
    "seconds": lambda random: random.choice((1.0, 400.0)),
    "day": lambda random: random.choice(DAYS),
    "hours": lambda random: random.choice(_HOURS),
    **dict.fromkeys(("torn", "scrub", "whole", "command", "with_files"), lambda random: random.random() < 0.5),
}


def random_moves(seed: int, steps: int) -> list[Move]:
    """The moves of a history. Each leaves some kinds of moves out, so that the others follow each other more often."""
    random = Random(seed)
    names = [name for name in _MOVES if random.random() < 0.7] + ["work"]
    chosen = random.choices(names, [_MOVES[name][0] for name in names], k=random.randint(steps // 3, steps))
    return [(name, {value: _VALUES[value](random) for value in _MOVES[name][1]}) for name in chosen]


def play(store: StoreKind, moves: Sequence[Move]) -> None:
    """Make moves on a new store, and check what must hold."""
    machine = HistoryMachine(store)
    try:
        for name, values in moves:
            getattr(machine, name)(**values)
        machine.finish()
    finally:
        machine.close()


def failure(store: StoreKind, moves: Sequence[Move]) -> Exception | None:
    """Play a history; return what went wrong."""
    try:
        play(store, moves)
    except (AssertionError, StoreError) as error:
        return error
    return None


def shrink(store: StoreKind, moves: Sequence[Move], error: Exception) -> tuple[list[Move], Exception]:
    """Leave out moves as long as the history fails."""
    kept = list(moves)
    at = 0
    while at < len(kept):
        shorter = kept[:at] + kept[at + 1 :]
        if found := failure(store, shorter):
            kept, error = shorter, found
        else:
            at += 1
    return kept, error


def run_histories(store: StoreKind, seeds: Iterable[int], steps: int) -> None:
    """Play histories; the first that fails is reported with the moves that are needed for it."""
    for seed in seeds:
        moves = random_moves(seed, steps)
        if found := failure(store, moves):
            needed, error = shrink(store, moves, found)
            text = "".join(f"\n  {name}({', '.join(f'{k}={v!r}' for k, v in given.items())})" for name, given in needed)
            raise AssertionError(f"history {seed} of {steps} steps: {error}{text}") from error


def shorten(delivery: Delivery[Any]) -> None:
    """Let few lines make several batches, and no pause hold them back."""
    cursor: Any = delivery.cursor
    place = getattr(cursor, "place", cursor)
    place.rows = ROWS
    if hasattr(cursor, "pace"):
        cursor.pace.last = None
    if hasattr(cursor, "clock"):
        cursor.clock = lambda: 0.0
    delivery.not_before = 0.0


def _reply(line: bytes) -> str:
    """The id of the reply in a line, also if a torn line stands before it; empty without one."""
    found = re.search(rb'"id":"(msg_\d+)"', line)
    return found[1].decode() if found else ""
