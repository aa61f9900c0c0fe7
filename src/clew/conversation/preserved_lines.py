"""Relink the lines that a compaction preserved from before it, as a resume does.

A newer version of Claude Code does not repeat the messages that a compaction keeps: the boundary names them. When a
file is read, the preserved lines are linked below the anchor (the summary), whatever followed the anchor is linked
below the last of them, and every other line before the boundary is removed. This happens before the leaf is chosen
and before a missing parent is bridged, so it also affects branches that do not contain the boundary.
"""

from __future__ import annotations

from itertools import pairwise

from msgspec.structs import replace

from clew.conversation.cli_version import Era
from clew.conversation.parent_links import SPOKEN, Chain
from clew.wire.entry import Entry
from clew.wire.entry_types import Compaction, Segment


def relink_preserved(links: Chain) -> Chain:
    """Return the links as a resume sees them.

    Only the last boundary that preserves something counts. If a later boundary preserves nothing, every line before
    that one is removed. If a line that should be preserved is missing, nothing changes.
    """
    era = links.era
    boundaries = [entry for entry in links.nodes.values() if entry.is_boundary]
    preserving = [entry for entry in boundaries if _preserves(Compaction.of(entry), era)]
    if not preserving:
        return links
    last = boundaries[-1]
    if preserving[-1] is not last:
        return _remove_lines_before(last, [], links, links.above)
    anchor, preserved = preserved_entries(Compaction.of(last), links)
    if preserved is None:
        return links
    # The boundary preserves P1 and P2; its anchor is the summary S, which the prompt N followed:
    #
    #   file:    … O ─ P1 ─ P2      boundary ─ S ─ N ─ …
    #   resume:  boundary ─ S ─ P1 ─ P2 ─ N ─ …            O is removed
    parents = dict(links.above)
    if preserved:
        parents.update(
            {uuid: preserved[-1].uuid for uuid, parent in parents.items() if parent is not None and parent == anchor}
        )
        parents[preserved[0].uuid] = anchor
        if Compaction.of(last).messages and era.knows_preserved_messages:
            parents.update({after.uuid: before.uuid for before, after in pairwise(preserved)})
    relinked = _remove_lines_before(last, preserved, links, parents)
    return replace(relinked, ends={anchor: preserved[-1]}) if preserved else relinked


def preserved_entries(compaction: Compaction, links: Chain) -> tuple[str | None, list[Entry] | None]:
    """Return the anchor and the lines that a compaction preserves; None instead of the lines if one is missing."""
    if compaction.messages and links.era.knows_preserved_messages:
        entries = [links.nodes[uuid] for uuid in compaction.messages.uuids if uuid in links.nodes]
        return compaction.messages.anchor, entries if len(entries) == len(compaction.messages.uuids) else None
    if compaction.segment and links.era.knows_preserved_segment:
        return compaction.segment.anchor, _segment(compaction.segment, links)
    return None, []


def _preserves(compaction: Compaction, era: Era) -> bool:
    return bool(
        (compaction.messages and era.knows_preserved_messages) or (compaction.segment and era.knows_preserved_segment)
    )


def _segment(segment: Segment, links: Chain) -> list[Entry] | None:
    """Return the lines from the head to the tail, by their parents alone; None if they are not connected."""
    tail = links.nodes.get(segment.tail) if segment.tail else None
    path = [*links.ancestors(tail)][::-1] if tail else []
    heads = [index for index, entry in enumerate(path) if entry.uuid == segment.head]
    return path[heads[0] :] if heads else None


def _remove_lines_before(
    boundary: Entry, preserved: list[Entry], links: Chain, parents: dict[str | None, str | None]
) -> Chain:
    """Remove the lines before a boundary that are not preserved.

    A message below one of them is linked below the last preserved line instead; any other line loses its parent.
    """
    preserved_uuids = {entry.uuid for entry in preserved}
    removed: set[str | None] = set()
    for uuid in links.nodes:  # a line that comes again keeps its place
        if uuid == boundary.uuid:
            break
        if uuid not in preserved_uuids:
            removed.add(uuid)
    if not removed:
        return replace(links, above=parents)
    nodes = {uuid: entry for uuid, entry in links.nodes.items() if uuid not in removed}
    tail = preserved[-1].uuid if preserved else None
    parents_left = {uuid: parent for uuid, parent in parents.items() if uuid not in removed}
    if tail is not None and links.era.moves_orphans:
        orphans = (uuid for uuid, parent in parents_left.items() if parent in removed and nodes[uuid].type in SPOKEN)
        parents_left.update(dict.fromkeys(orphans, tail))
    return replace(links, nodes=nodes, above=parents_left, order=tuple(e for e in links.order if e.uuid not in removed))
