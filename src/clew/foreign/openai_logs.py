"""Read logs in the form of OpenAI's APIs: chat messages, Responses items and ShareGPT turns.

A file is one conversation (a list of messages, or a message per line), or contains requests, each with all messages
so far: requests that continue each other are one conversation.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from clew.foreign.conversation_steps import Conversation, StepRecorder
from clew.foreign.image_blocks import file_block, image_block
from clew.foreign.json_values import (
    build_usage,
    get_count,
    get_object,
    get_objects,
    get_text,
    parse_time,
    read_document,
    read_document_or_part,
    read_records,
)
from clew.foreign.responses_items import ItemReader, parse_arguments
from clew.wire.json_codec import Json

TOOL = "openai"
_SPEAKERS = {"human": "user", "user": "user", "gpt": "assistant", "assistant": "assistant", "chatgpt": "assistant"}
_LISTS = ("messages", "input", "conversations", "conversation")
_TIMES = ("timestamp", "created_at", "created", "time")


def find(folder: Path) -> Iterator[Path]:
    for path in sorted([*folder.glob("*.json"), *folder.glob("*.jsonl")]):
        first = next(iter(_read_objects(path, StepRecorder())), None)
        if first is not None and fits(path, first):
            yield path


def fits(path: Path, head: Json) -> bool:
    return isinstance(head.get("role"), str) or bool(_parse_log_record(head).turns)


def read(path: Path) -> Iterator[Conversation]:
    scribe = StepRecorder()
    values = list(_read_objects(path, scribe))
    logged = [_parse_log_record(value) for value in values]
    if any("role" in value for value in values) or not any(log.turns for log in logged):
        logged = [_LogRecord([value for value in values if "role" in value or "type" in value])]
        logged[0].other = [value for value in values if not ("role" in value or "type" in value)]
    conversations = _join_requests(logged)
    for index, log in enumerate(conversations):
        recorder = scribe if index == 0 else StepRecorder()
        _TurnReader(recorder, log).take()
        yield Conversation(
            tool=TOOL,
            id=log.id or f"{path.resolve()}#{index}",
            path=str(path),
            steps=tuple(recorder.steps),
            title=log.title,
            problems=tuple(recorder.problems),
        )


class _LogRecord(Struct):
    """The turns of one record, and its metadata."""

    turns: list[Json]
    answers: list[Json] = field(default_factory=list)
    model: str = ""
    usage: Json = field(default_factory=dict)
    time: Any = None
    id: str = ""
    title: str = ""
    other: list[Json] = field(default_factory=list)
    spent: list[tuple[int, Json, str]] = field(default_factory=list)  # (number of turns before, usage, model)


def _read_objects(path: Path, scribe: StepRecorder) -> Iterator[Json]:
    """Yield the objects of a file: of one JSON document, or of one per line."""
    content = read_document(path)
    if content is None and path.suffix == ".json":
        content = read_document_or_part(path, scribe.problems)
    if content is None:
        yield from (value for _, value in read_records(path, scribe))
    else:
        yield from [content] if isinstance(content, dict) else get_objects(content)


def _parse_log_record(value: Json) -> _LogRecord:
    """Parse a record of a log: a chat, a request, or a request with its response."""
    request = get_object(value, "body") or get_object(value, "request") or value
    request = get_object(request, "body") or request
    response = get_object(value, "response") or value
    response = get_object(response, "body") or response
    turns = next((get_objects(request.get(key)) for key in _LISTS if get_objects(request.get(key))), [])
    if not turns and isinstance(request.get("input"), str):
        turns = [{"role": "user", "content": request["input"]}]
    turns = [_convert_sharegpt(turn) if "from" in turn and "value" in turn else turn for turn in turns]
    answers = [get_object(choice, "message") for choice in get_objects(response.get("choices"))[:1]]
    answers += get_objects(response.get("output"))
    metadata = {key: item for key, item in value.items() if key not in _LISTS} if turns else value
    return _LogRecord(
        turns=turns,
        answers=[answer for answer in answers if answer],
        model=get_text(response, "model") or get_text(request, "model") or get_text(value, "model"),
        usage=get_object(response, "usage"),
        time=next(
            (candidate for key in _TIMES for candidate in (value.get(key), response.get(key)) if candidate), None
        ),
        id=get_text(value, "conversation_id", "session_id", "thread_id"),
        title=get_text(value, "title"),
        other=[metadata] if metadata else [],
    )


def _convert_sharegpt(turn: Json) -> Json:
    return {"role": _SPEAKERS.get(get_text(turn, "from"), get_text(turn, "from")), "content": turn["value"]}


def _join_requests(logged: list[_LogRecord]) -> list[_LogRecord]:
    """Join requests that begin with all messages of an earlier one."""
    joined: list[_LogRecord] = []
    for log in logged:
        before = next((w for w in reversed(joined) if w.turns and log.turns[: len(w.turns)] == w.turns), None)
        if before is None:
            before = _LogRecord([], id=log.id, title=log.title, time=log.time)
            joined.append(before)
        elif before.answers and _is_same_reply(log.turns[len(before.turns) :][: len(before.answers)], before.answers):
            log.turns = [*before.turns, *before.answers, *log.turns[len(before.turns) + len(before.answers) :]]
        before.turns, before.answers = log.turns, log.answers
        before.model = log.model or before.model
        before.other += log.other
        if log.usage:
            before.spent.append((len(log.turns), log.usage, log.model))
    return joined


def _is_same_reply(sent: list[Json], answered: list[Json]) -> bool:
    """Return whether the next request contains the reply of the one before; clients omit empty fields."""
    return len(sent) == len(answered) and all(
        (one.get("content") or "") == (other.get("content") or "") for one, other in zip(sent, answered, strict=True)
    )


class _TurnReader:
    """Converts the turns of a record."""

    def __init__(self, scribe: StepRecorder, logged: _LogRecord) -> None:
        self.scribe = scribe
        self.logged = logged
        self.items = ItemReader(scribe)
        self.scribe.model = logged.model
        self.time = parse_time(logged.time)
        self.last_function = ""

    def take(self) -> None:
        usage_by_turn = {count: (counts, model) for count, counts, model in self.logged.spent}
        for index, turn in enumerate([*self.logged.turns, *self.logged.answers]):
            time = next((t for key in _TIMES if (t := parse_time(turn.get(key)))), self.time)
            counts, model = usage_by_turn.get(index, (get_object(turn, "usage"), get_text(turn, "model")))
            self._turn(turn, time, f"{index}")
            if counts and self.scribe.is_open:
                self.scribe.close(_convert_usage(counts), model)
        self.scribe.close()
        for other in self.logged.other:
            self.scribe.keep("record", other)

    def _turn(self, turn: Json, time: datetime | None, name: str) -> None:
        match get_text(turn, "role"):
            case "user":
                self._results(turn, time)
                self.scribe.prompt(tuple(_content_blocks(turn.get("content"))), time)
            case "assistant":
                self.scribe.close()
                self._reply(turn, time, name)
            case "tool" | "function":
                id = get_text(turn, "tool_call_id") or self.last_function
                self.scribe.result(id, _result_content(turn.get("content")), time)
            case "":
                self.items.take(turn, time)
            case role:
                self.scribe.keep(f"{role} message", turn, time)

    def _results(self, turn: Json, time: datetime | None) -> None:
        """Take results in the form of the Messages API, which some logs contain."""
        for part in get_objects(turn.get("content")):
            if part.get("type") == "tool_result":
                id, is_error = get_text(part, "tool_use_id"), part.get("is_error") is True
                self.scribe.result(id, _result_content(part.get("content")), time, is_error=is_error)

    def _reply(self, turn: Json, time: datetime | None, name: str) -> None:
        if thought := get_text(turn, "reasoning_content", "reasoning"):
            self.scribe.think(thought, time)
        content = turn.get("content")
        for part in [{"type": "text", "text": content}] if isinstance(content, str) else get_objects(content):
            match get_text(part, "type"):
                case "tool_use":
                    self.scribe.call(get_text(part, "id"), get_text(part, "name"), get_object(part, "input"), time)
                case "thinking":
                    self.scribe.think(
                        get_text(part, "thinking"), time, signature=get_text(part, "signature"), original=part
                    )
                case _:
                    self.scribe.say(get_text(part, "text", "refusal"), time)
        self.scribe.say(get_text(turn, "refusal"), time)
        for index, call in enumerate(get_objects(turn.get("tool_calls"))):
            function = get_object(call, "function") or get_object(call, "custom")
            call_input = (
                parse_arguments(function.get("arguments"))
                if "arguments" in function
                else {"input": get_text(function, "input")}
            )
            self.scribe.call(
                get_text(call, "id") or f"call_{name}_{index}", get_text(function, "name"), call_input, time
            )
        if function := get_object(turn, "function_call"):
            self.last_function = f"function_{name}"
            self.scribe.call(
                self.last_function, get_text(function, "name"), parse_arguments(function.get("arguments")), time
            )


def _result_content(content: Any) -> Any:
    return content if isinstance(content, str) else tuple(_content_blocks(content))


def _content_blocks(content: Any) -> Iterator[Json]:
    if isinstance(content, str):
        yield {"type": "text", "text": content}
    for part in get_objects(content):
        source = get_object(part, "source")
        match get_text(part, "type"):
            case "image_url":
                yield image_block(get_object(part, "image_url").get("url") or part.get("image_url"))
            case "input_image":
                yield image_block(part.get("image_url"))
            case "image" if source.get("type") == "base64":
                yield file_block(get_text(source, "media_type"), source.get("data"))
            case "image" if source.get("type") == "url":
                yield image_block(source.get("url"))
            case "tool_result":
                continue
            case kind:
                part_text = get_text(part, "text")
                yield {"type": "text", "text": part_text or (f"[{kind}]" if kind else "")}


def _convert_usage(counts: Json) -> Json:
    """Convert token counts. OpenAI's APIs include cached tokens in the input; the Messages API does not."""
    details = get_object(counts, "prompt_tokens_details") or get_object(counts, "input_tokens_details")
    read = get_count(details, "cached_tokens")
    output = get_count(counts, "completion_tokens", "output_tokens")
    if "cache_read_input_tokens" in counts:
        read, written = get_count(counts, "cache_read_input_tokens"), get_count(counts, "cache_creation_input_tokens")
        return build_usage(get_count(counts, "input_tokens"), output, read, written)
    return build_usage(max(0, get_count(counts, "prompt_tokens", "input_tokens") - read), output, read)
