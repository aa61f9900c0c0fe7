"""`clew collect`: archive every session, and send them to a store."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterator

from clew.cli.options import add_common_options, add_jobs_option, parse_size
from clew.cli.output import clean_name, format_size, print_json, print_message
from clew.errors import Busy, NotFound, Refused
from clew.system.plural import noun, plural
from clew.system.shell_quoting import join_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clew.collect.collector import Collector
    from clew.collect.job import CollectJob
    from clew.collect.poll_report import PollReport
    from clew.errors import StoreError

_UNLIMITED = ("otlp+", "delta:", "s3://")  # sinks that are sent values derived from lines
_EVERY = 2.0  # seconds between two polls
_NAMED = 3  # paths that a remark names
_ACTIONS = {
    "install": "collect_install:install",
    "uninstall": "collect_install:install",
    "init": "collect_config:init",
    "test": "collect_config:test",
    "status": "collect_status:status",
    "verify": "collect_verify:verify",
    "rejected": "collect_rejected:rejected",
    "backup": "collect_backup:backup",
    "restore-archive": "collect_backup:restore_archive",
    "resend": "collect_resend:resend",
    "erase": "collect_erase:erase_data",
    "retain": "collect_retain:retain",
    "setup": "collect_setup:setup",
    "compact": "collect_compact:compact",
    "forget-store": "collect_forget_store:forget_store",
    "ingest": "collect_ingest:ingest",
}
_ACTION_HELP = (
    "install: collect regularly; init: write a configuration of sinks; test: try them; status: describe the "
    "archive and the sinks; verify: check every line of the archive; backup and restore-archive: copy it to a file "
    "and back; erase: erase a session, --project, --developer or --text for good, from the archive or a store (--to); "
    "retain: drop what is older than --lines and --facts; resend: send everything again; rejected: list what a sink "
    "cannot take; setup: create the tables of a store; compact: tidy up a lake; ingest: commit a landing zone to a "
    "store; forget-store: delete what --store fetched"
)
# Options of single actions, by their names here. Without them, `clew collect --text …` would only collect.
_ONLY_WITH: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("project", "text", "developer", "host", "now"), ("erase",)),
    **dict.fromkeys(("lines", "facts"), ("retain",)),
    **dict.fromkeys(("prometheus", "otlp"), ("status",)),
    **dict.fromkeys(("source", "from_token_file", "part", "keep"), ("ingest",)),
    **dict.fromkeys(("watch", "every"), ("", "install", "ingest")),
    **dict.fromkeys(("redact", "lean", "no_archive", "max_file"), ("", "install")),
    "jobs": ("",),
    "retry": ("rejected",),
    "hook": ("install", "uninstall"),
    "target": ("backup", "restore-archive", "erase", "forget-store"),
}
_FLAGS = {"source": "--from", "target": "a file or an id"}
_NOT_GIVEN = (None, False, 0, "1/1")


def add_arguments(command: ArgumentParser) -> None:
    command.add_argument(
        "action",
        nargs="?",
        choices=_ACTIONS,
        help=_ACTION_HELP,
    )
    command.add_argument(
        "target",
        nargs="?",
        help="with backup and restore-archive: the file; with erase: the id of a session; with forget-store: the store",
    )
    command.add_argument("--project", "-p", metavar="NAME", help="with erase: everything of this project")
    command.add_argument("--text", metavar="TEXT", help="with erase: this text in every line; the lines stay")
    command.add_argument("--developer", metavar="NAME", help="with erase --to: everything of this developer")
    command.add_argument("--host", metavar="ID", help="with erase --to: everything that this archive sent")
    command.add_argument(
        "--now", action="store_true", help="with erase --to: write the files of the store again; readers wait for it"
    )
    command.add_argument("--lines", metavar="AGE", help="with retain: keep lines for this long: 90d, 12w, 2y, forever")
    command.add_argument("--facts", metavar="AGE", help="with retain --to: keep facts for this long")
    command.add_argument("--watch", "-w", action="store_true", help="keep running, and collect new lines")
    command.add_argument(
        "--every",
        metavar="SECONDS",
        type=_seconds,
        help="with --watch: how often to look (default 2; with ingest 60)",
    )
    command.add_argument("--archive", metavar="FILE", help="another archive (default: in ~/.local/share/clew)")
    _add_sink_options(command)
    command.add_argument("--reveal", action="store_true", help="do not mask secrets in what goes elsewhere")
    command.add_argument("--state", metavar="FILE", help="keep how far things were delivered in this JSON file")
    command.add_argument(
        "--no-archive",
        action="store_true",
        help="send new lines straight to one --to (https://…, parquet:FOLDER or FILE.jsonl) and keep no archive; "
        "--state says how far each file was sent (default: in ~/.local/state/clew)",
    )
    command.add_argument(
        "--max-line", metavar="SIZE", type=parse_size, default=0, help="send no line longer than this: 512k, 10M, 1G"
    )
    command.add_argument(
        "--max-file", metavar="SIZE", type=parse_size, default=0, help="leave out files larger than this, and name them"
    )
    command.add_argument("--redact", action="store_true", help="mask secrets before anything is written")
    command.add_argument("--lean", action="store_true", help="conversations alone, without the files beside them")
    command.add_argument("--scrub", action="store_true", help="compare all that was ever read with what is there now")
    command.add_argument("--retry", action="store_true", help="with rejected: send the records again")
    command.add_argument(
        "--prometheus", action="store_true", help="with status: print the numbers as text for Prometheus"
    )
    command.add_argument(
        "--otlp", metavar="WHERE", help="with status: send the numbers as OpenTelemetry metrics to otlp+https://…"
    )
    command.add_argument("--hook", action="store_true", help="install a hook of Claude Code instead of a timer")
    command.add_argument("--yes", action="store_true", help="install without being asked")
    command.add_argument("--dry-run", action="store_true", help="say what would be read and write nothing")
    _add_ingest_options(command)
    add_jobs_option(command)
    add_common_options(command)


def _add_sink_options(command: ArgumentParser) -> None:
    command.add_argument(
        "--to",
        metavar="WHERE",
        action="append",
        default=[],
        help="also there: postgresql://…, s3://…, delta:FOLDER, landing+s3://…, landing:FOLDER, parquet:FOLDER, "
        "otlp+https://…, https://…, or FILE.jsonl",
    )
    command.add_argument(
        "--config", metavar="FILE", help="another configuration of sinks (default: ~/.config/clew/collect.toml)"
    )
    command.add_argument(
        "--token-file",
        metavar="FILE",
        help="what the place asks for, in a file: a token, a password, or KEY:SECRET for s3://…",
    )


def _add_ingest_options(command: ArgumentParser) -> None:
    command.add_argument(
        "--from", dest="source", metavar="ZONE", help="with ingest: the landing zone, landing+s3://… or landing:FOLDER"
    )
    command.add_argument("--from-token-file", metavar="FILE", help="with ingest: KEY:SECRET for the landing zone")
    command.add_argument(
        "--part", metavar="N/OF", default="1/1", help="with ingest: only the hosts of this part, such as 3/8"
    )
    command.add_argument("--keep", action="store_true", help="with ingest: keep the objects that were committed")


def _check_options(options: Namespace) -> None:
    """Refuse options that mean nothing to the action."""
    action = options.action or ""
    for name, actions in _ONLY_WITH.items():
        if getattr(options, name) not in _NOT_GIVEN and action not in actions:
            flag = _FLAGS.get(name, f"--{name.replace('_', '-')}")
            commands = " and ".join(map(_command, actions))
            raise Refused([f"{flag} means nothing to {_command(action)}"], hint=f"It is for {commands}.")


def _command(action: str) -> str:
    return join_command(("clew", "collect", action) if action else ("clew", "collect"))


def run(options: Namespace) -> int:
    from importlib import import_module

    from clew.cli.keep.collect_delivery import chosen_sinks

    _check_options(options)
    if options.action:
        module, _, function = _ACTIONS[options.action].partition(":")
        return int(getattr(import_module(f"clew.cli.keep.{module}"), function)(options))
    if options.max_line and any(address.startswith(_UNLIMITED) for address in options.to):
        raise Refused(["--max-line is for places that are sent lines: not for otlp+https://…, delta: or s3://…"])
    if options.no_archive:
        from clew.cli.keep.collect_direct import collect_directly

        return collect_directly(options)
    if options.state and len(chosen_sinks(options)) > 1:
        raise Refused(["a state file tells how far one place is, and there are several"])
    job = collect_job(options)
    if options.dry_run:
        return _preview(job, options)
    if options.watch:
        return _watch(job, options)
    try:
        return _collect_once(job, options)
    except Busy as busy:
        if not busy.path.endswith(".lock"):
            raise
        print_message(f"{busy.hint} Nothing was done here.")
        return 0


def _collect_once(job: CollectJob, options: Namespace) -> int:
    from clew.cli.keep.collect_delivery import open_deliveries
    from clew.cli.progress import ProgressBar
    from clew.collect.job import lock_archive, open_collector
    from clew.collect.repair_archive import repair_indexes

    with lock_archive(job), open_collector(job) as collector, open_deliveries(collector, job, options) as rounds:
        if options.scrub:
            repair_indexes(collector.connection)
        report = collector.poll(
            scrub=options.scrub, progress=ProgressBar("Reading transcripts", quiet=options.quiet).update
        )
        _print_report(report, job, options)
        _sync_deleted(collector, job.archive)
        is_delivered = rounds.run(once=True)
    return 2 if report.failures or report.missed or not is_delivered else 0


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.1 <= value <= 86_400:
        raise ArgumentTypeError(f"{text!r} is not a number of seconds from 0.1 to 86400")
    return value


def collect_job(options: Namespace) -> CollectJob:
    """Return what to collect, and into which archive. Raises NotFound."""
    from clew.collect.archive.reader import archive_path
    from clew.collect.job import CollectJob
    from clew.wire.layout import claude_dir

    root = claude_dir(options.claude_dir)
    if not root.is_dir():
        raise NotFound(
            str(root), "session folder", hint="Name another with --claude-dir, or make a demo tree: clew demo DIR"
        )
    path = archive_path(options.archive)
    return CollectJob(
        str(root),
        path,
        redact=options.redact,
        extras=not options.lean,
        max_file=options.max_file,
        jobs=options.jobs,
    )


def _watch(job: CollectJob, options: Namespace) -> int:
    from contextlib import contextmanager

    from clew.cli.keep.collect_delivery import open_deliveries
    from clew.collect.watch_loop import Pace, due_times, watch

    pace = Pace(options.every or _EVERY)

    furnished = [False]

    @contextmanager
    def attend(collector: Collector) -> Iterator[Callable[[PollReport], None]]:
        with open_deliveries(collector, job, options) as rounds:

            def hear(report: PollReport) -> None:
                pace.update(report)
                if not report.is_quiet:
                    _print_report(report, job, options)
                if report.gone or report.resets or report.moves or not furnished[0]:
                    _sync_deleted(collector, job.archive)
                    furnished[0] = True
                rounds.run(once=False)
                pace.has_backlog = rounds.has_backlog

            yield hear

    def failed(error: StoreError) -> None:
        print_message(f"clew: {error} It is tried again.")

    watch(job, due_times(job.root, pace), attend, failed)
    return 0


def _sync_deleted(collector: Collector, archive: str | None) -> None:
    """Reconstruct deleted sessions. If there is no space for them, collecting continues."""
    from clew.collect.archive.reader import Archive
    from clew.collect.archive.sync_deleted_tree import sync_deleted_tree

    try:
        damaged: list[str] = []
        sync_deleted_tree(Archive(collector.connection), collector.root, archive, damaged)
        if damaged:
            print_message(f"{_named(damaged)} damaged in the archive; see: clew collect verify")
    except OSError as error:
        print_message(f"What is gone could not be laid out for ls and show: {error.filename}: {error.strerror}.")


def _preview(job: CollectJob, options: Namespace) -> int:
    from clew.collect.dry_run import changed_files

    files = changed_files(job)
    if options.json:
        print_json({"kind": "source", "path": f.path, "source": f.kind, "bytes": f.state.size} for f in files)
        return 0
    for file in files:
        print(clean_name(file.path))
    if not options.quiet:
        print_message(
            f"{plural(len(files), 'file')} would be read, {format_size(sum(f.state.size for f in files))};"
            " nothing was written."
        )
    return 0


def _print_report(report: PollReport, job: CollectJob, options: Namespace) -> None:
    if options.json:
        print_json([{"kind": "collected", "archive": job.archive, **_plain(report)}])
    else:
        what = f"{plural(report.lines, 'line')} ({format_size(report.bytes)})"
        print(
            clean_name(
                f"{what} from {plural(report.files, 'file')} {noun(report.lines, 'is', 'are')} new in {job.archive}"
            ),
            flush=True,
        )
    if not options.quiet:
        for text in _remarks(report):
            print_message(text)


def _plain(report: PollReport) -> dict[str, Any]:
    from msgspec.structs import asdict

    value = asdict(report)
    for name in ("resets", "moves", "failures"):
        value[name] = [row._asdict() for row in getattr(report, name)]
    return value


def _remarks(report: PollReport) -> Iterator[str]:
    for reset in report.resets:
        yield f"{reset.path} was {reset.reason}; it is kept as generation {reset.generation}, and what it was as well."
    for move in report.moves:
        yield f"{move.old} is {move.new} now."
    if report.gone:
        yield f"{_named(report.gone)} gone; the archive keeps what was there."
    if report.damaged:
        kept = noun(report.damaged, "kept as it is", "kept as they are")
        yield f"{plural(report.damaged, 'damaged line')}, {kept}. See: clew check --all"
    if report.repaired:
        yield f"{_named(report.repaired)} repaired in the archive: lines of it were damaged."
    if report.expiring:
        days = f"it deletes what is older than {plural(report.days, 'day')}"
        soon = plural(report.expiring, "session")
        kept = noun(report.expiring, "keeps it", "keeps them")
        yield f"Claude Code will delete {soon} within three days ({days}); the archive {kept}."
    if report.skipped:
        yield f"{_named(report.skipped)} left out: links are not followed, and only files are read."
    if report.misnamed:
        name = noun(len(report.misnamed), "its name is", "their names are")
        yield f"{_named(report.misnamed)} NOT ARCHIVED: {name} not UTF-8. Rename what is not."
    if report.too_long:
        yield f"{_named(report.too_long)} longer than 256 MiB: NOT ARCHIVED but for the hash."
    if report.too_large:
        yield f"{_named(report.too_large)} left out: larger than --max-file."
    for path in report.missed:
        yield f"{path} could not be looked at, so nothing is taken for deleted."
    for failure in report.failures:
        yield f"{failure.path} could not be read: {failure.reason}."


def _named(paths: list[str]) -> str:
    names = ", ".join(paths[:_NAMED]) + (f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else "")
    return f"{names} {'is' if len(paths) == 1 else 'are'}"
