"""Damage: lines that are not one good JSON object, and fields of the wrong type."""

from __future__ import annotations

from tests.oracle.mock_api import Json, text
from tests.oracle.script import Script, Theme, use, uuid, written

case = Theme("damage")
NUL = b"\0" * 20


def damaged(s: Script, before: bytes = b"", behind: bytes = b"\n") -> None:
    """Two turns; the second prompt has bytes on its line that do not belong there."""
    s.turns(1)
    s.user("u2")
    s.line(before + s.take() + behind)
    s.reply("a2")


@case
def three_entries_on_a_line(s: Script) -> None:
    s.turns(1)
    s.user("u2")
    first = s.take()
    s.reply("a2")
    second = s.take()
    s.user("u3")
    s.line(first + second + s.take() + b"\n")
    s.reply("a3")


@case
def half_an_entry_before_a_whole_one(s: Script) -> None:
    damaged(s, before=b'{"parentUuid":"zzz","type":"user","mess')


@case
def nul_bytes_before_an_entry(s: Script) -> None:
    damaged(s, before=NUL)


@case
def nul_bytes_behind_an_entry(s: Script) -> None:
    damaged(s, behind=NUL + b"\n")


@case
def words_behind_an_entry(s: Script) -> None:
    damaged(s, behind=b" garbage\n")


@case
def words_before_an_entry(s: Script) -> None:
    damaged(s, before=b"garbage ")


@case
def spaces_around_an_entry(s: Script) -> None:
    damaged(s, before=b" \t ", behind=b" \t \n")


@case
def comma_behind_an_entry(s: Script) -> None:
    damaged(s, behind=b",\n")


@case
def entry_in_a_list(s: Script) -> None:
    damaged(s, before=b"[", behind=b"]\n")


@case
def carriage_return_in_a_line(s: Script) -> None:
    damaged(s, before=b"\r")


@case
def whole_entry_then_half_of_one(s: Script) -> None:
    damaged(s, behind=b'{"type":"user","uuid":"x","mess\n')


@case
def blank_lines(s: Script) -> None:
    damaged(s, before=b"\n\n  \n", behind=b"\n\n")


@case
def words_on_a_line_of_their_own(s: Script) -> None:
    damaged(s, before=b"garbage\n", behind=b'\nnull\n42\n[]\n"x"\n{}\n')


@case
def line_cut_off_in_the_middle(s: Script) -> None:
    s.turns(2)
    s.user("u3")
    s.line(s.take()[:-20] + b"\n")
    s.reply("a3")


@case
def last_line_cut_off(s: Script) -> None:
    s.turns(2)
    s.user("u3")
    s.line(s.take()[:-20])


@case
def last_line_without_a_newline(s: Script) -> None:
    s.turns(2)
    s.line(s.take())


@case
def crlf(s: Script) -> None:
    s.turns(2)
    s.lines = [written(line).rstrip(b"\n") + b"\r\n" for line in s.lines]


@case
def byte_order_mark(s: Script) -> None:
    s.turns(2)
    s.lines.insert(0, b"\xef\xbb\xbf")


@case
def byte_order_mark_in_the_middle(s: Script) -> None:
    damaged(s, before=b"\xef\xbb\xbf")


@case
def bytes_that_are_not_utf8(s: Script) -> None:
    s.turns(1)
    s.user("u2 QQ")
    s.line(s.take().replace(b"QQ", b"\xff\xc3(") + b"\n")
    s.reply("a2")


@case
def nul_escape_in_a_text(s: Script) -> None:
    s.user("u\0one")
    s.reply("a\0one")


@case
def raw_tab_in_a_text(s: Script) -> None:
    s.turns(1)
    s.user("u2 QQ")
    s.line(s.take().replace(b"QQ", b"\t") + b"\n")
    s.reply("a2")


@case
def line_separators_in_a_text(s: Script) -> None:
    s.user("u1 \u2028 \u2029 \x85 \x0b end")
    s.line(s.take().replace(b"\\u2028", "\u2028".encode()).replace(b"\\u0085", "\x85".encode()) + b"\n")
    s.reply("a1")


@case
def many_scripts(s: Script) -> None:
    words = "Grüße, 日本語 עברית 🧵 e\u0301"
    s.user(words)
    s.line(s.take().replace(b"\\u00fc", "ü".encode()).replace(b"\\u65e5", "日".encode()) + b"\n")
    s.reply(words)
    s.reply(use("t1", "Bash", command=words))
    s.result("t1", words)
    s.reply("a1")


@case
def lone_surrogates(s: Script) -> None:
    s.user("u1 \ud83d end")
    s.reply("a1 \ude00 end")
    s.user("u2")
    s.reply(use("t1", "Bash", command="\ud83d"))
    s.result("t1", "cut \ud83d")
    s.reply("a2")


@case
def key_that_comes_twice(s: Script) -> None:
    s.turns(1)
    s.user("u2")
    s.line(s.take()[:-1] + b',"message":{"role":"user","content":"other"}}\n')
    s.reply("a2")


@case
def numbers_that_are_large(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1", "Bash", number=12345678901234567890, small=1e-7, one=1.0))
    s.result("t1")
    s.reply("a1")


@case
def deep_input(s: Script) -> None:
    deep: Json = {"end": 1}
    for _ in range(200):
        deep = {"d": deep}
    s.user("u1")
    s.reply(use("t1", "Bash", **deep))
    s.result("t1")
    s.reply("a1")


# Fields of the wrong type


def with_message(s: Script, message: object) -> None:
    s.turns(1)
    s.user("u2")
    s.edit(2, message=message)
    s.reply("a2")


@case
def message_that_is_nothing(s: Script) -> None:
    with_message(s, None)


@case
def message_that_is_a_word(s: Script) -> None:
    with_message(s, "word")


@case
def message_that_is_empty(s: Script) -> None:
    with_message(s, {})


@case
def content_that_is_a_number(s: Script) -> None:
    with_message(s, {"role": "user", "content": 7})


@case
def content_that_is_an_object(s: Script) -> None:
    with_message(s, {"role": "user", "content": text("x")})


@case
def prompt_without_a_role(s: Script) -> None:
    with_message(s, {"content": "x"})


@case
def block_of_no_type(s: Script) -> None:
    with_message(s, {"role": "user", "content": [{"text": "x"}, text("y")]})


@case
def nothing_among_the_blocks(s: Script) -> None:
    with_message(s, {"role": "user", "content": [None, text("y")]})


@case
def text_that_is_a_number(s: Script) -> None:
    with_message(s, {"role": "user", "content": [{"type": "text", "text": 7}, text("y")]})


@case
def text_that_is_not_there(s: Script) -> None:
    with_message(s, {"role": "user", "content": [{"type": "text"}, text("y")]})


@case
def sidechain_that_is_nothing(s: Script) -> None:
    s.turns(1)
    s.user("u2", isSidechain=None)
    s.reply("a2", isSidechain="no")


@case
def meta_that_is_a_word(s: Script) -> None:
    s.turns(1)
    s.user("u2", isMeta="yes")
    s.reply("a2")


@case
def no_fields_but_the_needed_ones(s: Script) -> None:
    s.turns(2)
    kept = ("type", "uuid", "parentUuid", "timestamp", "message")
    s.lines = [{key: line[key] for key in kept} for line in s.lines if isinstance(line, dict)]


@case
def sidechain_that_is_an_empty_list(s: Script) -> None:
    s.turns(1)
    s.user("u2", isSidechain=0)
    s.reply("a2", isSidechain=[])


# Snapshots of files without the snapshot


def snapshots(s: Script, message: str, *snapshots: Json | None) -> None:
    s.turns(2)
    for snapshot in snapshots:
        s.line({"type": "file-history-snapshot", "messageId": message, "snapshot": snapshot})
    s.user("u3", parent=uuid(2))
    s.reply("a3")


@case
def empty_snapshot_of_a_prompt(s: Script) -> None:
    snapshots(s, uuid(1), None)


@case
def empty_snapshot_of_a_reply(s: Script) -> None:
    snapshots(s, uuid(2), None)


@case
def empty_snapshot_of_a_left_branch(s: Script) -> None:
    snapshots(s, uuid(3), None)


@case
def empty_snapshot_before_a_whole_one(s: Script) -> None:
    snapshots(s, uuid(1), None, {"messageId": uuid(1), "trackedFileBackups": {}})


@case
def empty_snapshot_behind_a_whole_one(s: Script) -> None:
    snapshots(s, uuid(1), {"messageId": uuid(1), "trackedFileBackups": {}}, None)
