"""Questions: the arguments of each tool as one value, which also says how they are to be written."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

LONGEST = 2000  # characters of a query; other texts are shorter
SHORT = 500
Id = Annotated[str, Meta(max_length=SHORT, description="A session id, or the beginning of one.")]
Depth = Annotated[
    Literal["prompts", "replies", "calls", "full"],
    Meta(description="How much: prompts only, with replies, with tool calls, or everything."),
]
Project = Annotated[
    str, Meta(max_length=SHORT, description="Only this project: its path, its name or a part of it. Empty for all.")
]
Since = Annotated[
    str, Meta(max_length=SHORT, description="Only from then on: 7d, yesterday, 2026-01-31. Empty for all time.")
]
Limit = Annotated[int, Meta(ge=1, le=50, description="At most so many.")]
Cursor = Annotated[int, Meta(ge=0, description="Where to go on, as the last answer said.")]


class SearchSessions(Struct, frozen=True, forbid_unknown_fields=True):
    query: Annotated[
        str,
        Meta(
            max_length=LONGEST,
            description='Words that must all be there, "a phrase", -not, a OR b, begin*, and filters: project: branch: '
            "model: tool: file: role: since: until: in: is:error input: round:.",
        ),
    ]
    limit: Limit = 5
    cursor: Cursor = 0


class ListSessions(Struct, frozen=True, forbid_unknown_fields=True):
    project: Project = ""
    since: Since = ""
    limit: Limit = 20
    cursor: Cursor = 0


class ReadSession(Struct, frozen=True, forbid_unknown_fields=True):
    id: Id
    turns: Annotated[str, Meta(max_length=SHORT, description='Which turns: "3", "3-7", "3-", "-1" or "last 2".')] = (
        "1-5"
    )
    depth: Depth = "calls"
    cursor: Cursor = 0


class ListRounds(Struct, frozen=True, forbid_unknown_fields=True):
    id: Id
    gap: Annotated[float, Meta(ge=0, le=1e6, description="A pause of more minutes makes a round a resume.")] = 5
    cursor: Cursor = 0


class ReadTurn(Struct, frozen=True, forbid_unknown_fields=True):
    id: Id
    number: Annotated[int, Meta(ge=1, description="The number of the turn, counted from 1.")]
    cursor: Cursor = 0


class ContextArguments(Struct, frozen=True, forbid_unknown_fields=True):
    offset: Annotated[int, Meta(description="The byte offset of a passage, as the search gave it.")] = -1
    place: Annotated[
        str, Meta(max_length=SHORT, description="Instead of an offset: the number of a line, or the uuid of one.")
    ] = ""
    messages: Annotated[int, Meta(ge=0, le=50, description="With place: so many messages before and after.")] = 5
    id: Annotated[
        str, Meta(max_length=SHORT, description="The session of the passage, if it stands in the session itself.")
    ] = ""
    path: Annotated[
        str, Meta(max_length=4096, description="The transcript of the passage, if the search gave a path.")
    ] = ""
    around: Annotated[int, Meta(ge=0, le=10, description="So many turns before and after.")] = 1
    depth: Depth = "calls"
    cursor: Annotated[int, Meta(ge=-1, description="Where to go on, as the last answer said; -1 for the passage.")] = -1


class UsageArguments(Struct, frozen=True, forbid_unknown_fields=True):
    project: Project = ""
    since: Since = ""


def schema(question: type[Struct]) -> dict[str, Any]:
    """How the arguments are to be written, in the words of JSON Schema."""
    _, parts = msgspec.json.schema_components([question])
    found = dict(parts[question.__name__])
    del found["title"]
    return found
