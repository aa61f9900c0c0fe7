"""`clew pack`: write sessions with all their files into one file, for another machine or another person."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator

from clew.cli.options import add_common_options, add_jobs_option
from clew.cli.output import clean_name, format_size, print_json, print_message
from clew.errors import Refused
from clew.system.plural import plural
from clew.system.shell_quoting import clew_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from clew.edit.pack_format import Manifest
    from clew.wire.layout import SessionFile

_CHUNK = 1 << 20
_OTHER_ARCHIVES = (
    ".tar",
    ".gz",
    ".tgz",
    ".bz2",
    ".tbz2",
    ".xz",
    ".txz",
    ".zst",
    ".7z",
    ".rar",
    ".lz4",
    ".lzma",
    ".jsonl",
)


def add_arguments(command: ArgumentParser) -> None:
    command.add_argument("ids", nargs="*", metavar="ID", help="sessions: ids, the beginnings of them, or paths")
    command.add_argument("--project", "-p", metavar="PATH", help="all sessions of this project")
    command.add_argument("--all", action="store_true", help="all sessions of all projects")
    command.add_argument("--memory", action="store_true", help="also the memory of their projects (as with --project)")
    command.add_argument("-o", "--output", metavar="FILE", help="the ZIP file to write (default: ID.zip), - for stdout")
    command.add_argument("--redact", action="store_true", help="pack copies without secrets; they get new ids")
    add_jobs_option(command, "--redact: ")
    add_common_options(command)


def run(options: Namespace) -> int:
    import tempfile

    from clew.system.scratch_folder import scratch_folder

    files = list(dict.fromkeys(_files(options)))
    if not files:
        raise Refused(["no session was named"], hint="Name one: clew pack ID, or a project: clew pack -p PATH")
    name = options.output or _default_name(options, files)
    if name.lower().endswith(_OTHER_ARCHIVES):
        raise Refused([f"a pack is a ZIP file, and {name} is not the name of one"], hint="Name it FILE.zip.")
    if name != "-" and os.path.lexists(name):
        raise Refused([f"{name} exists, and a pack does not overwrite files"], hint="Name another file with -o.")
    with tempfile.TemporaryFile() as buffer, scratch_folder("clew-pack-") as folder:
        manifest = _write(options, files, buffer, folder)
        buffer.seek(0)
        chunks = iter(lambda: buffer.read(_CHUNK), b"")
        size = _publish(name, chunks)
    _report(options, name, manifest, size)
    return 0


def _files(options: Namespace) -> Iterator[SessionFile]:
    from clew.cli.select_session import open_tree
    from clew.wire.lookup import find_project, find_session

    tree = open_tree(options)
    for id in options.ids:
        yield find_session(tree, id)
    if options.project:
        yield from (file for file in find_project(tree, options.project).sessions() if not file.is_empty)
    if options.all:
        yield from (file for project in tree.projects() for file in project.sessions() if not file.is_empty)


def _default_name(options: Namespace, files: list[SessionFile]) -> str:
    if options.all or options.project:
        folder = "sessions" if options.all else files[0].project_folder.name.rpartition("-")[2] or "project"
        return f"{folder}.zip"
    return f"{files[0].id[:8]}.zip"


def _write(options: Namespace, files: list[SessionFile], buffer: object, folder: Path) -> Manifest:
    from contextlib import closing

    from clew.edit.pack_format import write_pack
    from clew.edit.redacted_copies import redacted_parts
    from clew.wire.session_parts import collect_parts

    memory = bool(options.memory or options.project or options.all)
    copied = (collect_parts(file, memory=memory) for file in files)
    parts = redacted_parts(files, folder, jobs=options.jobs) if options.redact else copied
    with closing(parts):  # ends the processes that write into the folder before it is removed
        return write_pack(buffer, parts)  # type: ignore[arg-type]


def _publish(name: str, chunks: Iterator[bytes]) -> int:
    from clew.wire.session_writer import create_exactly

    if name == "-":
        return sum(sys.stdout.buffer.write(chunk) for chunk in chunks)
    return create_exactly(name, chunks).stat().st_size


def _report(options: Namespace, name: str, manifest: Manifest, size: int) -> None:
    counts = f"{plural(len(manifest.sessions), 'session')}, {plural(len(manifest.files), 'file')}"
    if options.json and name != "-":
        row = {"kind": "pack", "path": name, "sessions": list(manifest.sessions), "files": len(manifest.files)}
        print_json([row | {"bytes": size, "redacted": options.redact}])
    elif name != "-":
        print(clean_name(f"Packed {counts} ({format_size(manifest.size)}) into {name} ({format_size(size)})."))
        if not options.quiet:
            print_message(f"Unpack it on the other machine with: {clew_command('unpack', os.path.basename(name))}")
            if not options.redact:
                print_message("A pack contains everything in the sessions, secrets too. Leave them out with --redact.")
