"""`clew lineage`: list the copies and edits of a session, and its originals."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping

from clew.cli.options import add_common_options
from clew.cli.output import clean_name, one_line, print_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clew.edit.session_lineage import Lineage
    from clew.wire.layout import SessionFile

Line = tuple[str, str, str, str, str]  # the branch that is drawn, the id, the mark, a text, and a note


def add_arguments(command: ArgumentParser) -> None:
    command.add_argument("id", help="a session: its id, the beginning of it, or a path")
    command.add_argument("--ascii", action="store_true", help="draw with plain letters")
    add_common_options(command)


def run(options: Namespace) -> int:
    from clew.cli.select_session import open_session, open_tree

    source = open_session(options, options.id)
    from clew.edit.session_lineage import find_lineage
    from clew.edit.undo_journal import UndoJournal
    from clew.system.terminal_style import stdout_style

    files = [file for project in open_tree(options).projects() for file in project.sessions()]
    family = find_lineage(source, files, UndoJournal().records())
    known = {file.id: file for file in files}
    if options.json:
        print_json([_json(family, known)])
        return 0
    style = stdout_style()
    for drawn, id, mark, text, note in _draw(family, known, options.ascii):
        parts = ((drawn, "quiet"), (id, "link"), (mark, "bold accent"), (text, ""), (note, "quiet"))
        print("".join(style(clean_name(part), look) for part, look in parts))
    return 0


def _json(family: Lineage, known: Mapping[str, SessionFile]) -> dict[str, Any]:
    links = [
        {"parent": x.parent, "child": x.child, "how": x.how, "detail": x.detail, "exists": x.child in known}
        for x in family.links
    ]
    shared = [{"id": s.id, "path": str(s.path), "common": s.common, "own": s.own} for s in family.shared]
    return {"kind": "lineage", "id": family.id, "roots": list(family.roots), "links": links, "shared": shared}


def _draw(family: Lineage, known: Mapping[str, SessionFile], plain: bool) -> Iterator[Line]:
    for root in family.roots:
        yield ("", root[:8], _mark(root, family, plain), *_title(root, known))
        yield from _draw_children(root, family, known, plain, "", {root})
    if not family.links and not family.shared:
        yield ("", "", "", "Nothing is known that it was made of, or that was made of it.", "")
    for kin in family.shared:
        more = f", and {kin.own} of its own" if kin.own else ""
        same = f" ({kin.path})" if kin.id == family.id else "".join(_title(kin.id, known))
        yield ("", kin.id[:8], "", same, f"  holds {kin.common} of the same entries{more}")


def _draw_children(
    id: str, family: Lineage, known: Mapping[str, SessionFile], plain: bool, margin: str, drawn: set[str]
) -> Iterator[Line]:
    links = [link for link in family.links_from(id) if link.child not in drawn]
    for link in links:
        is_last = link is links[-1]
        branch = ("`- " if is_last else "|- ") if plain else ("└─ " if is_last else "├─ ")
        note = "" if link.child in known else "  (gone)"
        mark = _mark(link.child, family, plain)
        yield (f"{margin}{branch}", link.child[:8], mark, f"  {one_line(link.detail)}", note)
        drawn.add(link.child)
        further = margin + ("   " if is_last else "|  " if plain else "│  ")
        yield from _draw_children(link.child, family, known, plain, further, drawn)


def _mark(id: str, family: Lineage, plain: bool) -> str:
    return "" if id != family.id else " *" if plain else " ●"


def _title(id: str, known: Mapping[str, SessionFile]) -> tuple[str, str]:
    """Return the title of a session, and a note if it is gone."""
    from clew.conversation.session_listing import Outline
    from clew.facts.secrets.mask_secrets import mask
    from clew.system.file_errors import ErrorCollector

    if id not in known:
        return "", "  (gone)"
    title = ""
    with ErrorCollector().catch(known[id].path):
        title = Outline(known[id]).title
    return f"  {one_line(mask(title)[0], 80)}" if title else "", ""
