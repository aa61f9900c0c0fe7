"""Real stores for histories: a file of JSON lines, a Delta lake in a folder, and a PostgreSQL database.

Each can be lost, copied, put back, and taken away for a while.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import psycopg

from clew.collect.sinks.postgres.connection import PostgresConnection
from clew.collect.sinks.postgres.setup import set_up_store
from clew.collect.sql.open_store import open_engine
from tests.collect.postgres import Cluster
from tests.collect.proxy import Proxy


class Row(NamedTuple):
    """A line in a store. `place` is what makes it one line: host, file, generation and offset."""

    place: tuple[str, str, int, int]
    hash: str
    raw: bytes


class StoreKind:
    """A store that histories are sent to."""

    address: str
    knows_itself = True
    """Whether it keeps what it was sent last, so that its loss is noticed."""

    def reset(self) -> None:
        """Become a new, empty store."""
        raise NotImplementedError

    def rows(self) -> Iterator[Row]:
        raise NotImplementedError

    def replies(self) -> dict[str, int]:
        """The tokens of each reply in the view `replies`."""
        with open_engine(self.address) as engine, engine.run("SELECT reply, output FROM replies") as found:
            rows = [(str(reply), int(output or 0)) for reply, output in found.rows]
        assert len(dict(rows)) == len(rows), "a reply is counted twice"
        return dict(rows)

    def files(self) -> set[tuple[str, int]]:
        """The path and the number of lines of each file that has facts."""
        with open_engine(self.address) as engine, engine.run("SELECT path, lines FROM fact_file") as found:
            return {(str(path), int(lines or 0)) for path, lines in found.rows}

    def copy(self, number: int) -> None:
        """Take a backup of the store."""
        raise NotImplementedError

    def put_back(self, number: int) -> None:
        raise NotImplementedError

    def drop_day(self, day: str) -> bool:
        """Delete a day as the owner may; False if this store has no such thing."""
        return False

    def break_down(self, how: str, after: int) -> None:
        """Fail from now on: `refuse`, or `deafen`, which accepts a batch and never says so."""

    def heal(self) -> None: ...

    def close(self) -> None: ...


class JsonLinesFile(StoreKind):
    knows_itself = False

    def __init__(self, folder: Path) -> None:
        self.path = folder / "out.jsonl"
        self.address = str(self.path)

    def reset(self) -> None:
        self.path.unlink(missing_ok=True)

    def rows(self) -> Iterator[Row]:
        for line in self.path.read_bytes().splitlines() if self.path.exists() else ():
            row = json.loads(line)
            place = (row["host"], f"{row['seq']} {row['file']}", row["generation"], row["offset"])
            yield Row(place, row["hash"], row["raw"].encode())

    def break_down(self, how: str, after: int) -> None:
        if self.path.exists():
            self.path.rename(self.path.with_suffix(".away"))
        self.path.mkdir()

    def heal(self) -> None:
        if self.path.is_dir():
            self.path.rmdir()
            if self.path.with_suffix(".away").exists():
                self.path.with_suffix(".away").rename(self.path)


class DeltaFolder(StoreKind):
    def __init__(self, folder: Path) -> None:
        self.folder = folder / "lake"
        self.address = f"delta:{self.folder}"

    def reset(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def rows(self) -> Iterator[Row]:
        from deltalake import DeltaTable

        if (self.folder / "line").exists():
            names = ["host", "file", "generation", "start", "hash", "raw"]
            for row in DeltaTable(self.folder / "line").to_pyarrow_table(columns=names).to_pylist():
                place = (row["host"], str(row["file"]), row["generation"], row["start"])
                yield Row(place, row["hash"], row["raw"])

    def replies(self) -> dict[str, int]:
        return super().replies() if self.folder.exists() else {}

    def files(self) -> set[tuple[str, int]]:
        return super().files() if self.folder.exists() else set()

    def copy(self, number: int) -> None:
        target = self.folder.with_name(f"lake-{number}")
        shutil.rmtree(target, ignore_errors=True)
        if self.folder.exists():
            shutil.copytree(self.folder, target)

    def put_back(self, number: int) -> None:
        self.reset()
        if self.folder.with_name(f"lake-{number}").exists():
            shutil.copytree(self.folder.with_name(f"lake-{number}"), self.folder)

    def break_down(self, how: str, after: int) -> None:
        if self.folder.exists():
            self.folder.rename(self.folder.with_name("lake-away"))
        self.folder.write_bytes(b"")

    def heal(self) -> None:
        if self.folder.is_file():
            self.folder.unlink()
            if self.folder.with_name("lake-away").exists():
                self.folder.with_name("lake-away").rename(self.folder)


_OWN_TABLES = """
SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'clew' AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY c.relname
"""


class PostgresDatabase(StoreKind):
    """One database of a server of its own; every history begins with empty tables."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        cluster.ask("CREATE DATABASE histories")
        self.proxy = Proxy(cluster.port)
        self.owner: psycopg.Connection[Any] = cluster.connect("histories")
        link = PostgresConnection(f"postgresql://postgres@/histories?host={cluster.folder}&port={cluster.port}")
        set_up_store(link)
        link.close()
        self.ask("CREATE ROLE ada LOGIN IN ROLE clew_writer, clew_reader")
        self.ask("CREATE SCHEMA kept")
        self.address = f"postgresql://ada@127.0.0.1:{self.proxy.port}/histories"

    @classmethod
    def start(cls) -> PostgresDatabase:
        cluster = Cluster.make(fsync="off", full_page_writes="off", synchronous_commit="off", autovacuum="off")
        (cluster.data / "pg_hba.conf").write_text("local all all trust\nhost all all 127.0.0.1/32 trust\n")
        return cls(cluster.start())

    def ask(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        cursor = self.owner.execute(query.encode(), values or None)
        return cursor.fetchall() if cursor.description else []

    @property
    def tables(self) -> list[str]:
        return [row[0] for row in self.ask(_OWN_TABLES)]

    def _empty(self) -> None:
        for table in self.tables:
            self.ask(f"DELETE FROM clew.{table}" + (" WHERE name = 'id'" if table == "about" else ""))

    def reset(self) -> None:
        self.heal()
        self._empty()
        self.ask("INSERT INTO clew.about VALUES('id', gen_random_uuid()::text)")

    def rows(self) -> Iterator[Row]:
        for host, file, generation, start, hash, raw in self.ask(
            "SELECT host, file, generation, start, hash, raw FROM clew.line"
        ):
            yield Row((host, str(file), generation, start), hash, bytes(raw))

    def copy(self, number: int) -> None:
        for table in self.tables:
            self.ask(f"DROP TABLE IF EXISTS kept.{table}_{number}")
            self.ask(f"CREATE UNLOGGED TABLE kept.{table}_{number} AS TABLE clew.{table}")

    def put_back(self, number: int) -> None:
        self._empty()
        days = [day for (day,) in self.ask(f"SELECT DISTINCT day FROM kept.line_{number} WHERE day <> ''")]
        if days:
            self.ask("SELECT clew.make_days(%s)", (days,))
        for table in self.tables:
            more = " WHERE name = 'id'" if table == "about" else ""
            self.ask(f"INSERT INTO clew.{table} SELECT * FROM kept.{table}_{number}{more}")

    def drop_day(self, day: str) -> bool:
        self.ask(f"DROP TABLE IF EXISTS clew.line_{day.replace('-', '_')}")
        return True

    def break_down(self, how: str, after: int) -> None:
        if how == "refuse":
            self.proxy.cut()
        else:
            self.proxy.deafen(b"COMMIT", after % 3)

    def heal(self) -> None:
        self.proxy.heal()

    def close(self) -> None:
        self.owner.close()
        self.proxy.close()
        self.cluster.remove()
