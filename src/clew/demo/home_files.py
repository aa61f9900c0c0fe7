"""What lies around the sessions in the demo: history, statistics, todos, settings, an index gone stale, leftovers."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from clew.demo import identifiers
from clew.demo.line_script import written
from clew.demo.stories import tide_gauges
from clew.demo.stories.story import BAKERY, CLOCK, DRIP, TIDES, session_id
from clew.demo.talk import Talk, is_prompt, talk
from clew.demo.version_layout import Data
from clew.wire.project_slug import slug
from clew.wire.timestamps import format_timestamp, parse_timestamp

GONE = session_id("gone")  # told of in the history and the index, but its file was deleted
WARMUP = identifiers.hexadecimal(8, "warmup")
SETTINGS = {"model": "opus", "cleanupPeriodDays": 365, "permissions": {"allow": ["Bash(git:*)"]}}
EMPTY = session_id("empty")  # a stray file of 0 bytes, as 2.0.x left them


def files(told: Mapping[str, Talk], now: datetime) -> Iterator[tuple[str, bytes, datetime]]:
    """Every file of the tree that belongs to no session: its path, its content, its time."""
    talks = list(told.values())
    then = now - timedelta(days=5)
    yield "history.jsonl", b"".join(map(written, history(talks, now))), now
    yield "stats-cache.json", _indented(statistics(talks, then)), then
    yield "settings.json", _indented(SETTINGS), now - timedelta(days=60)
    yield f"projects/{slug(TIDES)}/memory/MEMORY.md", tide_gauges.MEMORY.encode(), told["overflow"].now
    bad, sensor = told["bad-day"], told["sensor"]
    yield f"projects/{slug(BAKERY)}/sessions-index.json", _indented(stale_index(bad, now)), bad.now
    yield f"projects/{slug(DRIP)}/{EMPTY}.jsonl", b"", sensor.now
    yield f"projects/{slug(DRIP)}/agent-{WARMUP}.jsonl", warmup(sensor), sensor.now
    for each in talks:
        if not each.setup.since("2.1.80"):
            name = f"{each.session_id}-agent-{each.session_id}.json"
            yield f"todos/{name}", json.dumps(list(each.todos)).encode(), each.now


# -- history


def history(talks: Iterable[Talk], now: datetime) -> list[Data]:
    """One line for each prompt that was typed, in the order of time; some of a session that is gone."""
    rows = [row for each in talks if each.setup.entrypoint != "sdk-cli" for row in _typed(each)]
    old = int((now - timedelta(days=44)).timestamp() * 1000)
    pasted = {"1": {"id": 1, "type": "text", "content": "\n".join(f"move {n}: 0:0{n % 10}" for n in range(1, 13))}}
    rows += [
        _row("why does the flag fall a second early?", old, CLOCK, GONE),
        _row("[Pasted text #1 +12 lines] does this log look right", old + 90_000, CLOCK, GONE)
        | {"pastedContents": pasted},
        _row("/clear", old + 160_000, CLOCK, GONE),
        _row("!git status", old + 400_000, BAKERY, GONE),
    ]
    return sorted(rows, key=lambda row: int(row["timestamp"]))


def _typed(each: Talk) -> Iterator[Data]:
    seen = set[str]()
    for entry in each.data():
        if "uuid" not in entry or not is_prompt(entry) or entry["uuid"] in seen:
            continue
        seen.add(entry["uuid"])
        content = entry["message"]["content"]
        text = content if isinstance(content, str) else content[0]["text"]
        moment = parse_timestamp(entry["timestamp"])
        number = each.session_id if each.setup.since("2.0.0") else None
        yield _row(text, int(moment.timestamp() * 1000) if moment else 0, each.home, number)


def _row(text: str, time: int, project: str, number: str | None) -> Data:
    row: Data = {"display": text, "pastedContents": {}, "timestamp": time, "project": project}
    return row | {"sessionId": number} if number else row


# -- statistics


def statistics(talks: Iterable[Talk], until: datetime) -> Data:
    """The program's own totals as of some days ago; it reckons them when asked, not when something happens."""
    daily: dict[str, Counter[str]] = defaultdict(Counter)
    tokens: dict[str, Counter[str]] = defaultdict(Counter)
    models: dict[str, Counter[str]] = defaultdict(Counter)
    hours: Counter[str] = Counter()
    past = [each for each in talks if (_begun(each) or until) < until]
    for each in past:
        begun = _begun(each) or until
        day = begun.date().isoformat()
        entries = [e for e in each.data() if e.get("type") in ("user", "assistant")]
        daily[day].update(sessionCount=1, messageCount=len(entries), toolCallCount=_calls(entries))
        hours[str(begun.hour)] += 1
        for model, usage in _usages(entries):
            tokens[day][model] += usage["input_tokens"] + usage["output_tokens"]
            models[model].update({_CAMEL[key]: usage[key] for key in _CAMEL})
    longest = max(past, key=lambda each: each.now - (_begun(each) or each.now))
    return {
        "version": 2,
        "lastComputedDate": until.date().isoformat(),
        "dailyActivity": [{"date": day, **daily[day]} for day in sorted(daily)],
        "dailyModelTokens": [{"date": day, "tokensByModel": dict(tokens[day])} for day in sorted(tokens)],
        "modelUsage": {m: {**c, "webSearchRequests": 0, "costUSD": 0} for m, c in sorted(models.items())},
        "totalSessions": len(past),
        "totalMessages": sum(day["messageCount"] for day in daily.values()),
        "longestSession": _longest(longest),
        "firstSessionDate": format_timestamp(min(_begun(each) or until for each in past)),
        "hourCounts": dict(sorted(hours.items(), key=lambda item: int(item[0]))),
        "totalSpeculationTimeSavedMs": 0,
    }


_CAMEL = {
    "input_tokens": "inputTokens",
    "output_tokens": "outputTokens",
    "cache_read_input_tokens": "cacheReadInputTokens",
    "cache_creation_input_tokens": "cacheCreationInputTokens",
}


def _longest(each: Talk) -> Data:
    begun = _begun(each) or each.now
    took = int((each.now - begun) / timedelta(milliseconds=1))
    return {
        "sessionId": each.session_id,
        "duration": took,
        "messageCount": each.made,
        "timestamp": format_timestamp(begun),
    }


def _usages(entries: Iterable[Data]) -> Iterator[tuple[str, Data]]:
    last = {e["message"]["id"]: e["message"] for e in entries if e["type"] == "assistant"}
    return ((message["model"], message["usage"]) for message in last.values() if message["model"] != "<synthetic>")


def _calls(entries: Iterable[Data]) -> int:
    contents = [e["message"]["content"] for e in entries if e["type"] == "assistant"]
    return sum(block["type"] == "tool_use" for content in contents for block in content)


def _begun(each: Talk) -> datetime | None:
    return next((found for e in each.data() if (found := parse_timestamp(e.get("timestamp")))), None)


# -- leftovers


def stale_index(kept: Talk, now: datetime) -> Data:
    """An index as it was long ago: one session with an old time, one that is gone, and none of the newer ones."""
    folder = f"/home/ada/.claude/projects/{slug(BAKERY)}"
    old = now - timedelta(days=44)

    def entry(number: str, prompt: str, begun: datetime, count: int) -> Data:
        return {
            "sessionId": number,
            "fullPath": f"{folder}/{number}.jsonl",
            "fileMtime": int(begun.timestamp() * 1000) + 61_000,
            "firstPrompt": prompt,
            "summary": prompt.rstrip(".?!"),
            "messageCount": count,
            "created": format_timestamp(begun),
            "modified": format_timestamp(begun + timedelta(minutes=1)),
            "gitBranch": "main",
            "projectPath": BAKERY,
            "isSidechain": False,
        }

    entries = [
        entry(kept.session_id, "Run the load test against staging.", _begun(kept) or old, 4),
        entry(GONE, "Which oven does the order go to?", old, 9),
    ]
    return {"version": 1, "entries": entries, "originalPath": BAKERY}


def warmup(beside: Talk) -> bytes:
    """An agent that was started to be ready and never used: one line."""
    begun = (_begun(beside) or beside.now) - timedelta(seconds=1)
    stub = talk(beside.session_id, cwd=DRIP, version="2.0.76", start=begun, seed="warmup").user("Warmup").data()[0]
    kept = {key: stub[key] for key in stub if key not in ("thinkingMetadata", "todos")}
    return written({**kept, "isSidechain": True, "agentId": WARMUP})


def _indented(value: Any) -> bytes:
    return json.dumps(value, indent=2, ensure_ascii=False).encode()
