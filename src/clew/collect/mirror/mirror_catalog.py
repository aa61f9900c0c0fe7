"""The catalog of a mirror: what the store has of each file, how much of it was fetched, and where it is."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from clew.collect.mirror.mirrored_path import candidate_places, claim_of, is_safe_host, is_safe_path
from clew.collect.mirror.store_reader import FileState, HostState, Inventory
from clew.system.sqlite_file import WriteTransaction, enable_wal, open_cache
from clew.wire.json_codec import decode, encode

VERSION = 1
NAME = "catalog.db"
_MAX_PART = 150  # characters of a project that are compared; the names of long paths are cut
_STATE = ", ".join(FileState._fields)
_TABLES = f"""
CREATE TABLE IF NOT EXISTS about(name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS host(host TEXT PRIMARY KEY, seq INTEGER, developer TEXT, machine TEXT, team TEXT);
CREATE TABLE IF NOT EXISTS file({_STATE}, place TEXT NOT NULL, claim TEXT UNIQUE,
  got_rows INTEGER NOT NULL DEFAULT 0, got_end INTEGER NOT NULL DEFAULT 0, size INTEGER NOT NULL DEFAULT 0,
  damaged INTEGER NOT NULL DEFAULT 0, PRIMARY KEY(host, file));
CREATE INDEX IF NOT EXISTS file_place ON file(place);
CREATE INDEX IF NOT EXISTS file_session ON file(session);
PRAGMA user_version={VERSION};
"""
_INSERT = f"INSERT INTO file({_STATE}, place, claim) VALUES({', '.join('?' * (len(FileState._fields) + 2))})"
_UPDATE = f"UPDATE file SET {', '.join(f'{name} = ?' for name in FileState._fields)} WHERE host = ? AND file = ?"


class CatalogFile(NamedTuple):
    """A file of the catalog: what the store has, its path in the mirror, and how much of it is there."""

    state: FileState
    place: str
    got_rows: int
    got_end: int
    size: int
    damaged: int

    @property
    def is_complete(self) -> bool:
        return self.got_end >= self.state.end

    @property
    def is_consistent(self) -> bool:
        """Return whether as many lines were fetched as there are up to the same place."""
        return not self.is_complete or self.got_rows == self.state.rows


class Scope(NamedTuple):
    """Which sessions are wanted: those of a project, used since a time, or with an id that begins so."""

    project: str = ""
    since_ms: int = 0
    sessions: tuple[str, ...] = ()


class MirrorCatalog:
    """The catalog in the folder of a mirror. `dropped` has the places of files that are no longer valid."""

    def __init__(self, folder: str) -> None:
        self.connection = open_cache(folder, NAME, _create)
        self.dropped: list[str] = []

    def close(self) -> None:
        self.connection.close()

    # -- what is known of the store

    def about(self, name: str) -> Any:
        """Return a value that was kept; None if there is none."""
        value = self.connection.execute("SELECT value FROM about WHERE name = ?", (name,)).get
        return None if value is None else decode(str(value).encode())

    def save(self, **values: object) -> None:
        rows = [(name, encode(value).decode()) for name, value in values.items()]
        self.connection.executemany("INSERT OR REPLACE INTO about VALUES(?, ?)", rows)

    def hosts(self) -> dict[str, HostState]:
        rows: Iterable[Any] = self.connection.execute("SELECT host, seq, developer, machine, team FROM host")
        return {row[0]: HostState(*row[1:]) for row in rows}

    def update(self, hosts: Mapping[str, HostState], inventories: Iterable[Inventory]) -> None:
        """Note what is new in the store, in one transaction."""
        with WriteTransaction(self.connection):
            for inventory in inventories:
                self._apply(inventory)
                self.save(position=inventory.position)
            self.connection.execute("DELETE FROM host")
            rows = [(host, *state) for host, state in hosts.items()]
            self.connection.executemany("INSERT INTO host VALUES(?, ?, ?, ?, ?)", rows)

    def _apply(self, inventory: Inventory) -> None:
        newest: dict[tuple[str, int], FileState] = {}
        refused = 0
        for state in inventory.files:
            if state.kind == "stats":
                continue  # those of many hosts cannot be one file
            if not _is_valid(state):
                refused += 1
            elif state[:2] not in newest or newest[state[:2]].generation < state.generation:
                newest[state[:2]] = state
        known = {file.state[:2]: file for file in self.files()}
        for key, state in newest.items():
            self._note(known.get(key), state, inventory.is_full)
        if inventory.is_full:
            for key in known.keys() - newest.keys():
                self._drop(known[key])
        if inventory.is_altered:
            self.connection.execute("UPDATE file SET got_rows = 0, got_end = 0, size = 0, damaged = 0")
        self.save(refused=refused + (0 if inventory.is_full else self.about("refused") or 0))

    def _note(self, file: CatalogFile | None, state: FileState, is_full: bool) -> None:
        """Note the state of a file. What was fetched stays valid if the store only added lines to it."""
        if file is not None:
            before = file.state
            if state.generation < before.generation:
                return
            is_same = (state.generation, state.path, state.kind) == (before.generation, before.path, before.kind)
            if is_same:
                merged = state if is_full else before.merge(state)
                self.connection.execute(_UPDATE, (*merged, *merged[:2]))
                return
            self._drop(file)
        place = self._find_place(state)
        self.connection.execute(_INSERT, (*state, place, claim_of(place) if place else None))

    def _find_place(self, state: FileState) -> str:
        """Return a place that no other file has; empty if there is none. Files of a session stay together."""
        places = candidate_places(state.path, state.host, state.file)
        query = "SELECT 1 FROM file WHERE session = ? AND project = ? AND host <> ? AND place = path LIMIT 1"
        if state.session and self.connection.execute(query, (state.session, state.project, state.host)).get:
            places = places[1:]
        return next((place for place in places if self.is_free(place)), "")

    def is_free(self, place: str) -> bool:
        """Return whether no file has a place, or one that is the same on some file system."""
        return self.connection.execute("SELECT 1 FROM file WHERE claim = ?", (claim_of(place),)).get is None

    def move(self, file: CatalogFile, place: str) -> None:
        """Note that a file has another place."""
        query = "UPDATE file SET place = ?, claim = ? WHERE host = ? AND file = ?"
        self.connection.execute(query, (place, claim_of(place), *file.state[:2]))

    def _drop(self, file: CatalogFile) -> None:
        self.connection.execute("DELETE FROM file WHERE host = ? AND file = ?", file.state[:2])
        if file.place:
            self.dropped.append(file.place)

    # -- what was fetched

    def files(self, condition: str = "1", values: tuple[Any, ...] = ()) -> list[CatalogFile]:
        query = f"SELECT {_STATE}, place, got_rows, got_end, size, damaged FROM file WHERE {condition}"
        count = len(FileState._fields)
        rows: list[Any] = self.connection.execute(query, values).fetchall()
        return [CatalogFile(FileState(*row[:count]), *row[count:]) for row in rows]

    def wanted(self, scope: Scope) -> list[CatalogFile]:
        """Return the files in a scope; a session comes with its agents, and histories and indexes always."""
        files = [file for file in self.files() if file.place]
        used: dict[tuple[str, str], int] = {}
        for file in files:
            key = session_key(file.state)
            used[key] = max(used.get(key, 0), file.state.last_ms)
        chosen = {session_key(file.state) for file in files if _is_in(file.state, scope, used)}
        projects = {(file.state.host, file.state.project) for file in files if session_key(file.state) in chosen}

        def is_wanted(state: FileState) -> bool:
            if session_key(state) in chosen or state.kind in ("history", "index"):
                return True
            return not state.session and (state.host, state.project) in projects  # agents that name no session

        return [file for file in files if is_wanted(file.state)]

    def fetched(self, file: CatalogFile) -> None:
        """Note how much of a file is in the mirror."""
        query = "UPDATE file SET got_rows = ?, got_end = ?, size = ?, damaged = ? WHERE host = ? AND file = ?"
        self.connection.execute(query, (file.got_rows, file.got_end, file.size, file.damaged, *file.state[:2]))


def _create(connection: apsw.Connection) -> None:
    version = connection.pragma("user_version")
    if version not in (0, VERSION):
        raise apsw.CorruptError  # a cache of another version is emptied like a damaged one
    enable_wal(connection)
    for _ in connection.execute(_TABLES):
        pass


def _is_valid(state: FileState) -> bool:
    numbers = (state.file, state.generation, state.seq, state.rows, state.end)
    return (
        all(type(number) is int and 0 <= number < 1 << 62 for number in numbers)
        and is_safe_host(state.host)
        and is_safe_path(state.path, state.kind)
    )


def session_key(state: FileState) -> tuple[str, str]:
    """Return what files of one session share; a file without a session is on its own."""
    return state.host, state.session.lower() or f"/{state.path}"


def _is_in(state: FileState, scope: Scope, used: Mapping[tuple[str, str], int]) -> bool:
    if state.kind not in ("session", "agent"):
        return False
    if scope.sessions:
        names = (state.session.lower(), state.agent.lower())
        return any(name.startswith(part) for name in names if name for part in scope.sessions)
    last = used[session_key(state)]
    return (not scope.since_ms or not last or last >= scope.since_ms) and (
        not scope.project or _is_of_project(state.project, scope.project)
    )


def _is_of_project(folder: str, project: str) -> bool:
    """Return whether a folder may be that of a project, named by its path or a part of it."""
    path = Path(project).expanduser() if project.startswith("~") else Path(project)
    names = {str(path), os.path.realpath(path)}
    parts = (re.sub(r"[^A-Za-z0-9]", "-", name).strip("-").lower()[:_MAX_PART] for name in names)
    return any(part in folder.lower() for part in parts)
