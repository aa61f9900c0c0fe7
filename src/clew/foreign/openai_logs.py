"""Logs in the form of OpenAI's APIs: messages with `tool_calls`, items of the Responses API, and ShareGPT's turns.

A file is one conversation (a list of messages, or a message on each line), or holds requests, each with all messages so far:
those that go on with each other are one conversation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from clew.foreign.conversation_steps import Conversation, Scribe
from clew.foreign.image_blocks import embedded, picture
from clew.foreign.json_values import (
    document,
    document_or_part,
    number,
    object_of,
    objects,
    records,
    text,
    time_of,
    usage,
)
from clew.foreign.responses_items import Items, arguments
from clew.wire.json_codec import Json

TOOL = "openai"
_SPEAKERS = {"human": "user", "user": "user", "gpt": "assistant", "assistant": "assistant", "chatgpt": "assistant"}
_LISTS = ("messages", "input", "conversations", "conversation")
_TIMES = ("timestamp", "created_at", "created", "time")


def find(folder: Path) -> Iterator[Path]:
    for path in sorted([*folder.glob("*.json"), *folder.glob("*.jsonl")]):
        first = next(iter(_values(path, Scribe())), None)
        if first is not None and fits(path, first):
            yield path


def fits(path: Path, head: Json) -> bool:
    return isinstance(head.get("role"), str) or bool(_unwrapped(head).turns)


def read(path: Path) -> Iterator[Conversation]:
    scribe = Scribe()
    values = list(_values(path, scribe))
    logged = [_unwrapped(value) for value in values]
    if any("role" in value for value in values) or not any(each.turns for each in logged):
        logged = [_Logged([value for value in values if "role" in value or "type" in value])]
        logged[0].other = [value for value in values if not ("role" in value or "type" in value)]
    whole = _joined(logged)
    for place, each in enumerate(whole):
        told = scribe if place == 0 else Scribe()
        _Taker(told, each).take()
        yield Conversation(
            tool=TOOL,
            id=each.id or f"{path.resolve()}#{place}",
            path=str(path),
            steps=tuple(told.steps),
            title=each.title,
            problems=tuple(told.problems),
        )


@dataclass(slots=True)
class _Logged:
    """The turns of one record, and what it says around them."""

    turns: list[Json]
    answers: list[Json] = field(default_factory=list)
    model: str = ""
    usage: Json = field(default_factory=dict)
    time: Any = None
    id: str = ""
    title: str = ""
    other: list[Json] = field(default_factory=list)
    spent: list[tuple[int, Json, str]] = field(default_factory=list)  # usage and model, by the number of turns before


def _values(path: Path, scribe: Scribe) -> Iterator[Json]:
    """The objects of a file, whether it is one JSON text or has one on each line."""
    whole = document(path)
    if whole is None and path.suffix == ".json":
        whole = document_or_part(path, scribe.problems)
    if whole is None:
        yield from (value for _, value in records(path, scribe))
    else:
        yield from [whole] if isinstance(whole, dict) else objects(whole)


def _unwrapped(value: Json) -> _Logged:
    """A record of a log as turns: of a chat, of a request, of a request with its response."""
    request = object_of(value, "body") or object_of(value, "request") or value
    request = object_of(request, "body") or request
    response = object_of(value, "response") or value
    response = object_of(response, "body") or response
    turns = next((objects(request.get(key)) for key in _LISTS if objects(request.get(key))), [])
    if not turns and isinstance(request.get("input"), str):
        turns = [{"role": "user", "content": request["input"]}]
    turns = [_shared(turn) if "from" in turn and "value" in turn else turn for turn in turns]
    answers = [object_of(choice, "message") for choice in objects(response.get("choices"))[:1]]
    answers += objects(response.get("output"))
    rest = {key: item for key, item in value.items() if key not in _LISTS} if turns else value
    return _Logged(
        turns=turns,
        answers=[answer for answer in answers if answer],
        model=text(response, "model") or text(request, "model") or text(value, "model"),
        usage=object_of(response, "usage"),
        time=next((found for key in _TIMES for found in (value.get(key), response.get(key)) if found), None),
        id=text(value, "conversation_id", "session_id", "thread_id"),
        title=text(value, "title"),
        other=[rest] if rest else [],
    )


def _shared(turn: Json) -> Json:
    return {"role": _SPEAKERS.get(text(turn, "from"), text(turn, "from")), "content": turn["value"]}


def _joined(logged: list[_Logged]) -> list[_Logged]:
    """Requests that begin with all of an earlier one go on with it."""
    whole: list[_Logged] = []
    for each in logged:
        before = next((w for w in reversed(whole) if w.turns and each.turns[: len(w.turns)] == w.turns), None)
        if before is None:
            before = _Logged([], id=each.id, title=each.title, time=each.time)
            whole.append(before)
        elif before.answers and _same(each.turns[len(before.turns) :][: len(before.answers)], before.answers):
            each.turns = [*before.turns, *before.answers, *each.turns[len(before.turns) + len(before.answers) :]]
        before.turns, before.answers = each.turns, each.answers
        before.model = each.model or before.model
        before.other += each.other
        if each.usage:
            before.spent.append((len(each.turns), each.usage, each.model))
    return whole


def _same(sent: list[Json], answered: list[Json]) -> bool:
    """Whether the next request holds the answer of the one before; clients leave out fields that are empty."""
    return len(sent) == len(answered) and all(
        (one.get("content") or "") == (other.get("content") or "") for one, other in zip(sent, answered, strict=True)
    )


class _Taker:
    """Takes down the turns of a record."""

    def __init__(self, scribe: Scribe, logged: _Logged) -> None:
        self.scribe = scribe
        self.logged = logged
        self.items = Items(scribe)
        self.scribe.model = logged.model
        self.time = time_of(logged.time)
        self.last_function = ""

    def take(self) -> None:
        spent = {count: (told, model) for count, told, model in self.logged.spent}
        for index, turn in enumerate([*self.logged.turns, *self.logged.answers]):
            time = next((t for key in _TIMES if (t := time_of(turn.get(key)))), self.time)
            told, model = spent.get(index, (object_of(turn, "usage"), text(turn, "model")))
            self._turn(turn, time, f"{index}")
            if told and self.scribe.is_open:
                self.scribe.close(_usage(told), model)
        self.scribe.close()
        for other in self.logged.other:
            self.scribe.keep("record", other)

    def _turn(self, turn: Json, time: datetime | None, name: str) -> None:
        match text(turn, "role"):
            case "user":
                self._results(turn, time)
                self.scribe.prompt(tuple(_blocks(turn.get("content"))), time)
            case "assistant":
                self.scribe.close()
                self._reply(turn, time, name)
            case "tool" | "function":
                id = text(turn, "tool_call_id") or self.last_function
                self.scribe.result(id, _answer(turn.get("content")), time)
            case "":
                self.items.take(turn, time)
            case role:
                self.scribe.keep(f"{role} message", turn, time)

    def _results(self, turn: Json, time: datetime | None) -> None:
        """Results in the form of the Messages API, which some logs hold."""
        for part in objects(turn.get("content")):
            if part.get("type") == "tool_result":
                id, is_error = text(part, "tool_use_id"), part.get("is_error") is True
                self.scribe.result(id, _answer(part.get("content")), time, is_error=is_error)

    def _reply(self, turn: Json, time: datetime | None, name: str) -> None:
        if thought := text(turn, "reasoning_content", "reasoning"):
            self.scribe.think(thought, time)
        content = turn.get("content")
        for part in [{"type": "text", "text": content}] if isinstance(content, str) else objects(content):
            match text(part, "type"):
                case "tool_use":
                    self.scribe.call(text(part, "id"), text(part, "name"), object_of(part, "input"), time)
                case "thinking":
                    self.scribe.think(text(part, "thinking"), time, signature=text(part, "signature"), original=part)
                case _:
                    self.scribe.say(text(part, "text", "refusal"), time)
        self.scribe.say(text(turn, "refusal"), time)
        for index, call in enumerate(objects(turn.get("tool_calls"))):
            said = object_of(call, "function") or object_of(call, "custom")
            given = arguments(said.get("arguments")) if "arguments" in said else {"input": text(said, "input")}
            self.scribe.call(text(call, "id") or f"call_{name}_{index}", text(said, "name"), given, time)
        if said := object_of(turn, "function_call"):
            self.last_function = f"function_{name}"
            self.scribe.call(self.last_function, text(said, "name"), arguments(said.get("arguments")), time)


def _answer(content: Any) -> Any:
    return content if isinstance(content, str) else tuple(_blocks(content))


def _blocks(content: Any) -> Iterator[Json]:
    if isinstance(content, str):
        yield {"type": "text", "text": content}
    for part in objects(content):
        source = object_of(part, "source")
        match text(part, "type"):
            case "image_url":
                yield picture(object_of(part, "image_url").get("url") or part.get("image_url"))
            case "input_image":
                yield picture(part.get("image_url"))
            case "image" if source.get("type") == "base64":
                yield embedded(text(source, "media_type"), source.get("data"))
            case "image" if source.get("type") == "url":
                yield picture(source.get("url"))
            case "tool_result":
                continue
            case kind:
                words = text(part, "text")
                yield {"type": "text", "text": words or (f"[{kind}]" if kind else "")}


def _usage(told: Json) -> Json:
    """Both APIs count what came out of the cache as part of the input; the Messages API does not."""
    details = object_of(told, "prompt_tokens_details") or object_of(told, "input_tokens_details")
    read = number(details, "cached_tokens")
    output = number(told, "completion_tokens", "output_tokens")
    if "cache_read_input_tokens" in told:
        read, written = number(told, "cache_read_input_tokens"), number(told, "cache_creation_input_tokens")
        return usage(number(told, "input_tokens"), output, read, written)
    return usage(max(0, number(told, "prompt_tokens", "input_tokens") - read), output, read)
