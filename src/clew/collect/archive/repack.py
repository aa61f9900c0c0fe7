"""Write packs again without the bytes that no content refers to any more, so that nothing of them is left."""

from __future__ import annotations

from typing import Any

import apsw

from clew.collect.archive.content_reader import ContentReader
from clew.collect.archive.content_writer import ContentWriter

_LARGER = """
SELECT p.id FROM pack p LEFT JOIN content c ON c.pack = p.id GROUP BY p.id HAVING coalesce(sum(c.size), 0) <> p.size
"""
_CONTENTS = "SELECT id, packing, data, pack, start, size FROM content WHERE pack = ? ORDER BY start"


def repack(connection: apsw.Connection) -> None:
    """Replace packs that have more than their contents by ones that have only these.

    A pack that cannot be unpacked is deleted: its contents stay damaged, and a scrub repairs those whose file exists.
    """
    connection.execute("CREATE INDEX IF NOT EXISTS content_pack ON content(pack)")
    writer = ContentWriter(connection)
    larger: list[Any] = connection.execute(_LARGER).fetchall()
    for (pack,) in larger:
        rows: list[Any] = connection.execute(_CONTENTS, (pack,)).fetchall()
        reader = ContentReader(connection)
        found = {row[0]: raw for row in rows if (raw := reader.read(*row[1:])) is not None}
        connection.execute("DELETE FROM pack WHERE id = ?", (pack,))
        if not found:
            continue
        new, start = writer.add_pack(b"".join(found.values())), 0
        for id, raw in found.items():
            connection.execute("UPDATE content SET pack = ?, start = ? WHERE id = ?", (new, start, id))
            start += len(raw)
    connection.execute("DROP INDEX content_pack")
