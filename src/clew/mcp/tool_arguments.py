"""The arguments of each MCP tool, with their descriptions and limits."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

LONGEST = 2000  # characters of a query; other texts are shorter
SHORT = 500
MAX_RESULTS = 50  # sessions in one answer
MAX_NUMBER = 1_000_000  # of a cursor or a turn
MAX_OFFSET = 1 << 50  # bytes
Id = Annotated[str, Meta(max_length=SHORT, description="A session id, or the beginning of one.")]
Depth = Annotated[
    Literal["prompts", "replies", "calls", "full"],
    Meta(description="How much: prompts only, with replies, with tool calls, or everything."),
]
Project = Annotated[
    str, Meta(max_length=SHORT, description="Only this project: its path, its name or a part of it. Empty for all.")
]
Since = Annotated[
    str, Meta(max_length=SHORT, description="Only since this time: 7d, yesterday, 2026-01-31. Empty for all time.")
]
Limit = Annotated[int, Meta(ge=1, le=MAX_RESULTS, description="The largest number of sessions to return.")]
Cursor = Annotated[int, Meta(ge=0, le=MAX_NUMBER, description="Where to continue: the cursor of the last answer.")]


class SearchSessions(Struct, frozen=True, forbid_unknown_fields=True):
    query: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=LONGEST,
            description='With mode "words" or "semantic": words, "a phrase", prefix*, AND, OR, NOT, -word, brackets, and '
            "filters: project: branch: model: tool: file: role: since: until: in: is:error id: input: round: tag:. "
            "Otherwise the text or the regular expression to find; it ignores case unless it has a capital letter.",
        ),
    ]
    mode: Annotated[
        Literal["words", "semantic", "substring", "regex"],
        Meta(
            description="words: best matches first, other endings and parts of names too. semantic: also texts of similar "
            "meaning in other words; needs an extra package and takes longer. substring: an exact piece of text. regex: a "
            "regular expression, line by line."
        ),
    ] = "words"
    filters: Annotated[
        str, Meta(max_length=SHORT, description="Filters for every mode, such as project:shop since:7d in:result.")
    ] = ""
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
    gap: Annotated[
        float, Meta(ge=0, le=1e6, description="Minutes of a pause after which a round counts as a resume.")
    ] = 5
    cursor: Cursor = 0


class ReadTurn(Struct, frozen=True, forbid_unknown_fields=True):
    id: Id
    number: Annotated[int, Meta(ge=1, le=MAX_NUMBER, description="The number of the turn, counted from 1.")]
    cursor: Cursor = 0


class ContextArguments(Struct, frozen=True, forbid_unknown_fields=True):
    offset: Annotated[
        int, Meta(ge=-1, le=MAX_OFFSET, description="The byte offset of a passage, from search_sessions.")
    ] = -1
    place: Annotated[
        str, Meta(max_length=SHORT, description="Instead of an offset: a line number, or the uuid of an entry.")
    ] = ""
    messages: Annotated[int, Meta(ge=0, le=50, description="With place: the messages before and after it.")] = 5
    id: Annotated[str, Meta(max_length=SHORT, description="The session of the passage, if it is not in an agent.")] = ""
    path: Annotated[
        str, Meta(max_length=4096, description="The transcript of the passage, if search_sessions returned one.")
    ] = ""
    around: Annotated[int, Meta(ge=0, le=10, description="The turns before and after the passage.")] = 1
    depth: Depth = "calls"
    cursor: Annotated[
        int,
        Meta(ge=-1, le=MAX_NUMBER, description="Where to continue: the cursor of the last answer; -1 for the passage."),
    ] = -1


class UsageArguments(Struct, frozen=True, forbid_unknown_fields=True):
    project: Project = ""
    since: Since = ""


class FileChangesArguments(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(max_length=4096, description="Only this file: its absolute path. Empty for all.")] = ""
    project: Project = ""
    since: Since = ""
    cursor: Cursor = 0


class BlameArguments(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(min_length=1, max_length=4096, description="A file: its absolute path.")]
    first: Annotated[int, Meta(ge=1, le=MAX_NUMBER, description="The first line, counted from 1.")] = 1
    last: Annotated[int, Meta(ge=0, le=MAX_NUMBER, description="The last line; 0 for the end of the file.")] = 0
    cursor: Cursor = 0


def schema(question: type[Struct]) -> dict[str, Any]:
    """Return the JSON Schema of the arguments."""
    _, parts = msgspec.json.schema_components([question])
    found = dict(parts[question.__name__])
    del found["title"]
    return found
