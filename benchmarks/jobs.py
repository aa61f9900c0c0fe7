"""The jobs that are measured. Each prepares itself and returns what is to be timed."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

from benchmarks.measure import transcripts

Json = dict[str, Any]


def nothing() -> Callable[[], None]:
    return lambda: None


# -- bulk facts: usage, words and calls of every entry of a tree, with the offset of each


def facts_by_clew(root: str) -> Callable[[], Json]:
    from clew.facts.searchable_text import words
    from clew.facts.token_usage import Usage, usage
    from clew.wire.bulk_scan import scan
    from clew.wire.entry import BaseEntry

    files = transcripts(root)
    seen = {"offsets": 0, "calls": 0, "letters": 0}

    def told(path: str) -> Iterator[list[BaseEntry]]:
        offsets = calls = letters = 0
        for piece in scan(path):
            for entry, offset in zip(piece.spoken, piece.offsets, strict=True):
                offsets ^= offset
                for said in words(entry):
                    letters += len(said.text)
                    calls += said.field == "input"
            yield piece.spoken
        seen["offsets"] ^= offsets
        seen["calls"] += calls
        seen["letters"] += letters

    def run() -> Json:
        total = sum((usage(chain.from_iterable(told(path))) for path in files), Usage()).total
        return {**seen, "output": total.output, "input": total.input, "cache_read": total.cache_read}

    return run


def facts_by_json(root: str) -> Callable[[], Json]:
    """The same with the standard library: every line decoded whole, nothing salvaged."""
    files = transcripts(root)

    def run() -> Json:
        seen = {"offsets": 0, "calls": 0, "letters": 0}
        spent: dict[str, tuple[int, int, int]] = {}
        for path in files:
            offset = 0
            with open(path, "rb") as file:
                for line in file:
                    _one(line, offset, seen, spent)
                    offset += len(line)
        output, read, given = (sum(column) for column in zip(*spent.values(), strict=True))
        return {**seen, "output": output, "input": given, "cache_read": read}

    return run


def _one(line: bytes, offset: int, seen: dict[str, int], spent: dict[str, tuple[int, int, int]]) -> None:
    try:
        entry = json.loads(line)
    except ValueError:
        return
    if not isinstance(entry, dict):
        return
    seen["offsets"] ^= offset
    message = entry.get("message")
    if entry.get("type") not in ("user", "assistant") or not isinstance(message, dict):
        return
    for field, text, _, _ in _words(entry["type"], message.get("content")):
        seen["letters"] += len(text)
        seen["calls"] += field == "input"
    usage = message.get("usage")
    if entry["type"] == "assistant" and usage:
        key = str(message.get("id") or entry.get("requestId") or entry.get("uuid"))
        counts = (
            usage.get("output_tokens") or 0,
            usage.get("cache_read_input_tokens") or 0,
            usage.get("input_tokens") or 0,
        )
        spent[key] = max(spent.get(key, (0, 0, 0)), counts)


def _words(kind: str, content: Any) -> list[tuple[str, str, str, bool]]:
    """What `clew.facts.searchable_text` gives, but for prompts, which it finds and cleans besides."""
    found = []
    for block in content if isinstance(content, list) else ():
        match block.get("type"):
            case "tool_use":
                found.append(("input", "\n".join(_strings(block.get("input"))), block.get("name") or "", False))
            case "tool_result":
                found.append(("result", _result(block.get("content")), "", bool(block.get("is_error"))))
            case "text" | "thinking" as said if kind == "assistant" and block.get(said):
                found.append(("reply" if said == "text" else said, block[said], "", False))
    return found


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key not in ("signature", "data"):
                yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


def _result(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = (_part(p) for p in content or () if isinstance(p, dict))
    return "\n".join(p for p in parts if p)


def _part(part: Json) -> str:
    kind = part.get("type")
    return f"[{kind}]" if kind == "image" else str(part.get("text") or "")


def usage_by_clew(root: str) -> Callable[[], Json]:
    from clew.facts.token_usage import Usage, usage
    from clew.wire.bulk_scan import scan

    files = transcripts(root)

    def run() -> Json:
        said = (chain.from_iterable(piece.spoken for piece in scan(path)) for path in files)
        total = sum(map(usage, said), Usage()).total
        return {
            "input": total.input,
            "output": total.output,
            "cache_write": total.cache_write,
            "cache_read": total.cache_read,
        }

    return run


# -- one large session


def decode_alone(path: str) -> Callable[[], int]:
    """The typed decode of every line, kept: the floor under opening a session."""
    from clew.wire.entry import _DECODER
    from clew.wire.line import pieces

    kept: list[Any] = []

    def run() -> int:
        kept.extend((_DECODER.decode_lines(buffer), buffer) for buffer, _ in pieces(path))
        return len(kept)

    return run


def open_to_turns(path: str) -> Callable[[], int]:
    from clew.conversation.load import read

    kept: list[Any] = []

    def run() -> int:
        kept.append(read(path))
        return len(kept[0].turns)

    return run


def first_screen(path: str) -> Callable[[], int]:
    """The first forty lines of `clew show`."""
    from clew.conversation.load import read
    from clew.view.progressive import progressive_rows
    from clew.view.row_terminal import plain_lines
    from clew.view.rows import ViewOptions

    def run() -> int:
        session = read(path)
        screen = io.StringIO()
        made = (line for row in progressive_rows(session, ViewOptions()) for line in plain_lines(row))
        screen.writelines(f"{line}\n" for line in islice(made, 40))
        return screen.getvalue().count("\n")

    return run


# -- an edit


EDITS = {
    "trim fit": lambda plan: plan.trim("fit"),
    "trim heavy": lambda plan: plan.trim("heavy"),
    "trim calls": lambda plan: plan.strip_tools(keep=5),
    "clone": lambda plan: plan,
    "move": lambda plan: plan.move("/srv/elsewhere"),
    "drop": lambda plan: plan.drop_turns([2]),
    "truncate": lambda plan: plan.end_with(len(plan.session.turns) - 1),
    "compress": lambda plan: plan.compress(),
    "repair": lambda plan: plan.repair(),
    "redact": lambda plan: plan.redact(),
}


def edit(path: str, name: str, folder: str) -> Callable[[], int]:
    """An edit from the file to a new one that was read back."""
    from clew.conversation.load import read
    from clew.edit.plan import plan
    from clew.edit.write_plan import write_plan

    def run() -> int:
        return write_plan(EDITS[name](plan(read(path))), folder=folder).path.stat().st_size

    return run


# -- an export


def export(path: str, form: str, folder: str) -> Callable[[], int]:
    """A session in another form, from file to file, as the command does it; `terminal` is what `clew show` prints."""
    import os
    from contextlib import redirect_stdout

    from clew.cli.run_command import run as command

    target = Path(folder) / f"export.{form}"
    words = ["show", path, "--full", "-q"] if form == "terminal" else ["export", path, "-q", "-o", str(target)]
    more = ["--reveal"] if form == "revealed.html" else []

    def run() -> int:
        target.unlink(missing_ok=True)
        with open(os.devnull, "w", encoding="utf-8") as nothing, redirect_stdout(nothing):
            if command([*words, *more]):
                raise RuntimeError("the export failed")
        return target.stat().st_size if target.exists() else 0

    return run
