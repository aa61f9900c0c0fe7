"""`clew lineage`: show what a session was made of, and what was made of it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from clew.cli.options import add_common_options
from clew.cli.output import clean_name, one_line, print_json
from clew.cli.select_session import open_session, open_tree
from clew.system.file_errors import ErrorCollector

if TYPE_CHECKING:
    from clew.edit.session_lineage import Lineage
    from clew.wire.layout import SessionFile


def add_arguments(command: ArgumentParser) -> None:
    command.add_argument("id", help="a session: its id, the beginning of it, or a path")
    command.add_argument("--ascii", action="store_true", help="draw with plain letters")
    add_common_options(command)


def run(options: Namespace) -> int:
    from clew.edit.session_lineage import find_lineage
    from clew.edit.undo_journal import UndoJournal

    found = open_session(options, options.id)
    files = [file for project in open_tree(options).projects() for file in project.sessions()]
    made = find_lineage(found, files, UndoJournal().records())
    known = {file.id: file for file in files}
    if options.json:
        print_json([_json(made, known)])
        return 0
    for line in _drawn(made, known, options.ascii):
        print(clean_name(line))
    return 0


def _json(made: Lineage, known: Mapping[str, SessionFile]) -> dict[str, Any]:
    links = [
        {"parent": x.parent, "child": x.child, "how": x.how, "detail": x.detail, "exists": x.child in known}
        for x in made.links
    ]
    shared = [{"id": s.id, "path": str(s.path), "common": s.common, "own": s.own} for s in made.shared]
    return {"kind": "lineage", "id": made.id, "roots": list(made.roots), "links": links, "shared": shared}


def _drawn(made: Lineage, known: Mapping[str, SessionFile], plain: bool) -> Iterator[str]:
    for root in made.roots:
        yield f"{_name(root, made, plain)}{_title(root, known)}"
        yield from _below(root, made, known, plain, "", {root})
    if not made.links and not made.shared:
        yield "Nothing is known that it was made of, or that was made of it."
    for kin in made.shared:
        more = f", and {kin.own} of its own" if kin.own else ""
        same = f" ({kin.path})" if kin.id == made.id else _title(kin.id, known)
        yield f"{kin.id[:8]}{same}  holds {kin.common} of the same entries{more}"


def _below(
    id: str, made: Lineage, known: Mapping[str, SessionFile], plain: bool, margin: str, seen: set[str]
) -> Iterator[str]:
    links = [link for link in made.links_from(id) if link.child not in seen]
    for link in links:
        is_last = link is links[-1]
        branch = ("`- " if is_last else "|- ") if plain else ("└─ " if is_last else "├─ ")
        gone = "" if link.child in known else "  (gone)"
        yield f"{margin}{branch}{_name(link.child, made, plain)}  {one_line(link.detail)}{gone}"
        seen.add(link.child)
        further = margin + ("   " if is_last else "|  " if plain else "│  ")
        yield from _below(link.child, made, known, plain, further, seen)


def _name(id: str, made: Lineage, plain: bool) -> str:
    return f"{id[:8]}{' *' if plain else ' ●'}" if id == made.id else id[:8]


def _title(id: str, known: Mapping[str, SessionFile]) -> str:
    from clew.conversation.session_listing import Outline
    from clew.facts.secrets.mask_secrets import mask

    if id not in known:
        return "  (gone)"
    title = ""
    with ErrorCollector().catch(known[id].path):
        title = Outline(known[id]).title
    return f"  {one_line(mask(title)[0], 80)}" if title else ""
