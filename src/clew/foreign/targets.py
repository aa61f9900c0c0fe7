"""The table of programs to which a session can be exported: how its file is written, and where it belongs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from clew.foreign import codex_rollout
from clew.foreign.outgoing import Outgoing
from clew.wire.json_codec import Json


class Target(Struct, frozen=True):
    """A program: the lines of a conversation, the name and place of their file, and how to continue there."""

    name: str
    label: str
    build: Callable[[Outgoing], Iterator[Json]]
    file_name: Callable[[Outgoing], str]
    place: Callable[[str, Outgoing], Path]
    resume_arguments: Callable[[Outgoing], tuple[str, ...]]


TARGETS = {
    target.name: target
    for target in (
        Target(
            "codex",
            "Codex CLI",
            codex_rollout.build,
            codex_rollout.file_name,
            codex_rollout.place,
            codex_rollout.resume_arguments,
        ),
    )
}
