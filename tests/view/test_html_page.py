"""Pages and archives: one file each, that forbids itself everything it does not need."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from datetime import UTC, datetime

import pytest

from clew.conversation.session import Session
from clew.demo.talk import talk
from clew.view.header import About, BranchNote, describe_session
from clew.view.html_page import page_style, read_asset, render_page
from clew.view.mask_rows import MaskCount
from clew.view.row_html import fragments
from clew.view.rows import ViewOptions, rows
from clew.view.static_site import Exported, WordIndex, collect_words, file_name, index_markdown, index_page
from tests.view.markup import FRAGMENT, tags
from tests.view.payloads import PAYLOADS, everywhere

TOKEN = "ghp_" + "Ab3dEf6hIj" * 3 + "KLMNOP"
PAGE = {
    **FRAGMENT,
    **dict.fromkeys(("h1", "ul", "main"), ()),
    "ol": ("start",),
    "li": ("data-number",),
    "button": ("type", "data-does", "data-step", "data-fold", "data-split", "aria-label"),
    "div": ("hidden", "data-tool"),
    "p": ("role", "hidden"),
    "aside": ("aria-label",),
    "nav": ("aria-label",),
    "select": ("data-only", "aria-label"),
    "option": ("value",),
    "output": ("data-found",),
    "a": ("href", "rel", "data-turn", "aria-label"),
    "input": ("type", "aria-label", "placeholder", "data-find"),
}


def whole(session: Session) -> str:
    outline = ((turn.number, turn.text) for turn in session.turns)
    made = fragments(rows(session, session.turns, ViewOptions(details=True)))
    return "".join(render_page(describe_session(session, None), made, outline))


def body(made: str) -> str:
    """What stands in the body of a page, without its scripts, which are ours to the letter."""
    _, _, rest = made.partition("<body>\n")
    text, _, end = rest.partition("</body>")
    assert end == "\n</html>\n"
    for name in ("session.js", "page.js", "search.js"):
        text = text.replace(f"<script>{read_asset(name)}</script>\n", "")
    return re.sub('href="#(?:side|content|branch-[12])"', 'href="#turn-1"', text)


@pytest.mark.parametrize("number", range(0, len(PAYLOADS), 3))
def test_no_payload_becomes_markup_above_a_page_or_in_its_head(number: int) -> None:
    payload = PAYLOADS[number]
    made = whole(Session(everywhere(payload, number).bytes()))
    tags(body(made), PAGE)
    head = made.partition("<body>")[0].replace(f"<style>{page_style()}</style>", "")
    assert re.findall(r"<(\w+)", head) == ["html", "head", *["meta"] * 5, "title"]


@pytest.mark.parametrize("number", range(0, len(PAYLOADS), 3))
def test_no_payload_becomes_markup_in_an_index(number: int) -> None:
    payload = PAYLOADS[number]
    session = Session(everywhere(payload, number).bytes())
    words, head = WordIndex(), describe_session(session, None)
    found = set[str]()
    assert list(collect_words(found, rows(session, session.turns, ViewOptions())))
    words.add(sorted(found), 0)
    name = file_name(head, ".html")
    assert re.fullmatch(r"2026-01-05-[a-z0-9-]+\.html", name)
    made = body("".join(index_page(payload, [Exported(head, name)], words)))
    text, _, rest = made.partition('<script type="application/json" id="words">')
    data, _, end = rest.partition("</script>\n")
    assert "<" not in data and json.loads(data) == words.index and not end
    tags(text.replace(f'href="{name}"', 'href="#turn-1"'), PAGE)


def test_a_page_allows_its_own_style_and_script_by_their_hashes_and_loads_nothing() -> None:
    made = whole(Session(talk().user("dig").reply("ok").bytes()))
    policy = re.findall(r'Content-Security-Policy" content="([^"]*)"', made)[0]
    for kind, *texts in (("style-src", page_style()), ("script-src", read_asset("session.js"), read_asset("page.js"))):
        digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts]
        allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
        assert f"; {kind} {allowed};" in policy
    assert policy.startswith("default-src 'none'; img-src data:;") and "unsafe" not in policy
    assert made.index("Content-Security-Policy") < made.index("<style>")
    assert not re.search(r"(?:src|href)=\"(?!data:image/|#)|@import|url\(", made)


def test_a_page_has_a_title_an_outline_and_works_without_scripts() -> None:
    made = whole(Session(talk().user("dig").reply("ok").user("sow\nseeds").reply("ok").title("Beds").bytes()))
    assert "<title>Beds</title>" in made and "<h1>Beds</h1>" in made
    assert (
        '<a href="#turn-2" data-turn="2"><span class="number">2</span> <span class="text">sow seeds</span></a>' in made
    )
    assert 'id="turn-2"' in made and '<a class="outline-link" href="#side">' in made and 'id="side"' in made
    assert '<div class="tools" hidden>' in made and "@media print" in made and "color-scheme: light dark" in made


@pytest.mark.req("R235")
def test_what_stands_above_a_session_is_masked() -> None:
    told = talk(cwd=f"/home/{TOKEN}", branch=TOKEN).user(f"use {TOKEN}").reply("ok", model=TOKEN)
    tally = MaskCount()
    made = describe_session(Session(told.bytes()), tally)
    assert TOKEN not in repr(made) and tally.secrets == 4
    assert TOKEN in repr(describe_session(Session(told.bytes()), None))


def test_an_index_lists_sessions_by_day_the_newest_first() -> None:
    def made(title: str, day: int, *branches: BranchNote) -> Exported:
        details = (("cwd", "/home/ada/garden"), ("turns", "3 turns"))
        return Exported(About(title, title, datetime(2026, 1, day, 9, tzinfo=UTC), details, branches), f"{title}.html")

    note = BranchNote(1, True, True, 0, 1, "x")
    page = "".join(index_page("All", [made("old", 4), made("new", 5, note, note), made("newer", 5)], WordIndex()))
    assert re.findall(r"<h2>(.*)</h2>", page) == ["Monday, 5 January 2026", "Sunday, 4 January 2026"]
    assert re.findall(r'<li data-number="(\d)"><a href="(\w+)', page) == [("1", "new"), ("2", "newer"), ("0", "old")]
    assert '<span class="chip">garden</span>' in page and "<span>2 branches</span>" in page


def test_the_index_finds_words_by_session() -> None:
    words = WordIndex()
    for number, text in enumerate(("Dig the beds", "Sow the seeds", "x" * 100)):
        session = Session(talk().user(text).reply("ok").bytes())
        found = set[str]()
        passed = collect_words(found, rows(session, session.turns, ViewOptions()))
        assert [row.kind for row in passed] == ["prompt", "reply"]
        words.add(sorted(found), number)
    assert (words.index["dig"], words.index["the"], words.index["ok"]) == ([0], [0, 1], [0, 1, 2])
    assert words.index["x" * 40] == words.index["x" * 20] == [2]


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Fix: the ../../etc/passwd!", "undated-fix-the-etc-passwd-0d6cfcc5.md"),
        ("Größe prüfen", "undated-groe-prufen-0d6cfcc5.md"),
        ("修复", "undated-0d6cfcc5.md"),
        ("x" * 200, f"undated-{'x' * 48}-0d6cfcc5.md"),
    ],
)
def test_a_file_is_named_in_letters_that_every_system_takes(title: str, name: str) -> None:
    made = About("0d6cfcc5-fdb8-4c4c", title, None, ())
    assert file_name(made, ".md") == name


def test_an_index_in_markdown() -> None:
    head = describe_session(Session(talk().user("dig [x](y)").reply("ok").bytes()), None)
    assert "".join(index_markdown("All *", [Exported(head, "a.md")])) == (
        "# All \\*\n\n- 2026-01-05: [dig \\[x\\](y)](a.md)\n"
    )
