"""Write and read packs: ordinary ZIP files of sessions, laid out as in `~/.claude`, with a manifest and SHA-256 sums.

A pack from elsewhere is not trusted. Its names must be those of files of the sessions it lists, and sizes and sums
must match, before anything is written to the folder of Claude Code.
"""

from __future__ import annotations

import os
import re
import stat
import time
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from struct import error as struct_error
from typing import IO, Any

from msgspec import Struct

from clew.errors import Refused
from clew.version import __version__
from clew.wire.json_codec import decode, encode
from clew.wire.session_parts import LOOSE, SessionParts
from clew.wire.session_writer import create_exactly
from clew.wire.timestamps import format_timestamp
from clew.wire.tree_walk import is_uuid

MANIFEST = "manifest.json"
FORMAT = "clew-pack"
VERSION = 1
MAX_MANIFEST = 64 << 20
MAX_RATIO = 200  # of content to compressed bytes; transcripts have 5 to 20
MIN_BOMB = 64 << 20  # smaller content may have any ratio
_CHUNK = 1 << 20
_EARLIEST = (1980, 1, 1, 0, 0, 0)  # of a ZIP file
_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, struct_error, ValueError)
_NAME = re.compile(r"[^\x00-\x1f\x7f\\/:]{1,200}")
_AGENT = re.compile(r"agent-[^/]+\.(jsonl|meta\.json)")
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")  # names of devices on Windows


class PackedFile(Struct, frozen=True):
    name: str
    size: int
    sha256: str
    mtime_ns: int


class Manifest(Struct, frozen=True):
    """The content of a pack: the id and working directory of each session, and all files."""

    sessions: Mapping[str, str]
    files: tuple[PackedFile, ...]
    created: str = ""

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)


# -- writing


def write_pack(out: IO[bytes], sessions: Iterable[SessionParts]) -> Manifest:
    """Write sessions as a pack; the manifest is the last file."""
    packed: dict[str, PackedFile] = {}
    listed: dict[str, str] = {}
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for parts in sessions:
            listed[parts.id] = parts.cwd
            for name, path in parts.files.items():
                name = _utf8_name(name.replace(LOOSE, "loose"))
                if name not in packed:
                    packed[name] = _add_file(archive, name, path)
        manifest = Manifest(listed, tuple(packed.values()), format_timestamp(datetime.now(UTC)))
        info = zipfile.ZipInfo(MANIFEST, _EARLIEST)
        info.compress_type = zipfile.ZIP_DEFLATED
        info.external_attr = 0o600 << 16
        archive.writestr(info, _encode_manifest(manifest))
    return manifest


def _utf8_name(name: str) -> str:
    """Return the name of a file in a pack. Raises Refused if it is not UTF-8, as all names in a pack are."""
    try:
        name.encode()
    except UnicodeEncodeError as error:
        problem = f"{name} cannot be in a pack, because its name is not valid UTF-8"
        raise Refused([problem], hint="Rename the file or its folder.") from error
    return name


def _add_file(archive: zipfile.ZipFile, name: str, path: Path) -> PackedFile:
    total, size = sha256(), 0
    with path.open("rb") as file:
        state = os.fstat(file.fileno())
        info = zipfile.ZipInfo(name, max(_EARLIEST, time.localtime(state.st_mtime)[:6]))
        info.compress_type = zipfile.ZIP_DEFLATED
        info.external_attr = 0o600 << 16
        with archive.open(info, "w", force_zip64=state.st_size > 1 << 30) as target:
            while chunk := file.read(min(_CHUNK, state.st_size - size)):  # what is added meanwhile is left out
                total.update(chunk)
                size += len(chunk)
                target.write(chunk)
    return PackedFile(name, size, total.hexdigest(), state.st_mtime_ns)


def _encode_manifest(manifest: Manifest) -> bytes:
    rows = [{"name": f.name, "size": f.size, "sha256": f.sha256, "mtime_ns": f.mtime_ns} for f in manifest.files]
    sessions = [{"id": id, "cwd": cwd} for id, cwd in manifest.sessions.items()]
    head = {"format": FORMAT, "version": VERSION, "clew": __version__, "created": manifest.created}
    return encode({**head, "sessions": sessions, "files": rows})


# -- reading


def extract_pack(path: Path, folder: Path) -> Manifest:
    """Check a pack and extract it below an empty folder. Raises Refused for anything that a pack cannot contain."""
    try:
        with zipfile.ZipFile(path) as archive:
            manifest = _read_manifest(archive)
            _check_members(archive, manifest, path.stat().st_size)
            for file in manifest.files:
                _extract(archive, file, folder)
    except _ERRORS as error:
        raise Refused([f"{path.name} is not a readable pack ({error})"], hint=_HINT) from error
    return manifest


_HINT = "Ask for the pack again: it was damaged or changed on the way."


def _refuse(reason: str) -> Refused:
    return Refused([f"the pack {reason}"], hint=_HINT)


def _read_manifest(archive: zipfile.ZipFile) -> Manifest:
    members = [info for info in archive.infolist() if info.filename == MANIFEST]
    if len(members) != 1:
        raise _refuse(f"has no {MANIFEST}, so it was not made by clew pack")
    if members[0].file_size > MAX_MANIFEST:
        raise _refuse("has a manifest that is too large")
    with archive.open(members[0]) as file:
        value = decode(file.read(MAX_MANIFEST + 1))
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise _refuse("has a manifest of another program")
    if value.get("version") != VERSION:
        raise Refused([f"the pack has version {value.get('version')}"], hint="Update clew to read it.")
    rows, sessions = value.get("files"), value.get("sessions")
    files = tuple(_parse_file(row) for row in rows) if isinstance(rows, list) else ()
    return Manifest(dict(_parse_sessions(sessions)), files, str(value.get("created", "")))


def _parse_sessions(rows: Any) -> Iterator[tuple[str, str]]:
    for row in rows if isinstance(rows, list) else ():
        id, cwd = (row.get("id"), row.get("cwd")) if isinstance(row, dict) else (None, None)
        if not isinstance(id, str) or not isinstance(cwd, str) or not is_uuid(id):
            raise _refuse("lists a session without a valid id")
        yield id, cwd


def _parse_file(row: Any) -> PackedFile:
    fields = [row.get(name) for name in ("name", "size", "sha256", "mtime_ns")] if isinstance(row, dict) else []
    match fields:
        case [str(name), int(size), str(sum), int(mtime)] if size >= 0 and 0 <= mtime < 1 << 62:
            return PackedFile(name, size, sum, mtime)
    raise _refuse("has a manifest with an invalid file")


def _check_members(archive: zipfile.ZipFile, manifest: Manifest, packed_size: int) -> None:
    listed = {file.name: file for file in manifest.files}
    if len(listed) != len(manifest.files) or len({name.casefold() for name in listed}) != len(listed):
        raise _refuse("lists a file twice")
    members = [info for info in archive.infolist() if info.filename != MANIFEST]
    if sorted(info.filename for info in members) != sorted(listed):
        raise _refuse("does not contain exactly the files of its manifest")
    for info in members:
        _check_member(info, listed[info.filename])
        if not _is_allowed(info.filename, manifest.sessions):
            raise _refuse(f"has a file that belongs to none of its sessions: {info.filename[:80]!r}")
    if sum(info.compress_size for info in members) > packed_size:
        raise _refuse("has files that overlap")
    if manifest.size > MIN_BOMB and manifest.size > packed_size * MAX_RATIO:
        raise _refuse(f"would expand to {manifest.size:,} bytes, more than {MAX_RATIO} times its size")
    for id in manifest.sessions:
        if sum(bool(re.fullmatch(rf"projects/[^/]+/{id}\.jsonl", name)) for name in listed) != 1:
            raise _refuse(f"does not have exactly one transcript of {id[:8]}")


def _check_member(info: zipfile.ZipInfo, file: PackedFile) -> None:
    mode = info.external_attr >> 16
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG) or info.is_dir():
        raise _refuse(f"has something that is not a file: {info.filename[:80]!r}")
    if info.flag_bits & 1:
        raise _refuse("is encrypted")
    if info.file_size != file.size:
        raise _refuse(f"has a file of another size than its manifest says: {info.filename[:80]!r}")


def _is_allowed(name: str, sessions: Mapping[str, str]) -> bool:
    """Return True if a name is that of a file of a listed session, below the folder of Claude Code."""
    parts = name.split("/")
    if len(parts) > 12 or any(not _is_safe_part(part) for part in parts):
        return False
    match parts:
        case ["projects", _, file] if file.endswith(".jsonl") and file[:-6] in sessions:
            return True
        case ["projects", _, *below] if below[-1].startswith("agent-") and below[:-1] in ([], ["subagents"]):
            return bool(_AGENT.fullmatch(below[-1]))
        case ["projects", _, "memory", *rest] if rest:
            return True
        case ["projects", _, id, *rest] | ["file-history" | "tasks" | "image-cache", id, *rest] if rest:
            return id in sessions
        case ["todos", file]:
            return file.endswith(".json") and file[:-5].split("-agent-")[0] in sessions
        case ["plans", file]:
            return file.endswith(".md")
    return False


def _is_safe_part(part: str) -> bool:
    is_plain = bool(_NAME.fullmatch(part)) and part not in (".", "..") and not part.endswith((" ", "."))
    return is_plain and not _RESERVED.fullmatch(part)


def _extract(archive: zipfile.ZipFile, file: PackedFile, folder: Path) -> None:
    target = folder.joinpath(*file.name.split("/"))
    create_exactly(target, _checked_content(archive, file), sync=False, mtime_ns=file.mtime_ns)


def _checked_content(archive: zipfile.ZipFile, file: PackedFile) -> Iterator[bytes]:
    """Yield the content of a file. Raises Refused at its end if the checksum is wrong."""
    total, size = sha256(), 0
    with archive.open(file.name) as source:
        while size <= file.size and (chunk := source.read(_CHUNK)):
            total.update(chunk)
            size += len(chunk)
            yield chunk
    if (size, total.hexdigest()) != (file.size, file.sha256):
        raise _refuse(f"has a file whose checksum is wrong: {file.name[:80]!r}")
