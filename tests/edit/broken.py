"""Sessions damaged in each way that was seen: what hides prompts, ends a version, or is refused by the API."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from clew.demo.talk import Talk, bash, talk
from clew.wire.json_codec import encode

Data = dict[str, Any]
PROMPTS = ("one", "two", "three", "four", "five")


def five(version: str = "2.1.232") -> Talk:
    """Five turns of five lines: the prompt, a text, a call, its result, a text."""
    told = talk(version=version)
    for said in PROMPTS:
        told = told.user(said).reply(f"On {said}.", call=bash(f"ls {said}")).result(f"a {said}").reply(f"Did {said}.")
    return told


def lines(told: Talk) -> list[Data]:
    return [json.loads(line) for line in told.lines()]


def joined(entries: list[Data]) -> bytes:
    return b"".join(encode(entry) + b"\n" for entry in entries)


def prompt(entries: list[Data], said: str) -> Data:
    return next(e for e in entries if e["message"]["content"] == said)


Change = Callable[[list[Data]], object]


def changed(change: Change) -> bytes:
    entries = lines(five())
    change(entries)
    return joined(entries)


def without_keys(said: str, *keys: str) -> Change:
    return lambda entries: [prompt(entries, said).pop(key) for key in keys]


def with_keys(said: str, **values: Any) -> Change:
    return lambda entries: prompt(entries, said).update(values)


def all_times_equal(entries: list[Data]) -> None:
    for entry in entries:
        entry["timestamp"] = entries[0]["timestamp"]


def many_lost_parents(entries: list[Data]) -> None:
    for said in PROMPTS[1:]:
        prompt(entries, said)["parentUuid"] = f"00000000-0000-4000-8000-{PROMPTS.index(said):012}"


def ring(entries: list[Data]) -> None:
    prompt(entries, "two")["parentUuid"] = prompt(entries, "four")["uuid"]


def twins(entries: list[Data]) -> None:
    """Two prompts with one uuid: the later hides the earlier, and is its own ancestor."""
    old, new = prompt(entries, "two")["uuid"], prompt(entries, "three")["uuid"]
    for entry in entries:
        entry["uuid"] = old if entry["uuid"] == new else entry["uuid"]
        entry["parentUuid"] = old if entry["parentUuid"] == new else entry["parentUuid"]


def copies(entries: list[Data]) -> None:
    entries[5:5] = [dict(entry) for entry in entries[:5]]


def stranger_in_the_chain(entries: list[Data]) -> None:
    entries[6]["type"] = "novelty"


def no_message(entries: list[Data]) -> None:
    del entries[4]["message"]


def plain_reply(entries: list[Data]) -> None:
    entries[4]["message"]["content"] = "Did one."


def lost_uuids(entries: list[Data]) -> None:
    for entry in entries[4:10]:
        del entry["uuid"]


def lost_result(entries: list[Data]) -> None:
    entries[9]["parentUuid"] = entries[7]["uuid"]
    del entries[8]


def lost_call(entries: list[Data]) -> None:
    entries[8]["parentUuid"] = entries[6]["uuid"]
    del entries[7]


def two_results(entries: list[Data]) -> None:
    again = {**entries[8], "uuid": "00000000-0000-4000-8000-0000000000aa", "parentUuid": entries[8]["uuid"]}
    entries[9]["parentUuid"] = again["uuid"]
    entries.insert(9, again)


def one_id_for_two_calls(entries: list[Data]) -> None:
    first, second = entries[2]["message"]["content"][0], entries[7]["message"]["content"][0]
    second["id"] = first["id"]
    entries[8]["message"]["content"][0]["tool_use_id"] = first["id"]


def a_call_twice(entries: list[Data]) -> None:
    again = {**entries[7], "uuid": "00000000-0000-4000-8000-0000000000ee", "parentUuid": entries[7]["uuid"]}
    entries[8]["parentUuid"] = again["uuid"]
    entries.insert(8, again)


def last_without_time(entries: list[Data]) -> None:
    del entries[-1]["timestamp"]


def no_times(entries: list[Data]) -> None:
    for entry in entries:
        del entry["timestamp"]


def pin_on_nobody(entries: list[Data]) -> None:
    leaf = "00000000-0000-4000-8000-0000000000bb"
    entries.append({"type": "last-prompt", "leafUuid": leaf, "explicit": True, "sessionId": "s"})


def pin_on_an_agent(entries: list[Data]) -> None:
    uuid = "00000000-0000-4000-8000-0000000000cc"
    entries.append({**entries[0], "uuid": uuid, "parentUuid": entries[-1]["uuid"], "isSidechain": True})
    entries.append({"type": "last-prompt", "leafUuid": uuid, "sessionId": "s"})


def late_note(entries: list[Data]) -> None:
    body = {"type": "system", "subtype": "turn_duration", "durationMs": 5, "isMeta": False}
    kept = ("sessionId", "version", "cwd", "isSidechain", "userType", "timestamp")
    chain = {key: entries[4][key] for key in kept}
    entries.append({**chain, **body, "uuid": "00000000-0000-4000-8000-0000000000dd", "parentUuid": entries[4]["uuid"]})


def on_one_line() -> bytes:
    raw = five().lines()
    return b"".join(raw[:4]) + raw[4].rstrip(b"\n") + raw[5].rstrip(b"\n") + b"".join(raw[6:])


def spliced() -> bytes:
    raw = five().lines()
    return b"".join(raw[:5]) + raw[4][: len(raw[4]) // 2] + b"".join(raw[5:])


def padded() -> bytes:
    raw = five().lines()
    return b"".join(raw[:10]) + b"\0" * 500 + b"".join(raw[10:])


def torn() -> bytes:
    return five().bytes() + b'{"type":"assistant","uuid":"x","message":{"content":[{"type":"te'


def noise() -> bytes:
    raw = five().lines()
    return b"".join(raw[:10]) + raw[10][: len(raw[10]) // 3] + b"\n" + b"".join(raw[11:])


def bad_text() -> bytes:
    return five().bytes().replace(b"Did two.", b"Did \xff two.")


def marked() -> bytes:
    return b"\xef\xbb\xbf" + five().bytes()


WAYS: dict[str, bytes] = {
    "a lost parent": changed(with_keys("three", parentUuid="00000000-0000-4000-8000-000000000001")),
    "every prompt's parent lost": changed(many_lost_parents),
    "no parent named": changed(without_keys("three", "parentUuid")),
    "an empty parent": changed(with_keys("three", parentUuid="")),
    "its own parent": changed(lambda e: prompt(e, "three").update(parentUuid=prompt(e, "three")["uuid"])),
    "a ring": changed(ring),
    "two prompts with one uuid": changed(twins),
    "lines written twice": changed(copies),
    "an unknown type in the chain": changed(stranger_in_the_chain),
    "a message without content": changed(no_message),
    "a reply that is a string": changed(plain_reply),
    "uuids lost": changed(lost_uuids),
    "a prompt without uuid and parent": changed(without_keys("three", "uuid", "parentUuid")),
    "a result lost": changed(lost_result),
    "a call lost": changed(lost_call),
    "a result twice": changed(two_results),
    "one id for two calls": changed(one_id_for_two_calls),
    "a call twice in a reply": changed(a_call_twice),
    "the last without a time": changed(last_without_time),
    "no times at all": changed(no_times),
    "all at one time": changed(all_times_equal),
    "a pin on nobody": changed(pin_on_nobody),
    "a pin on an agent": changed(pin_on_an_agent),
    "a late note of the program": changed(late_note),
    "two entries on one line": on_one_line(),
    "an entry over another": spliced(),
    "padded with NULs": padded(),
    "a torn end": torn(),
    "a line cut short": noise(),
    "bytes that are no text": bad_text(),
    "a byte order mark": marked(),
}
