"""Preserved lines: what a compaction keeps from before it, and how a resume links it.

A newer version of Claude Code does not repeat the messages that a compaction keeps: the boundary names them. When a file
is read, the kept lines are linked below the anchor (the summary), whatever followed the anchor hangs below the last of
them, and every other line before the boundary is removed. This happens before the leaf is chosen and before a missing
parent is bridged, so it also affects branches that do not contain the boundary.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from clew.conversation.cli_version import Era
from clew.conversation.parent_links import SPOKEN, Chain
from clew.wire.entry import Entry
from clew.wire.entry_types import Compaction, Segment


def relinked(links: Chain) -> Chain:
    """The chain as a resume sees it.

    Only the last boundary that preserves something counts. If a later boundary preserves nothing, every line before that one
    is removed. If a line that is to be kept is missing, nothing changes.
    """
    era = links.era
    boundaries = [entry for entry in links.nodes.values() if entry.is_boundary]
    preserving = [entry for entry in boundaries if _preserves(Compaction.of(entry), era)]
    if not preserving:
        return links
    last = boundaries[-1]
    if preserving[-1] is not last:
        return _without_lines_before(last, [], links, links.above)
    anchor, kept = preserved(Compaction.of(last), links)
    if kept is None:
        return links
    above = dict(links.above)
    if kept:
        above.update({uuid: kept[-1].uuid for uuid, parent in above.items() if parent is not None and parent == anchor})
        above[kept[0].uuid] = anchor
        if Compaction.of(last).messages and era.knows_preserved_messages:
            above.update({after.uuid: before.uuid for before, after in pairwise(kept)})
    found = _without_lines_before(last, kept, links, above)
    return replace(found, ends={anchor: kept[-1]}) if kept else found


def preserved(made: Compaction, links: Chain) -> tuple[str | None, list[Entry] | None]:
    """The anchor and the lines that a compaction keeps; None if one of them is missing."""
    if made.messages and links.era.knows_preserved_messages:
        kept = [links.nodes[uuid] for uuid in made.messages.uuids if uuid in links.nodes]
        return made.messages.anchor, kept if len(kept) == len(made.messages.uuids) else None
    if made.segment and links.era.knows_preserved_segment:
        return made.segment.anchor, _segment(made.segment, links)
    return None, []


def _preserves(made: Compaction, era: Era) -> bool:
    return bool((made.messages and era.knows_preserved_messages) or (made.segment and era.knows_preserved_segment))


def _segment(made: Segment, links: Chain) -> list[Entry] | None:
    """The lines from the head to the tail, by their parents alone."""
    tail = links.nodes.get(made.tail) if made.tail else None
    path = [*links.ancestors(tail)][::-1] if tail else []
    heads = [index for index, entry in enumerate(path) if entry.uuid == made.head]
    return path[heads[0] :] if heads else None


def _without_lines_before(
    boundary: Entry, kept: list[Entry], links: Chain, above: dict[str | None, str | None]
) -> Chain:
    """Without the lines before a boundary that are not kept.

    A message below one of them hangs below the last kept line instead; any other line is left without its parent.
    """
    names = {entry.uuid for entry in kept}
    removed: set[str | None] = set()
    for uuid in links.nodes:  # a line that comes again keeps its place
        if uuid == boundary.uuid:
            break
        if uuid not in names:
            removed.add(uuid)
    if not removed:
        return replace(links, above=above)
    nodes = {uuid: entry for uuid, entry in links.nodes.items() if uuid not in removed}
    tail = kept[-1].uuid if kept else None
    found = {uuid: parent for uuid, parent in above.items() if uuid not in removed}
    if tail is not None and links.era.moves_orphans:
        orphans = (uuid for uuid, parent in found.items() if parent in removed and nodes[uuid].type in SPOKEN)
        found.update(dict.fromkeys(orphans, tail))
    return replace(links, nodes=nodes, above=found, order=tuple(e for e in links.order if e.uuid not in removed))
