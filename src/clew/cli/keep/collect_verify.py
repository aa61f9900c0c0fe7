"""`clew collect verify`: verify every line of the archive."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from clew.cli.output import clean_name, format_size, print_json, print_message
from clew.cli.progress import ProgressBar
from clew.system.plural import plural

_SHOWN = 20  # damaged lines; all of them are in --json


def verify(options: Namespace) -> int:
    from clew.collect.archive.archive_schema import open_read_only
    from clew.collect.archive.reader import archive_path
    from clew.collect.archive.sqlite_errors import translate_errors
    from clew.collect.archive.verify_contents import verify_archive

    path = archive_path(options.archive)
    with translate_errors(path):
        connection = open_read_only(path)
        try:
            report = verify_archive(connection, ProgressBar("Verifying the archive", quiet=options.quiet).update)
        finally:
            connection.close()
    places = {(line.root, line.path) for line in report.damaged}
    exists = {place: Path(options.claude_dir or place[0], place[1]).is_file() for place in places}
    if options.json:
        print_json(
            {"kind": "damaged", **line._asdict(), "on_disk": exists[line.root, line.path]} for line in report.damaged
        )
        counts = {"contents": report.contents, "bytes": report.bytes, "damaged": len(report.damaged)}
        print_json([{"kind": "verified", "path": path, **counts, "problems": report.problems, "ok": report.is_sound}])
        return 0 if report.is_sound else 2
    for problem in report.problems:
        print(clean_name(f"The file is damaged: {problem}"))
    for line in report.damaged[:_SHOWN]:
        where = f"line {line.line}" if line.line else f"generation {line.generation}"
        source = "the file still exists" if exists[line.root, line.path] else "the file no longer exists"
        print(clean_name(f"{line.path}, {where}: {line.reason}; {source}"))
    if len(report.damaged) > _SHOWN:
        print(f"and {len(report.damaged) - _SHOWN} more (all of them with --json)")
    verified = f"{plural(report.contents, 'content')}, {format_size(report.bytes)} verified"
    if report.is_sound:
        print(f"{verified}: everything is sound.")
        return 0
    print(f"{verified}: {plural(len(report.damaged), 'line is', 'lines are')} damaged.")
    if not options.quiet:
        print_message("Repair what still exists on the disk with: clew collect --scrub")
    return 2
