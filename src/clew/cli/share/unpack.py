"""`clew unpack`: put the sessions of a pack where Claude Code finds them."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from clew.cli.options import add_common_options


def add_arguments(command: ArgumentParser) -> None:
    command.add_argument("file", metavar="FILE", help="a file that clew pack wrote, or - for stdin")
    command.add_argument("--to", metavar="FOLDER", help="into the project of this folder (default: as packed)")
    command.add_argument("--dry-run", action="store_true", help="show what would arrive and write nothing")
    add_common_options(command)


def run(options: Namespace) -> int:
    import tempfile
    from pathlib import Path

    from clew.cli.select_session import open_tree, resolve_folder
    from clew.cli.share import received_output
    from clew.edit.pack_format import extract_pack
    from clew.edit.receive_sessions import plan_all
    from clew.wire.layout import Tree
    from clew.wire.session_parts import collect_parts
    from clew.wire.session_writer import create_exactly

    tree = open_tree(options)
    to = resolve_folder(options, options.to) if options.to else ""
    path = Path(options.file).expanduser()
    with tempfile.TemporaryDirectory(prefix="clew-unpack-") as folder:
        if options.file == "-":
            path = create_exactly(
                Path(folder) / "stdin.zip", iter(lambda: sys.stdin.buffer.read(1 << 20), b""), sync=False
            )
        extracted = Path(folder) / "tree"
        manifest = extract_pack(path, extracted)
        files = [file for project in Tree(extracted).projects() for file in project.sessions()]
        sessions = [collect_parts(file, memory=True) for file in files if file.id in manifest.sessions]
        arrivals = plan_all(sessions, tree, to)
        return received_output.finish(options, arrivals, tree, f"unpack {path.name}", str(path.absolute()))
