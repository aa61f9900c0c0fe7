"""Real PostgreSQL servers for tests: private clusters in folders of their own, started, killed and removed.

In CI a machine without a server fails; elsewhere the tests that need one are listed as not run.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

PASSWORD = "correct horse: battery/staple @ 7"
USER = "postgres"  # who runs the server when the tests are run by root, which it refuses
OLDEST = 15
SHM = Path("/dev/shm")
ROOM = 2 << 30
_PATIENCE = 60.0


@cache
def programs() -> Path | None:
    """The folder of the newest server that is installed."""
    folders = [Path(found).resolve().parent for name in ("initdb",) if (found := shutil.which(name))]
    folders += Path("/usr/lib/postgresql").glob("*/bin")
    versions = {version(folder): folder for folder in folders if (folder / "postgres").exists()}
    return versions[max(versions)] if versions and max(versions) >= OLDEST else None


def version(folder: Path) -> int:
    said = subprocess.run([folder / "postgres", "--version"], capture_output=True, text=True, check=True).stdout
    return int(said.split()[2].split(".")[0])


def needed() -> Path:
    """The server, or a skip; in CI a failure."""
    found = programs()
    if found is None:
        if os.environ.get("CI"):
            pytest.fail("PostgreSQL 15 or newer is not installed; scripts/prepare-tests does that")
        pytest.skip("PostgreSQL 15 or newer is not installed")
    return found


def as_server(command: Sequence[str | Path]) -> list[str]:
    words = [str(word) for word in command]
    return ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", *words] if os.geteuid() == 0 else words


def own(path: Path) -> None:
    if os.geteuid() == 0:
        found = pwd.getpwnam(USER)
        os.chown(path, found.pw_uid, found.pw_gid)


def new_folder() -> Path:
    """Where a server can lie: in memory if there is room, for it waits for the disk at each commit."""
    roomy = SHM.is_dir() and shutil.disk_usage(SHM).free > ROOM
    folder = Path(tempfile.mkdtemp(prefix="clew-pg-", dir=SHM if roomy else None))
    own(folder)
    return folder


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Cluster:
    """A server with its data. TCP asks for passwords; the socket, which only its owner reaches, does not."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.port = free_port()
        self.settings = settings
        self.process: subprocess.Popen[bytes] | None = None

    @classmethod
    def make(cls, **settings: str) -> Cluster:
        bin = needed()
        made = cls(new_folder(), **settings)
        trusted = ("--auth-local=trust", "--auth-host=scram-sha-256", "--username=postgres", "--no-sync")
        run(as_server([bin / "initdb", "-D", made.data, *trusted, "--encoding=UTF8", "--locale=C.UTF-8"]))
        return made

    def standby(self, **settings: str) -> Cluster:
        """A copy that follows this one over its socket."""
        made = Cluster(new_folder(), **settings)
        source = f"host={self.folder} port={self.port} user=postgres application_name=standby"
        run(as_server([needed() / "pg_basebackup", "-D", made.data, "-d", source, "-R", "-c", "fast", "--no-sync"]))
        return made

    def start(self) -> Cluster:
        given = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": str(self.folder),
            "shared_buffers": "16MB",
            "max_connections": "60",
            "logging_collector": "off",
            **self.settings,
        }
        options = [word for name, value in given.items() for word in ("-c", f"{name}={value}")]
        log = open(self.folder / "log", "ab")  # noqa: SIM115 - the server's own
        command = as_server([needed() / "postgres", "-D", self.data, "-p", str(self.port), *options])
        self.process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        log.close()
        self.wait()
        return self

    def ensure_running(self) -> None:
        """Start a server again that something ended, and print the end of its log."""
        if self.process is not None and self.process.poll() is not None:
            said = (self.folder / "log").read_text(errors="replace")[-2000:]
            print(f"the PostgreSQL server ended with {self.process.returncode}:\n{said}", file=sys.stderr)
            self.start()

    def wait(self) -> None:
        """Until it answers."""
        end = time.monotonic() + _PATIENCE
        while True:
            try:
                self.ask("SELECT 1")
                return
            except psycopg.OperationalError:
                assert self.process is not None
                if self.process.poll() is not None or time.monotonic() > end:
                    pytest.fail((self.folder / "log").read_text())
                time.sleep(0.05)

    def kill(self) -> None:
        """As a loss of power would: all of its processes at once, with nothing said."""
        self.stop(signal.SIGKILL)

    def stop(self, sign: signal.Signals = signal.SIGQUIT) -> None:
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, sign)
            self.process.wait(_PATIENCE)
        self.process = None

    def remove(self) -> None:
        self.stop(signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)

    def promote(self) -> None:
        self.ask("SELECT pg_promote()")

    def connect(self, database: str = "postgres") -> psycopg.Connection[Any]:
        return psycopg.connect(
            host=str(self.folder), port=self.port, user="postgres", dbname=database, autocommit=True, connect_timeout=5
        )

    def ask(self, query: str, database: str = "postgres", values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """As the one who owns everything."""
        with self.connect(database) as connection:
            cursor = connection.execute(query.encode(), values or None)
            return cursor.fetchall() if cursor.description else []

    def user(self, name: str, role: str) -> None:
        with self.connect() as connection:
            connection.execute(
                sql.SQL("CREATE ROLE {} LOGIN PASSWORD {} IN ROLE {}").format(
                    sql.Identifier(name), sql.Literal(PASSWORD), sql.Identifier(role)
                )
            )

    def address(self, user: str, database: str, port: int = 0) -> str:
        """As a person writes it; the password is not in it."""
        return f"postgresql://{user}@127.0.0.1:{port or self.port}/{database}"


def run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


class Store:
    """A database with the tables of clew, and users: writers `ada` and `ben`, reader `rio`."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self.cluster = cluster
        self.name = name

    def address(self, user: str, port: int = 0) -> str:
        return self.cluster.address(user, self.name, port)

    def ask(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self.cluster.ask(query, self.name, values)


def furnished(cluster: Cluster, name: str) -> Store:
    from clew.collect.sinks.postgres.connection import PostgresConnection
    from clew.collect.sinks.postgres.setup import set_up_store

    cluster.ensure_running()
    cluster.ask(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")  # a worker may set a module up twice
    cluster.ask(f"CREATE DATABASE {name}")
    link = PostgresConnection(f"postgresql://postgres@/{name}?host={cluster.folder}&port={cluster.port}")
    set_up_store(link)
    link.close()
    if not cluster.ask("SELECT 1 FROM pg_roles WHERE rolname = 'ada'"):
        for user, role in (("ada", "clew_writer"), ("ben", "clew_writer"), ("rio", "clew_reader")):
            cluster.user(user, role)
    return Store(cluster, name)
