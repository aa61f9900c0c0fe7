"""A resumed session shows its last turns, however long it is."""

from __future__ import annotations

from pathlib import Path

from clew.console.scrollback import MAX_TURNS, TAIL_BYTES, read_recent_rows
from clew.demo.talk import talk


def test_the_newest_turns_stand_there_and_the_others_are_told_of(tmp_path: Path) -> None:
    made = talk()
    for number in range(MAX_TURNS + 5):
        made = made.user(f"prompt {number}").reply(f"answer {number}")
    path = made.write(tmp_path)
    rows = list(read_recent_rows(path))
    assert rows[0].text.startswith("5 earlier turns are not shown")
    assert [row.text for row in rows if row.kind == "prompt"] == [f"prompt {n}" for n in range(5, MAX_TURNS + 5)]
    assert rows[-1].text == f"answer {MAX_TURNS + 4}"


def test_of_a_long_file_only_the_end_is_read(tmp_path: Path) -> None:
    made = talk()
    for number in range(1500):
        made = made.user(f"prompt {number} " + "x" * 400).reply(f"answer {number}")
    path = made.write(tmp_path)
    data = path.read_bytes()
    assert len(data) > 2 * TAIL_BYTES
    path.write_bytes(b"this is no line of a session\n" * 1000 + data[len(data) - 2 * TAIL_BYTES :])
    rows = list(read_recent_rows(path))
    assert "Earlier turns are not shown" in rows[0].text
    assert [row.text.split()[1] for row in rows if row.kind == "prompt"] == [str(n) for n in range(1480, 1500)]
