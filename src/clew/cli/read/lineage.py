"""`clew lineage`: list the copies and edits of a session, and its originals."""

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

    source = open_session(options, options.id)
    files = [file for project in open_tree(options).projects() for file in project.sessions()]
    family = find_lineage(source, files, UndoJournal().records())
    known = {file.id: file for file in files}
    if options.json:
        print_json([_json(family, known)])
        return 0
    for line in _draw(family, known, options.ascii):
        print(clean_name(line))
    return 0


def _json(family: Lineage, known: Mapping[str, SessionFile]) -> dict[str, Any]:
    links = [
        {"parent": x.parent, "child": x.child, "how": x.how, "detail": x.detail, "exists": x.child in known}
        for x in family.links
    ]
    shared = [{"id": s.id, "path": str(s.path), "common": s.common, "own": s.own} for s in family.shared]
    return {"kind": "lineage", "id": family.id, "roots": list(family.roots), "links": links, "shared": shared}


def _draw(family: Lineage, known: Mapping[str, SessionFile], plain: bool) -> Iterator[str]:
    for root in family.roots:
        yield f"{_name(root, family, plain)}{_title(root, known)}"
        yield from _draw_children(root, family, known, plain, "", {root})
    if not family.links and not family.shared:
        yield "Nothing is known that it was made of, or that was made of it."
    for kin in family.shared:
        more = f", and {kin.own} of its own" if kin.own else ""
        same = f" ({kin.path})" if kin.id == family.id else _title(kin.id, known)
        yield f"{kin.id[:8]}{same}  holds {kin.common} of the same entries{more}"


def _draw_children(
    id: str, family: Lineage, known: Mapping[str, SessionFile], plain: bool, margin: str, drawn: set[str]
) -> Iterator[str]:
    links = [link for link in family.links_from(id) if link.child not in drawn]
    for link in links:
        is_last = link is links[-1]
        branch = ("`- " if is_last else "|- ") if plain else ("└─ " if is_last else "├─ ")
        note = "" if link.child in known else "  (gone)"
        yield f"{margin}{branch}{_name(link.child, family, plain)}  {one_line(link.detail)}{note}"
        drawn.add(link.child)
        further = margin + ("   " if is_last else "|  " if plain else "│  ")
        yield from _draw_children(link.child, family, known, plain, further, drawn)


def _name(id: str, family: Lineage, plain: bool) -> str:
    return f"{id[:8]}{' *' if plain else ' ●'}" if id == family.id else id[:8]


def _title(id: str, known: Mapping[str, SessionFile]) -> str:
    from clew.conversation.session_listing import Outline
    from clew.facts.secrets.mask_secrets import mask

    if id not in known:
        return "  (gone)"
    title = ""
    with ErrorCollector().catch(known[id].path):
        title = Outline(known[id]).title
    return f"  {one_line(mask(title)[0], 80)}" if title else ""
