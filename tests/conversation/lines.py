"""Sessions written entry by entry, for shapes that no conversation takes by itself.

An entry without a time gets one by its place: the first at nine o'clock, each further one a second later.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from clew.conversation.session import Session
from clew.demo.talk import Talk, talk
from clew.wire.entry import Entry
from clew.wire.json_codec import encode
from clew.wire.timestamps import format_timestamp

Json = dict[str, Any]

BEGIN = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
MODEL = "claude-opus-4-6"


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def use(ident: str, name: str = "Read", **arguments: Any) -> Json:
    return {"type": "tool_use", "id": ident, "name": name, "input": arguments}


def user(uuid: str, parent: str | None, content: str | list[Json], **fields: Any) -> Json:
    message = {"role": "user", "content": content}
    return {"type": "user", "uuid": uuid, "parentUuid": parent, "message": message, **fields}


def result(uuid: str, parent: str | None, ident: str, content: Any = "done", **fields: Any) -> Json:
    return user(uuid, parent, [{"type": "tool_result", "tool_use_id": ident, "content": content}], **fields)


def reply(
    uuid: str,
    parent: str | None,
    *blocks: Json,
    mid: str | None = None,
    stop: str | None = None,
    usage: Json | None = None,
    model: str = MODEL,
    **fields: Any,
) -> Json:
    """One line of a reply. Without an id it is a reply of its own."""
    message: Json = {"model": model, "id": mid or f"msg_{uuid}", "type": "message", "role": "assistant"}
    message |= {"content": list(blocks), "stop_reason": stop}
    if usage is not None:
        message["usage"] = usage
    return {"type": "assistant", "uuid": uuid, "parentUuid": parent, "message": message, **fields}


def pin(leaf: str | None, said: str | None = None, **fields: Any) -> Json:
    return {"type": "last-prompt", "leafUuid": leaf, **({} if said is None else {"lastPrompt": said}), **fields}


def written(entries: Sequence[Json]) -> bytes:
    """The bytes of a file; `timestamp: None` leaves the time out."""
    found = []
    for index, entry in enumerate(entries):
        timed = {"timestamp": format_timestamp(BEGIN + timedelta(seconds=index)), **entry} if "uuid" in entry else entry
        found.append(encode({k: v for k, v in timed.items() if k != "timestamp" or v is not None}) + b"\n")
    return b"".join(found)


def session(*entries: Json) -> Session:
    return Session(written(entries))


def opened(told: Talk) -> Session:
    """A conversation as clew reads it, without a file."""
    return Session(told.bytes())


def rewound_in_each_turn(count: int) -> Session:
    """A conversation in which each prompt was tried and rewound once before it went on."""
    told = talk().user("Begin.").reply("Begun.")
    for number in range(count):
        at = told.leaf
        assert at is not None
        told = told.user(f"Try {number}.").reply("Tried.").at(at).user(f"Go on {number}.").reply("Done.")
    return opened(told)


def uuids(entries: Sequence[Entry]) -> list[str | None]:
    return [entry.uuid for entry in entries]


def texts(messages: Sequence[Json]) -> list[str]:
    """Each API message in a word: its role and the texts, calls and results in it."""
    return [f"{message['role']}: " + " ".join(map(_word, message["content"])) for message in messages]


def _word(block: Json) -> str:
    match block["type"]:
        case "text":
            return str(block["text"]).removesuffix("\n")  # where texts were joined; a test of its own looks at it
        case "tool_use":
            return f"({block['id']})"
        case "tool_result":
            return f"[{block['tool_use_id']}]"
        case other:
            return f"<{other}>"
