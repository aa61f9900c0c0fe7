"""Convert the output of a call to rows, from the transcript or from its long-output file."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from clew.conversation.replies import Call
from clew.view.row_types import FailureRow, ResultRow
from clew.view.sanitize import format_size
from clew.wire.overflow_files import Overflow

HEAD_BYTES = 256 << 10  # read from a long output if only some lines are shown

OutputRow = ResultRow | FailureRow


def output_rows(call: Call, overflow: Overflow | None, depth: int, limit: int | None) -> Iterator[OutputRow]:
    """Yield the output of a call. A long output replaces its placeholder, and is read in chunks if shown completely."""
    row_type = FailureRow if call.failed else ResultRow
    time = call.result_entry.time if call.result_entry else None
    if overflow is None or not overflow.size:
        if call.output.strip():
            yield row_type(call.output, depth, time, limit)
    elif overflow.is_binary:
        yield row_type(f"[binary output, {format_size(overflow.size)}: {overflow.path}]", depth, time, limit)
    else:
        yield from _long_rows(overflow, row_type, depth, time, limit)


def _long_rows(
    overflow: Overflow, row_type: type[OutputRow], depth: int, time: datetime | None, limit: int | None
) -> Iterator[OutputRow]:
    if limit is not None:
        text, beyond = overflow.head(HEAD_BYTES)
        yield row_type(text, depth, time, limit, beyond=beyond)
        return
    for number, text in enumerate(overflow.chunks()):
        yield row_type(text, depth, time, is_continued=number > 0)
