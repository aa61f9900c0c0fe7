"""The list, the search, the palette and the marks of the user, asked without a browser."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

import pytest

pytest.importorskip("starlette")

from starlette.testclient import TestClient

from clew.browse import summary_thread
from clew.demo.talk import Talk, bash, talk
from clew.web import app_state, async_search, list_page, session_rows
from clew.web.access_control import EntryToken
from clew.web.routes import make_app
from tests.content_times import set_last_use

HOSTILE = '"><img src=x onerror=alert(1)>'
COUNT = 130
WAIT = 30.0


@pytest.fixture
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    for module in (async_search, session_rows):
        monkeypatch.setattr(module, "FRESH_SECONDS", WAIT)  # a busy machine is slow
    monkeypatch.setattr(list_page, "GONE_SECONDS", WAIT)
    entry = EntryToken(8000, lambda _: None)
    with TestClient(make_app(str(tmp_path / "claude"), entry), base_url="http://127.0.0.1:8000") as client:
        client.get(entry.address)
        yield client


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "claude" / "projects").mkdir(parents=True)
    return tmp_path / "claude"


def story(seed: int | str, prompt: str = "What is new?") -> Talk:
    return talk(seed=seed, cwd="/home/ada/zoo", model="claude-opus-5").user(prompt).reply("Nothing.")


def ids(html: str) -> list[str]:
    return re.findall(r'<a class="title" href="/session/([0-9a-f-]+)"', html)


def token(client: TestClient) -> str:
    found = re.search(r'name="form_token" value="([^"]+)"', client.get("/sessions").text)
    assert found is not None
    return found[1]


def post(client: TestClient, **fields: str) -> int:
    headers = {"Origin": "http://127.0.0.1:8000", "Content-Type": "application/x-www-form-urlencoded"}
    body = urlencode({"form_token": token(client), **fields})
    return client.post("/marks", content=body, headers=headers, follow_redirects=False).status_code


def test_the_first_answer_after_a_change_has_it(root: Path, pages: TestClient) -> None:
    assert "No sessions yet" in pages.get("/sessions").text
    path = story("one", "Where is the wombat?").write(root)
    assert ids(pages.get("/sessions").text) == [path.stem]
    assert ids(pages.get("/search?q=wombat").text) == [path.stem]
    with path.open("ab") as file:
        longer = story("one", "Where is the wombat?").user("And the pangolin?").reply("Here.")
        file.write(longer.bytes()[path.stat().st_size :])
    assert "2 turns" in pages.get("/sessions/rows").text
    assert ids(pages.get("/search?q=pangolin").text) == [path.stem]
    path.unlink()
    assert ids(pages.get("/sessions").text) == []


def test_counts_are_true_and_every_session_can_be_reached(root: Path, pages: TestClient) -> None:
    written = {story(number, f"Question {number}").write(root).stem for number in range(COUNT)}
    page = pages.get("/sessions").text
    assert f'<span id="counted">60</span> of {COUNT} sessions, newest first' in page
    seen = ids(page)
    while link := re.search(r'id="more" class="button" href="([^"]+)"', page):
        page = pages.get(unescape(link[1])).text
        seen += ids(page)
    assert len(seen) == COUNT and set(seen) == written
    assert f"12 of {COUNT} sessions" in pages.get("/sessions/rows?q=question+12").text
    assert "None of 130 sessions matches." in pages.get("/sessions/rows?q=nowhere").text


def test_sessions_are_sorted_by_the_time_of_their_content(root: Path, pages: TestClient) -> None:
    paths = [story(number).write(root) for number in range(3)]
    for age, path in enumerate(paths):
        set_last_use(path, 1_700_000_000 - age * 1000)
        os.utime(path, (age, age))  # copied the other way round
    assert ids(pages.get("/sessions").text) == [path.stem for path in paths]


def test_while_sessions_are_being_read_all_are_listed(
    root: Path, pages: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summary_thread, "OWN_PROCESS", 0)
    written = {story(number, f"Question {number}").write(root).stem for number in range(70)}
    page = pages.get("/sessions").text
    assert '<span id="counted">60</span> of 70 sessions' in page and len(ids(page)) == 60
    assert re.search(r"reading sessions: \d+ % of [\d.]+ kB", page)
    monkeypatch.undo()
    assert set(ids(pages.get("/sessions").text) + ids(pages.get("/sessions?page=2").text)) == written


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ('"', "The query has no letters or digits."),
        ("*", "The query has no letters or digits."),
        ("tool:", "tool: needs a value, such as tool:Bash; or leave it out."),
        ("since:soonish", "since: takes 7d, 2w, yesterday"),
        ("in:nowhere", "in: takes title, prompt"),
    ],
)
def test_an_odd_query_is_explained_in_the_words_of_the_page(
    root: Path, pages: TestClient, query: str, sentence: str
) -> None:
    story("one").write(root)
    for address in ("/search", "/search/hits"):
        page = unescape(pages.get(address, params={"q": query}).text)
        assert sentence in page and "--" not in page.partition('role="status"')[2].partition("</p>")[0]
        assert ids(page) == []


def test_a_search_has_counts_suggestions_and_links_into_the_text(root: Path, pages: TestClient) -> None:
    first = story("one", "Feed the wombat").reply(call=bash("feed wombat")).result("eaten").write(root)
    story("two", "Paint the wombat").write(root)
    page = unescape(pages.get("/search?q=wombat").text)
    assert "2 sessions, 3 passages" in page
    for label, number in (("zoo", 2), ("Bash", 1), ("opus 5", 2), ("prompt", 2), ("tool input", 1)):
        assert re.search(rf'<span class="label">{label}</span><span class="number">{number}</span>', page), label
    assert re.search(rf'href="/session/{first.stem}/at/\d+\?find=wombat"', page)
    assert 'data-query="tool:Bash "' in unescape(pages.get("/search/hits?q=tool:").text)
    assert 'data-query="wombat project:zoo "' in unescape(pages.get("/search/hits?q=wombat+project:z").text)
    narrowed = pages.get("/search?q=wombat+tool:Bash").text
    assert ids(narrowed) == [first.stem] and 'class="chip is-set" href="/search?q=wombat"' in narrowed
    assert "project:bakery" in pages.get("/search").text  # the operators are explained


def test_pins_and_tags_are_kept_and_filter(root: Path, pages: TestClient) -> None:
    one, two = (story(name).write(root).stem for name in "ab")
    assert post(pages, pin=one) == 303 and ids(pages.get("/sessions?is=pinned").text) == [one]
    assert post(pages, session=two, tag=f" #{HOSTILE} ") == 303
    page = pages.get("/sessions").text
    assert "<img" not in page and f"#{HOSTILE}" in unescape(page)
    assert ids(pages.get("/sessions", params={"tag": HOSTILE}).text) == [two]
    assert post(pages, unpin=one) == 303 and post(pages, session=two, untag=HOSTILE) == 303
    assert ids(pages.get("/sessions?is=pinned").text) == [] and HOSTILE not in unescape(pages.get("/sessions").text)


def test_searches_are_saved_and_forgotten(root: Path, pages: TestClient) -> None:
    assert post(pages, save="Wombats", query="wombat is:error", next="/search") == 303
    assert ">Wombats</a>" in pages.get("/search").text and ">Wombats<" in pages.get("/palette?q=womb").text
    assert post(pages, forget="Wombats") == 303 and "Wombats" not in pages.get("/search").text


@pytest.mark.parametrize(
    "fields", [{"pin": "../../etc/passwd"}, {"pin": ""}, {"session": "x", "tag": "y"}, {"tag": "y"}]
)
def test_marks_of_no_session_are_ignored(root: Path, pages: TestClient, fields: dict[str, str]) -> None:
    story("one").write(root)
    assert post(pages, **fields) == 303
    assert '"pins": []' in Path(os.environ["XDG_STATE_HOME"], "clew", "web.json").read_text()


def test_a_form_without_the_token_changes_nothing(root: Path, pages: TestClient) -> None:
    session = story("one").write(root).stem
    headers = {"Origin": "http://127.0.0.1:8000", "Content-Type": "application/x-www-form-urlencoded"}
    assert pages.post("/marks", content=f"pin={session}", headers=headers).status_code == 403
    assert pages.get(f"/marks?pin={session}").status_code in (404, 405)
    assert ids(pages.get("/sessions?is=pinned").text) == []


def test_the_palette_finds_sessions_projects_and_pages(root: Path, pages: TestClient) -> None:
    path = story("one").title(f"Feed {HOSTILE}").write(root)
    script = {"Accept": "application/json"}
    found = {group["label"]: group["items"] for group in pages.get("/palette", headers=script).json()["groups"]}
    assert found["Projects"][0]["label"] == "zoo" and found["Pages"][0] == {"label": "Start", "href": "/"}
    sessions, search = pages.get("/palette?q=feed", headers=script).json()["groups"]
    assert sessions["items"][0]["href"] == f"/session/{path.stem}" and search["items"][0]["href"] == "/search?q=feed"
    page = pages.get("/palette?q=feed").text
    assert f"/session/{path.stem}" in page and "<img" not in page


def test_a_session_of_a_store_is_restored_before_it_is_resumed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(root.parent / name))
    path = story("store").write(root)
    entry = EntryToken(8000, lambda _: None)
    app = make_app(str(root), entry, store="postgresql://rio@db.example.org/sessions")
    with TestClient(app, base_url="http://127.0.0.1:8000") as client:
        client.get(entry.address)
        page = unescape(client.get(f"/session/{path.stem}").text)
    assert f"clew restore {path.stem} --store postgresql://rio@db.example.org/sessions" in page
    assert "claude --resume" not in page


def test_while_typing_the_list_is_not_made_again(
    root: Path, pages: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = story("one", "Where is the wombat?").write(root)
    assert ids(pages.get("/sessions").text) == [first.stem]
    second = story("two", "And the wombat's friend?").write(root)
    assert ids(pages.get("/sessions/rows?typing=1&q=wombat").text) == [first.stem]
    assert pages.get(f"/sessions/preview/{second.stem}").status_code == 200, "the list is made again if it lacks one"
    assert len(ids(pages.get("/sessions/rows?typing=1&q=wombat").text)) == 2
    third = story("three", "A third wombat?").write(root)
    monkeypatch.setattr(list_page, "TYPING_AGE", 0.0)
    assert third.stem in ids(pages.get("/sessions/rows?typing=1&q=wombat").text)


def test_cached_pages_are_counted_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app_state, "CACHE_SIZE", 100)
    cache = app_state.PageCache()
    made: list[str] = []

    def get(text: str) -> str:
        def make() -> str:
            made.append(text)
            return text

        return cache.get(text, make)

    texts = ["é" * 20, "🙂" * 15, "x\ud800" * 5]
    assert [get(text) for text in texts * 2] == texts * 2
    assert made == [*texts, texts[0], texts[1], texts[2]], (
        "the first two have 100 bytes, so each is dropped for the next"
    )
