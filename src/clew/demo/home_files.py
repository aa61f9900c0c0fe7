"""The demo files outside of sessions: history, statistics, todos, settings, a stale index, leftovers."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from clew.demo import identifiers
from clew.demo.demo_stories import session_id
from clew.demo.line_script import encode_line
from clew.demo.talk import Talk, is_prompt, talk
from clew.demo.version_layout import Data
from clew.wire.project_slug import slug
from clew.wire.timestamps import format_timestamp, parse_timestamp

BAKERY = "/home/ada/work/bakery-orders"
CLOCK = "C:\\Users\\ada\\source\\repos\\ChessClock"
DRIP = "/home/ada/src/drip"
DELETED = session_id("gone")  # in the history and the index, but its file was deleted
WARMUP = identifiers.hexadecimal(8, "warmup")
SETTINGS = {"model": "opus", "cleanupPeriodDays": 365, "permissions": {"allow": ["Bash(git:*)"]}}
EMPTY = session_id("empty")  # a stray file of 0 bytes, as 2.0.x left them


def files(conversations: Mapping[str, Talk], now: datetime) -> Iterator[tuple[str, bytes, datetime]]:
    """Yield every file of the tree that belongs to no session: its path, content and time."""
    talks = list(conversations.values())
    then = now - timedelta(days=5)
    yield "history.jsonl", b"".join(map(encode_line, history(talks, now))), now
    yield "stats-cache.json", _indented(statistics(talks, then)), then
    yield "settings.json", _indented(SETTINGS), now - timedelta(days=60)
    bad, sensor = conversations["bad-day"], conversations["sensor"]
    yield f"projects/{slug(BAKERY)}/sessions-index.json", _indented(stale_index(bad, now)), bad.now
    yield f"projects/{slug(DRIP)}/{EMPTY}.jsonl", b"", sensor.now
    yield f"projects/{slug(DRIP)}/agent-{WARMUP}.jsonl", warmup_stub(sensor), sensor.now
    for session in talks:
        if not session.setup.since("2.1.80"):
            name = f"{session.session_id}-agent-{session.session_id}.json"
            yield f"todos/{name}", json.dumps(list(session.todos)).encode(), session.now


# -- history


def history(talks: Iterable[Talk], now: datetime) -> list[Data]:
    """Return one line for each typed prompt, in order of time; some are of a deleted session."""
    rows = [row for session in talks if session.setup.entrypoint != "sdk-cli" for row in _typed_prompts(session)]
    old = int((now - timedelta(days=44)).timestamp() * 1000)
    pasted = {"1": {"id": 1, "type": "text", "content": "\n".join(f"move {n}: 0:0{n % 10}" for n in range(1, 13))}}
    rows += [
        _row("why does the flag fall a second early?", old, CLOCK, DELETED),
        _row("[Pasted text #1 +12 lines] does this log look right", old + 90_000, CLOCK, DELETED)
        | {"pastedContents": pasted},
        _row("/clear", old + 160_000, CLOCK, DELETED),
        _row("!git status", old + 400_000, BAKERY, DELETED),
    ]
    return sorted(rows, key=lambda row: int(row["timestamp"]))


def _typed_prompts(session: Talk) -> Iterator[Data]:
    known = set[str]()
    for entry in session.data():
        if "uuid" not in entry or not is_prompt(entry) or entry["uuid"] in known:
            continue
        known.add(entry["uuid"])
        content = entry["message"]["content"]
        text = content if isinstance(content, str) else content[0]["text"]
        moment = parse_timestamp(entry["timestamp"])
        number = session.session_id if session.setup.since("2.0.0") else None
        yield _row(text, int(moment.timestamp() * 1000) if moment else 0, session.home, number)


def _row(text: str, time: int, project: str, number: str | None) -> Data:
    row: Data = {"display": text, "pastedContents": {}, "timestamp": time, "project": project}
    return row | {"sessionId": number} if number else row


# -- statistics


def statistics(talks: Iterable[Talk], until: datetime) -> Data:
    """Return Claude Code's own totals as of some days ago; it computes them on demand only."""
    daily: dict[str, Counter[str]] = defaultdict(Counter)
    tokens: dict[str, Counter[str]] = defaultdict(Counter)
    models: dict[str, Counter[str]] = defaultdict(Counter)
    hours: Counter[str] = Counter()
    past = [session for session in talks if (_start_time(session) or until) < until]
    for session in past:
        begun = _start_time(session) or until
        day = begun.date().isoformat()
        entries = [e for e in session.data() if e.get("type") in ("user", "assistant")]
        daily[day].update(sessionCount=1, messageCount=len(entries), toolCallCount=_calls(entries))
        hours[str(begun.hour)] += 1
        for model, usage in _usages(entries):
            tokens[day][model] += usage["input_tokens"] + usage["output_tokens"]
            models[model].update({_CAMEL[key]: usage[key] for key in _CAMEL})
    longest = max(past, key=lambda each: each.now - (_start_time(each) or each.now))
    return {
        "version": 2,
        "lastComputedDate": until.date().isoformat(),
        "dailyActivity": [{"date": day, **daily[day]} for day in sorted(daily)],
        "dailyModelTokens": [{"date": day, "tokensByModel": dict(tokens[day])} for day in sorted(tokens)],
        "modelUsage": {m: {**c, "webSearchRequests": 0, "costUSD": 0} for m, c in sorted(models.items())},
        "totalSessions": len(past),
        "totalMessages": sum(day["messageCount"] for day in daily.values()),
        "longestSession": _longest_session(longest),
        "firstSessionDate": format_timestamp(min(_start_time(session) or until for session in past)),
        "hourCounts": dict(sorted(hours.items(), key=lambda item: int(item[0]))),
        "totalSpeculationTimeSavedMs": 0,
    }


_CAMEL = {
    "input_tokens": "inputTokens",
    "output_tokens": "outputTokens",
    "cache_read_input_tokens": "cacheReadInputTokens",
    "cache_creation_input_tokens": "cacheCreationInputTokens",
}


def _longest_session(session: Talk) -> Data:
    begun = _start_time(session) or session.now
    took = int((session.now - begun) / timedelta(milliseconds=1))
    return {
        "sessionId": session.session_id,
        "duration": took,
        "messageCount": session.made,
        "timestamp": format_timestamp(begun),
    }


def _usages(entries: Iterable[Data]) -> Iterator[tuple[str, Data]]:
    last = {e["message"]["id"]: e["message"] for e in entries if e["type"] == "assistant"}
    return ((message["model"], message["usage"]) for message in last.values() if message["model"] != "<synthetic>")


def _calls(entries: Iterable[Data]) -> int:
    contents = [e["message"]["content"] for e in entries if e["type"] == "assistant"]
    return sum(block["type"] == "tool_use" for content in contents for block in content)


def _start_time(session: Talk) -> datetime | None:
    return next((moment for e in session.data() if (moment := parse_timestamp(e.get("timestamp")))), None)


# -- leftovers


def stale_index(session: Talk, now: datetime) -> Data:
    """Return an outdated index: one session with an old time, one deleted, and none of the newer ones."""
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
        entry(session.session_id, "Run the load test against staging.", _start_time(session) or old, 4),
        entry(DELETED, "Which oven does the order go to?", old, 9),
    ]
    return {"version": 1, "entries": entries, "originalPath": BAKERY}


def warmup_stub(session: Talk) -> bytes:
    """Return an agent file that was started in advance and never used: one line."""
    begun = (_start_time(session) or session.now) - timedelta(seconds=1)
    stub = talk(session.session_id, cwd=DRIP, version="2.0.76", start=begun, seed="warmup").user("Warmup").data()[0]
    fields = {key: stub[key] for key in stub if key not in ("thinkingMetadata", "todos")}
    return encode_line({**fields, "isSidechain": True, "agentId": WARMUP})


def _indented(value: Any) -> bytes:
    return json.dumps(value, indent=2, ensure_ascii=False).encode()
