"""Mutations: files that violate what readers assume. Every choice comes from a seed, so a file can be made again."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

DEEP = (40, 400, 950, 3000)
TIMES = (
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59.999Z",
    "9999-12-31T23:59:59-14:00",
    "1969-12-31T23:59:59.999Z",
    "2026-02-30T00:00:00Z",
    "2026-01-05T09:00:00",
    "2026-01-05",
    "24:00",
    "now",
)
NUMBERS = (
    *(
        0,
        -1,
        1,
        2**31,
        2**53 + 1,
        2**63,
        2**64,
        -(2**63) - 1,
        10**19,
        -(10**19),
        10**400,
        253402300799999,
        -62135596800001,
    ),
    *(0.5, -0.5, 1e15, 1e16, 1e308, -1e308, 1e-320),
)
TEXTS = (
    "",
    " ",
    "x" * 5000,
    "\ud800",
    "a\udfffb",
    "\udc80/\udcff",
    "\x00",
    "\x1b]0;title\x07\x1b[2J",
    "\u202e\u2066\u200b\ufeff",
    "\r\n\t\v\f\x85\u2028",
    "../../../../etc/passwd",
    "/",
    "~",
    "C:\\Users\\ada",
    "\\\\server\\share",
    "{}",
    "[]",
    "null",
    "<script>alert(1)</script>",
    "$(touch x)`touch y`",
    "%s%n{0}{x!r}",
    "é" * 300,
    "٣",
    "-1",
    "1e999",
    "NaN",
    "\u0000\ud83d",
    *TIMES,
)
KEYS = ("", "type", "__class__", "\ud800", "uuid", "a" * 500, "\x1b[31m")

Json = Any


class Raw(str):
    """JSON text that goes into the file as it is: numbers and nesting that an encoder would refuse."""

    __slots__ = ()


def deep(levels: int, opener: str = "[") -> Raw:
    if opener == "[":
        return Raw("[" * levels + "]" * levels)
    return Raw('{"a":' * levels + "1" + "}" * levels)


def odd_value(chance: random.Random, old: Json) -> Json:
    """A value of another type, or an extreme one of the same."""
    choices: tuple[Callable[[], Json], ...] = (
        lambda: None,
        lambda: chance.choice((True, False)),
        lambda: chance.choice(NUMBERS),
        lambda: chance.choice(NUMBERS),
        lambda: chance.choice((Raw("1e400"), Raw("-1e400"), Raw("NaN"), Raw("Infinity"), Raw("1" * 5000))),
        lambda: chance.choice(TEXTS),
        lambda: chance.choice(TEXTS),
        lambda: chance.choice(TIMES),
        list,
        dict,
        lambda: [old],
        lambda: {"type": old},
        lambda: [None, 1, "x", [], {}, True, 1.5],
        lambda: [{"type": "text"}, {"type": "tool_use"}, {"type": "tool_result"}, {"type": "image"}, {"type": []}, {}],
        lambda: {chance.choice(KEYS): old, chance.choice(KEYS): None},
        lambda: deep(chance.choice(DEEP), chance.choice("[{")),
        lambda: [old] * 50,
    )
    return chance.choice(choices)()


def places(value: Json, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value inside a value."""
    yield at
    if len(at) > 12:
        return
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], (*at, key))
    elif isinstance(value, list):
        for index, item in enumerate(value[:20]):
            yield from places(item, (*at, index))


def put(value: Json, at: tuple[Any, ...], new: Json) -> Json:
    if not at:
        return new
    holder = dict(value) if isinstance(value, dict) else list(value)
    holder[at[0]] = put(holder[at[0]], at[1:], new)
    return holder


def inside(value: Json, at: tuple[Any, ...]) -> Json:
    for key in at:
        value = value[key]
    return value


def text_of(value: Json) -> str:
    """JSON, with what is `Raw` in it as it is and lone surrogates escaped."""
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{text_of(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(text_of, value)) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=any("\ud800" <= c <= "\udfff" for c in value))
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**300:
        return "1" + "0" * 400
    return json.dumps(value)


def mutate_value(chance: random.Random, value: Json) -> Json:
    """One to three places of a JSON value with something else in them."""
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        if isinstance(value, Raw):
            break
        found = list(places(value))
        at = chance.choice(found)
        old = inside(value, at)
        act = chance.random()
        if at and act < 0.12 and isinstance(at[-1], str):  # drop a field, or give it another name
            holder = dict(inside(value, at[:-1]))
            kept = holder.pop(at[-1])
            if act < 0.06:
                holder[chance.choice((at[-1].swapcase(), chance.choice(KEYS)))] = kept
            value = put(value, at[:-1], holder)
        elif act < 0.2 and isinstance(old, dict) and old:  # the same key twice
            key = chance.choice(list(old))
            body = text_of(old)
            twice = f"{json.dumps(key)}:{text_of(odd_value(chance, old[key]))}"
            value = put(value, at, Raw(f"{body[:-1]},{twice}}}"))
        else:
            value = put(value, at, odd_value(chance, old))
    return value


def mutate_line(chance: random.Random, line: bytes) -> bytes:
    try:
        return text_of(mutate_value(chance, json.loads(line))).encode("utf-8", "surrogatepass") + b"\n"
    except (ValueError, RecursionError):  # mutated before
        return line


def mutate_json(chance: random.Random, data: bytes) -> bytes:
    """A side file: one JSON value in a file."""
    if chance.random() < 0.25:
        return mutate_bytes(chance, data)
    try:
        return text_of(mutate_value(chance, json.loads(data))).encode("utf-8", "surrogatepass")
    except ValueError:
        return mutate_bytes(chance, data)


def mutate_lines(chance: random.Random, data: bytes) -> bytes:
    """A transcript or another file of JSON lines: values, lines and bytes."""
    lines = data.splitlines(keepends=True)
    if not lines:
        return data
    act = chance.random()
    if act < 0.72:
        for _ in range(chance.choice((1, 1, 2, 5))):
            index = chance.randrange(len(lines))
            lines[index] = mutate_line(chance, lines[index])
        return b"".join(lines)
    if act < 0.86:
        return b"".join(_shuffle_lines(chance, lines))
    if act < 0.92:
        return _same_value(chance, lines)
    return mutate_bytes(chance, data)


def _shuffle_lines(chance: random.Random, lines: list[bytes]) -> list[bytes]:
    index = chance.randrange(len(lines))
    match chance.randrange(8):
        case 0:
            del lines[index]
        case 1:
            lines.insert(index, lines[chance.randrange(len(lines))])
        case 2:
            chance.shuffle(lines)
        case 3:
            lines[index] = lines[index][: chance.randrange(1, len(lines[index]) + 1)]
        case 4:
            lines[index] = lines[index].rstrip(b"\n")
        case 5:
            lines = lines[index:]
        case 6:
            lines = [*lines, *lines]
        case _:
            lines = lines[::-1]
    return lines


def _same_value(chance: random.Random, lines: list[bytes]) -> bytes:
    """One field with the same odd value in every line: cycles, equal ids, equal times, one type for all."""
    names = (
        "uuid",
        "parentUuid",
        "timestamp",
        "type",
        "sessionId",
        "message",
        "cwd",
        "version",
        "isSidechain",
        "requestId",
    )
    name, first = chance.choice(names), json.loads(lines[0]) if lines[0].startswith(b"{") else {}
    value = odd_value(chance, first.get(name) if isinstance(first, dict) else None)
    made = []
    for line in lines:
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if not isinstance(entry, dict):
            continue
        made.append(text_of({**entry, name: value}).encode("utf-8", "surrogatepass") + b"\n")
    return b"".join(made)


def mutate_bytes(chance: random.Random, data: bytes) -> bytes:
    at = chance.randrange(len(data) + 1)
    junk = chance.choice(
        (b"\x00" * 100, b"\xff\xfe", b"\xc3", b"\r\n", b"\n" * 50, b"}{", b'"', b"{", b"\xed\xa0\x80", b"\\u0000")
    )
    match chance.randrange(7):
        case 0:
            return data[:at]
        case 1:
            return data[:at] + junk + data[at:]
        case 2:
            return b"\xef\xbb\xbf" + data
        case 3:
            return data.replace(b"\n", b"\r\n")
        case 4:
            return junk * chance.choice((1, 20))
        case 5:
            return data[:at] + bytes(chance.randrange(256) for _ in range(40)) + data[at + 40 :]
        case _:
            return data.decode("utf-8", "replace").encode("utf-16")
