"""`clew merge`: join the same session, continued on two machines."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator

from clew.cli.edit import edit_output
from clew.cli.output import clean_name
from clew.system.plural import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clew.edit.merge_sessions import Merged


def add_arguments(command: ArgumentParser) -> None:
    command.add_argument("id", help="a session: its id, the beginning of it, or a path")
    command.add_argument("others", nargs="+", metavar="OTHER", help="the same session as it went on elsewhere")
    edit_output.add_arguments(command)


def run(options: Namespace) -> int:
    from clew.cli.select_session import open_session

    session = open_session(options, options.id)
    from msgspec.structs import asdict

    from clew.edit.merge_sessions import merge
    from clew.edit.plan import plan

    edit = plan(session)
    merges = []
    for name in options.others:
        edit, merged = merge(edit, open_session(options, name))
        merges.append(merged)
    if not options.json and not options.diff:
        for name, merged in zip(options.others, merges, strict=True):
            for line in _report(name, merged):
                print(clean_name(line))
    return edit_output.finish(options, edit, {"merged": [asdict(merged) for merged in merges]})


def _report(name: str, merged: Merged) -> Iterator[str]:
    yield (
        f"{name}: {plural(merged.common, 'entry')} of both, {merged.first} of the first alone, "
        f"{merged.other} of this one alone, {plural(merged.files, 'more file')}."
    )
    if merged.differing:
        shown = ", ".join(uuid[:8] for uuid in merged.differing[:8])
        more = f" and {len(merged.differing) - 8} more" if len(merged.differing) > 8 else ""
        yield f"  Under {plural(len(merged.differing), 'uuid')} they say different things; the first counts: {shown}{more}"
    if merged.renamed:
        yield f"  Saved files under another name, since theirs was taken: {', '.join(merged.renamed)}"
