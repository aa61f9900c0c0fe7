"""`clew collect backup` and `restore-archive`: copy the archive to a file, and put it back."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from clew.cli.output import clean_name, format_size, print_json, print_message
from clew.collect.archive.archive_backup import back_up, put_back
from clew.collect.archive.reader import archive_path
from clew.collect.archive.sqlite_errors import translate_errors
from clew.collect.job import CollectJob, lock_archive
from clew.errors import Refused
from clew.system.plural import plural


def backup(options: Namespace) -> int:
    job, target = _job(options), _target(options)
    with translate_errors(job.archive):
        report = back_up(job.archive, job.key, target)
    size = Path(target).stat().st_size
    if options.json:
        print_json([{"kind": "backup", "path": target, "bytes": size, "ok": report.is_sound}])
    else:
        print(clean_name(f"{target}: {format_size(size)}, {plural(report.contents, 'content')} verified"))
    if not report.is_sound:
        print_message("The archive is damaged, and so is the backup. See: clew collect verify")
    return 0 if report.is_sound else 2


def restore_archive(options: Namespace) -> int:
    job, source = _job(options), _target(options)
    with lock_archive(job), translate_errors(source):
        aside = put_back(source, job.archive, job.key)
    if options.json:
        print_json([{"kind": "restored_archive", "path": job.archive, "from": source, "replaced": aside or None}])
        return 0
    print(clean_name(f"{job.archive} is the backup {source}"))
    if aside and not options.quiet:
        print_message(clean_name(f"The archive that was there is {aside}"))
    return 0


def _job(options: Namespace) -> CollectJob:
    return CollectJob("", archive_path(options.archive))


def _target(options: Namespace) -> str:
    if not options.target:
        raise Refused([f"{options.action} needs the name of a file"])
    return str(Path(options.target).expanduser().absolute())
