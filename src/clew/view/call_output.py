"""Convert the output of a call to rows, from the transcript or from its long-output file."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from clew.conversation.replies import Call
from clew.view.row_type import Row
from clew.view.sanitize import format_size
from clew.wire.overflow_files import Overflow

HEAD_BYTES = 256 << 10  # read from a long output if only some lines are shown


def output_rows(call: Call, overflow: Overflow | None, depth: int, limit: int | None) -> Iterator[Row]:
    """Yield the output of a call. A long output replaces its placeholder, and is read in chunks if shown completely."""
    kind = "failure" if call.failed else "result"
    time = call.result_entry.time if call.result_entry else None
    if overflow is None or not overflow.size:
        if call.output.strip():
            yield Row(kind, call.output, depth, time, limit)
    elif overflow.is_binary:
        yield Row(kind, f"[binary output, {format_size(overflow.size)}: {overflow.path}]", depth, time, limit)
    else:
        yield from _long_rows(overflow, kind, depth, time, limit)


def _long_rows(overflow: Overflow, kind: str, depth: int, time: datetime | None, limit: int | None) -> Iterator[Row]:
    facts = {"file": overflow.path.name, "bytes": overflow.size}
    if limit is not None:
        text, beyond = overflow.head(HEAD_BYTES)
        yield Row(kind, text, depth, time, limit, {**facts, "beyond": beyond})
        return
    for number, text in enumerate(overflow.chunks()):
        yield Row(kind, text, depth, time, None, {**facts, "is_continued": number > 0})
