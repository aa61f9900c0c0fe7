"""Chats of aider, and conversations of gptme."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import clew
from tests.foreign import logs
from tests.foreign.told import kept, originals, session, sessions, told


def test_each_chat_of_aider_is_a_session(tmp_path: Path) -> None:
    first, second = sessions(logs.aider(tmp_path))
    said = told(first)
    assert said[0] == "user: Which beds\nare dry?"
    assert said[1].startswith(f"assistant: {logs.ANSWER}\n\nplan.txt\n```\n<<<<<<< SEARCH")
    assert said[1].endswith("=======\n#### Water\n> the north bed\n>>>>>>> REPLACE\n```")
    assert said[2:] == [f"user: {logs.SECOND}", f"assistant: {logs.FINE}"]
    assert told(second) == ["user: Good morning", "assistant: Good morning to you."]
    assert first.cwd == str(tmp_path)


def test_what_aider_says_is_kept(tmp_path: Path) -> None:
    first, _ = sessions(logs.aider(tmp_path))
    assert originals(first, "command") == ["/add beds.txt"]
    assert kept(first).count("aider") >= 3
    assert [reply.model for reply in first.replies] == ["gpt-4o"] * 2
    usage = clew.usage(first).total
    assert (usage.input, usage.cache_read, usage.output) == (1300 + 3000, 1100, 30)


def test_the_time_of_a_reply_is_in_the_other_history(tmp_path: Path) -> None:
    first, _ = sessions(logs.aider(tmp_path))
    assert next(e.time for e in first.entries if e.type == "assistant") == datetime(2026, 3, 1, 9, 0, 7).astimezone()


def test_a_file_without_a_heading_is_one_chat(tmp_path: Path) -> None:
    path = logs.written(tmp_path / ".aider.chat.history.md", ["#### Hello  \n", "Hello to you.\n"])
    assert told(session(path)) == ["user: Hello", "assistant: Hello to you."]


def test_gptme_with_calls(tmp_path: Path) -> None:
    found = session(logs.gptme(tmp_path))
    assert told(found) == [
        f"user: {logs.FIRST}",
        f"assistant: {logs.LOOK}",
        f"call: Bash {{'command': '{logs.COMMAND}'}}",
        f"call: Write {{'file_path': '{logs.CWD}/plan.txt', 'content': 'water (north): {{\"now\"}}'}}",
        f"result: {logs.OUTPUT}",
        "error: Error: disk full",
        f"assistant: {logs.ANSWER}",
        "note: <system>Go on?</system>",
        f"user: {logs.SECOND}",
        "user: [image]",
        f"assistant: {logs.FINE}",
    ]
    assert (found.cwd, found.title) == (logs.CWD, "dry beds")
    assert clew.usage(found).total.output == 120
    assert originals(found, "thinking") == [{"text": "Beds."}]


def test_gptme_in_markdown(tmp_path: Path) -> None:
    assert told(session(logs.gptme_markdown(tmp_path)))[1:3] == [
        f"assistant: {logs.LOOK}\n\n```shell\n{logs.COMMAND}\n```",
        f"note: Ran command: `{logs.COMMAND}`\n\n```stdout\n{logs.OUTPUT}```",
    ]
