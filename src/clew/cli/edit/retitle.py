"""`clew retitle`: set the title of a session."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from clew.cli.options import add_common_options
from clew.cli.output import clean_name, print_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clew.edit.rename_session import TitleLine


def add_arguments(command: ArgumentParser) -> None:
    command.add_argument("id", help="a session: its id, the beginning of it, or a path")
    command.add_argument("title", help="the new title")
    command.add_argument("--dry-run", action="store_true", help="say what would be done and write nothing")
    add_common_options(command)


def run(options: Namespace) -> int:
    from clew.cli.select_session import open_session

    source = open_session(options, options.id)
    from clew.edit.rename_session import retitle

    return print_title_change(
        options, source.id, retitle(source, options.title, dry_run=options.dry_run), "customTitle"
    )


def print_title_change(options: Namespace, id: str, named: TitleLine, field: str) -> int:
    """Report the line that was added and the former title."""
    from clew.wire.json_codec import as_text

    value, former = named.line[field], named.former.get(field, "")
    if options.json:
        value_json = {"kind": "name", "session": id, "line": named.line["type"], "value": value, "former": former}
        print_json([value_json | {"written": bool(named.number), "undo": named.number or None}])
        return 0
    what = "title" if field == "customTitle" else field
    before = f" It was {as_text(former)!r}." if former and former != value else ""
    if former == value:
        print(clean_name(f"{id[:8]} has {f'the {what} {value!r}' if value else f'no {what}'} already."))
    else:
        verb = "Would give" if options.dry_run else "Gave"
        print(clean_name(f"{verb} {id[:8]} {f'the {what} {value!r}' if value else f'no {what}'}.{before}"))
    return 0
