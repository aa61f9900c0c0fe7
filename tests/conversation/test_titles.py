"""Titles, with the precedence of the official SDK; and outlines, which find them at the two ends of a file."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import clew
from clew.conversation.session_listing import Outline
from clew.conversation.titles import MAX_LENGTH, WINDOW, first_prompt
from clew.demo.talk import NIL, Talk, talk
from clew.wire.layout import session_at
from tests.conversation.lines import opened, session, text, user

FILLER = "y" * 2000


def said() -> Talk:
    return talk().user("Why does the gate squeak?").reply("Rust.")


def outline(told: Talk, tmp_path: Path) -> Outline:
    return Outline(session_at(told.write(tmp_path)))


# -- precedence


def test_the_first_prompt_is_the_title_when_nothing_else_is() -> None:
    assert opened(said()).title == "Why does the gate squeak?"


def test_each_kind_of_title_outranks_the_next() -> None:
    told = said()
    assert opened(told := told.summary_line("Gates")).title == "Gates"
    assert opened(told := told.last_prompt("and the hinges?")).title == "and the hinges?"
    assert opened(told := told.ai_title("Squeaking gate")).title == "Squeaking gate"
    assert opened(told := told.title("My gate")).title == "My gate"
    assert opened(told.ai_title("Later").last_prompt("Later").summary_line("Later")).title == "My gate"


def test_the_newest_line_of_a_kind_counts() -> None:
    assert opened(said().title("Old").title("New")).title == "New"
    assert opened(said().ai_title("Old").ai_title("New")).title == "New"
    assert opened(said().last_prompt("old").last_prompt("new\n and  wide")).title == "new and wide"


def test_a_title_that_was_taken_away_is_none() -> None:
    assert opened(said().ai_title("Made").title("Given").title(" ")).title == "Made"


def test_the_pin_of_a_rewind_has_no_words_and_does_not_hide_the_last_prompt() -> None:
    told = said().last_prompt("and the hinges?").last_prompt(leaf=NIL, explicit=True)
    assert "lastPrompt" not in opened(told).entries[-1].data
    assert opened(told).title == "and the hinges?"


@pytest.mark.req("R075")
def test_a_summary_of_another_conversation_is_no_title() -> None:
    told = talk().summary_line("Elsewhere", leaf="not-in-this-file").user("one").reply("1")
    assert opened(told).title == "one"
    assert opened(told.summary_line("Here").summary_line("Elsewhere", leaf="not-in-this-file")).title == "Here"


# -- the first prompt


def test_what_nobody_typed_is_no_first_prompt() -> None:
    told = talk(version="2.1.29").user("Caveat: ignore this", meta=True).command("model", "opus")
    told = told.user([text("[Request interrupted by user]")]).user("<ide_opened_file>a.py</ide_opened_file>")
    assert opened(told).title == "/model opus"
    assert opened(told.user("Now then")).title == "Now then"


def test_a_long_first_prompt_is_cut_at_a_character() -> None:
    assert first_prompt(session(user("A", None, "词" * 300))) == "词" * MAX_LENGTH + "…"
    assert first_prompt(session(user("A", None, "x" * MAX_LENGTH))) == "x" * MAX_LENGTH
    assert first_prompt(session(user("A", None, "a\n  b"))) == "a b"


def test_nothing_said_has_no_title() -> None:
    assert opened(talk()).title == ""
    assert session(user("S", None, "Look.", isSidechain=True), user("A", None, "", isMeta=True)).title == ""


# -- outlines


def test_a_small_file_is_read_whole(tmp_path: Path) -> None:
    found = outline(said().ai_title("Squeaking gate"), tmp_path)
    assert found.is_whole
    assert (found.title, found.first_prompt) == ("Squeaking gate", "Why does the gate squeak?")
    assert (found.cwd, found.branch_name, found.version) == ("/home/ada/garden", "main", "2.1.232")
    assert (found.is_conversation, found.is_sidechain) == (True, False)
    assert found.id == found.file.id


def long(told: Talk) -> Talk:
    """So much talk that neither end of the file is in the other's window."""
    for _ in range(2 * WINDOW // len(FILLER)):
        told = told.reply(FILLER)
    return told


def test_the_ends_of_a_large_file_say_what_the_whole_file_says(tmp_path: Path) -> None:
    told = long(said()).change(branch="hinges", version="2.1.325").user("more").reply("ok").ai_title("Squeaking gate")
    found = outline(told, tmp_path)
    whole = clew.read(found.file.path)
    assert not found.is_whole
    assert found.title == whole.title == "Squeaking gate"
    assert found.first_prompt == first_prompt(whole)
    assert (found.cwd, found.branch_name) == (whole.cwd, whole.branch_name) == ("/home/ada/garden", "hinges")
    assert found.version == "2.1.325"
    assert (found.started, found.ended) == (whole.started, whole.ended)


def test_a_title_at_the_beginning_outranks_a_last_prompt_at_the_end(tmp_path: Path) -> None:
    found = outline(long(said().title("My gate")).last_prompt("and the hinges?"), tmp_path)
    assert not found.is_whole
    assert found.title == clew.read(found.file.path).title == "My gate"


def test_a_first_line_longer_than_the_window_is_read(tmp_path: Path) -> None:
    """A prompt with a picture in it often is."""
    told = talk().user("What is this?", images=[os.urandom(2 * WINDOW)])
    found = outline(long(told.reply("A gate.")), tmp_path)
    assert not found.is_whole
    assert found.first_prompt == found.title == "What is this?"
    assert (found.cwd, found.started) == ("/home/ada/garden", told.entries[0].time)


def test_when_a_session_was_last_alive(tmp_path: Path) -> None:
    told = said()
    found = outline(told, tmp_path)
    assert found.when == found.ended == told.entries[-1].time
    silent = tmp_path / "projects" / "-x" / "00000000-0000-4000-8000-000000000000.jsonl"
    silent.parent.mkdir(parents=True)
    silent.write_bytes(b'{"type":"mode","mode":"normal"}\n')
    moment = datetime(2026, 2, 1, tzinfo=UTC)
    os.utime(silent, (moment.timestamp(), moment.timestamp()))
    stateful = Outline(session_at(silent))
    assert not stateful.is_conversation
    assert stateful.ended is None
    assert abs(stateful.when - moment) < timedelta(milliseconds=1)


def test_the_outline_of_an_agent(tmp_path: Path) -> None:
    path = tmp_path / "agent-a1.jsonl"
    told = said().write(tmp_path / "tree")
    path.write_bytes(told.read_bytes().replace(b'"isSidechain":false', b'"isSidechain":true'))
    found = Outline(session_at(path))
    assert found.is_sidechain
    assert found.title == "Why does the gate squeak?"
