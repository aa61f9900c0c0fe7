"""The player: frames at the pace of the session, keys, and recordings that real readers play."""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pyte
import pytest

from clew.conversation.session import Session
from clew.demo.talk import bash, talk
from clew.view.header import describe_session
from clew.view.mask_rows import MaskCount, mask_rows
from clew.view.playback.asciicast import HEIGHT, WIDTH, asciicast_lines
from clew.view.playback.frames import SPEEDS, Frame, Playing, player_rows, time_frames
from clew.view.playback.player_page import player_page
from clew.view.row_types import NoteRow, ReplyRow, Row
from clew.view.rows import ViewOptions
from clew.wire.json_codec import decode
from tests.view.markup import FRAGMENT, tags
from tests.view.payloads import PAYLOADS, everywhere


def session() -> Session:
    made = talk().user("dig").reply("Well.", call=bash("ls")).result("spade\n").reply("Done.")
    return Session(made.user("sow").reply("Sown.").user("reap").reply("Reaped.").bytes())


def played(found: Session, max_idle: float = 2.0, thinking: bool = False) -> list[Frame]:
    rows = player_rows(found, found.turns, ViewOptions(thinking=thinking), is_whole=True)
    return list(time_frames(mask_rows(rows), max_idle))


@pytest.mark.req("R230")
def test_frames_show_prompts_words_calls_results_and_what_they_took() -> None:
    made = Session(talk().user("dig").reply("Well.", thinking="Hm.", call=bash("ls")).result("spade\n").bytes())
    rows = [(frame.row.kind, frame.row.text.strip()) for frame in played(made)]
    assert [kind for kind, _ in rows][:5] == ["prompt", "thinking", "reply", "call", "result"]
    assert ("thinking", "thinking") in rows
    assert ("thinking", "Hm.") in [(f.row.kind, f.row.text) for f in played(made, thinking=True)]
    assert rows[-1][0] == "about"


def test_the_pace_is_that_of_the_session_without_the_lunch_break() -> None:
    start = session().turns[0].time
    assert start is not None
    seconds = (0.0, 0.5, 3600.0, 3599.0, 3601.0)
    rows: list[Row] = [ReplyRow(str(at), time=start + timedelta(seconds=at)) for at in seconds]
    rows.insert(2, NoteRow("without a time"))
    found = list(time_frames(rows, 2.0))
    assert [frame.at for frame in found] == [0.0, 0.5, 0.5, 2.5, 2.5, 3.5]
    assert [frame.at for frame in time_frames(rows, 0.0)] == [0.0] * 6


def test_time_passes_at_the_chosen_speed() -> None:
    playing = Playing([Frame(float(n), 1, ReplyRow(str(n))) for n in range(5)], speed=2.0)
    assert [f.row.text for f in playing.pass_time(0.0)] == ["0"]
    assert playing.wait() == 0.5
    assert [f.row.text for f in playing.pass_time(1.0)] == ["1", "2"]
    playing.press(" ")
    assert (playing.wait(), playing.pass_time(100.0)) == (None, ())
    playing.press(" ")
    assert [f.row.text for f in playing.pass_time(9.0)] == ["3", "4"]
    assert playing.is_over


def test_keys() -> None:
    playing = Playing([Frame(float(n), n // 2 + 1, ReplyRow(str(n))) for n in range(8)])
    playing.pass_time(0.0)

    def press(keys: str) -> list[str]:
        return [frame.row.text for key in keys for frame in playing.press(key).frames]

    assert press("..") == ["1", "2"]
    assert playing.is_paused
    assert press("]") == ["4"]
    assert press("[") == ["2"]
    assert press(".[") == ["3", "2"]
    assert press("4g") == ["6"]
    assert press("99g") == ["6"]
    assert press("0g") == ["0"]
    assert press("g") == []
    for _ in SPEEDS:
        playing.press("+")
    assert playing.speed == SPEEDS[-1]
    for _ in SPEEDS:
        playing.press("-")
    assert playing.speed == SPEEDS[0]
    assert playing.press("q").ends
    assert playing.press("4").frames == () and playing.typed == "4"
    assert Playing([]).press("]").frames == () and Playing([]).is_over


# -- recordings


def screen_after(events: list[bytes]) -> list[str]:
    """The screen of a terminal that a cast was played on."""
    screen = pyte.Screen(WIDTH, HEIGHT)
    stream = pyte.Stream(screen)
    for line in events[1:]:
        _, kind, text = decode(line)
        if kind == "o":
            stream.feed(text)
    return [line.rstrip() for line in screen.display]


def test_a_cast_is_played_by_a_real_terminal_and_by_asciinema(tmp_path: Path) -> None:
    made = session()
    lines = list(asciicast_lines(played(made), made.title, made.started))
    head = decode(lines[0])
    assert (head["version"], head["width"], head["height"]) == (2, WIDTH, HEIGHT)
    times = [decode(line)[0] for line in lines[1:]]
    assert times == sorted(times)
    assert [decode(line)[2][:1] for line in lines[1:] if decode(line)[1] == "m"] == ["1", "2", "3"]
    shown = screen_after(lines)
    for said in ("❯ dig", "● Bash ls", "⎿ spade", "❯ sow", "Reaped."):
        assert any(said in line for line in shown), said
    path = tmp_path / "a.cast"
    path.write_bytes(b"".join(lines))
    words = [sys.executable, "-m", "asciinema", "cat", str(path)]
    done = subprocess.run(
        words, capture_output=True, env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode() == "".join(decode(line)[2] for line in lines[1:] if decode(line)[1] == "o")


def test_hostile_text_drives_no_terminal() -> None:
    bad = "\x1b]0;owned\x07\x1b[2J\x1b[?1049h\x1bP+q\x1b\\\x9b31m\u202e\x07 end"
    made = Session(talk().user(bad).reply(bad, call=bash(bad)).result(bad).bytes())
    lines = list(asciicast_lines(played(made), bad, None))
    said = "".join(decode(line)[2] for line in lines[1:])
    for code in ("\x1b]", "\x1b[2J", "\x1b[?", "\x1bP", "\x9b", "\u202e", "\x07"):
        assert code not in said
    assert "\x1b" not in decode(lines[0])["title"]


def test_secrets_are_masked_in_recordings() -> None:
    key = "sk-ant-api03-" + "Zk3" * 30 + "-AA"
    made = Session(talk().user(f"use {key}").reply(f"It is {key}.").bytes())
    tally = MaskCount()
    head = describe_session(made, tally)
    assert key not in "".join(player_page(head, played(made)))
    assert key.encode() not in b"".join(asciicast_lines(played(made), head.title, None))
    assert tally.secrets


def test_a_page_holds_no_markup_of_a_transcript_and_loads_nothing() -> None:
    made = Session(everywhere("".join(PAYLOADS[:40])).bytes())
    text = "".join(player_page(describe_session(made, None), played(made)))
    assert "default-src 'none'" in text
    start, stop = text.index('<main class="player"'), text.index("</main>")
    allowed = {**FRAGMENT, "main": (), "div": ("data-at", "data-tool"), "section": ("data-turn",)}
    found = [tag.attributes for tag in tags(text[start:stop] + "</main>", allowed)]
    assert next(each for each in found if each.get("class") == "frame typed")["data-at"] == "0"
    assert [each["data-turn"] for each in found if "data-turn" in each][-1] == str(len(made.turns))
