"""What the pages say, asked without a browser."""

from __future__ import annotations

import importlib
import json
import re
import sys
import time
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

import httpx
import pytest

from benchmarks.served import serving
from clew.cli import main
from clew.conversation.load import find, read
from clew.demo.demo_tree import DemoSummary
from clew.demo.talk import bash, talk, task
from clew.facts.secrets.mask_secrets import mask
from clew.index.session_index import Index
from clew.system.extras import install_hint

KEY = "sk-ant-api03-" + "Zx9Qw8Er7Ty6Ui5Op4As3Df2Gh1Jk0Lz" * 2 + "-AAAAAAAA"


@pytest.fixture(scope="module")
def secret(demo: DemoSummary) -> Path:
    told = talk(seed="keys", cwd=f"/home/ada/{KEY}", branch="main").user(f"use {KEY} for it").rewind(to=1)
    child = talk(seed="inner").user("go").reply(f"the key is {KEY}")
    told = told.user(f"here is {KEY}").reply(f"thanks, {KEY}", thinking=KEY, call=bash(f"export K={KEY}")).result(KEY)
    told = told.reply(call=task(f"with {KEY}", KEY)).agent(0, child, agent_type=f"t {KEY}")
    return told.reply("done").title(f"About {KEY}").write(demo.root)


def addresses(path: Path) -> Iterator[str]:
    base = f"/session/{path.stem}"
    yield from ("/search?q=keys", "/search?q=thanks", "/search/hits?q=thanks", "/search/facets?q=thanks", "/search")
    yield from ("/", "/sessions", "/sessions/rows?q=keys", f"/sessions/preview/{path.stem}", "/search?q=project:")
    yield from ("/compare", f"/compare?left={path.stem}")
    yield from (base, f"{base}?depth=full&thinking=1", f"{base}?branch=1", f"{base}/outline", f"{base}/page/1")
    yield from (
        f"{base}/find?q=key",
        f"{base}/find?q=thanks",
        f"{base}?find=key",
        f"{base}/header",
        f"{base}/turn/1/prompt",
    )
    yield from (f"{base}/turn/1/markdown", f"{base}/charts", f"{base}/agent/{read(path).agents[0].id}?thinking=1")
    yield from (f"{base}/export/{kind}" for kind in ("html", "md", "json"))
    yield f"/compare?left={path.stem}&right={path.stem}:1&from=1"


@pytest.mark.req("R235")
def test_secrets_are_masked_on_every_page(secret: Path, client: httpx.Client) -> None:
    assert mask(KEY)[1], "the key of this test is none"
    for address in addresses(secret):
        answer = client.get(address)
        assert answer.status_code == 200, address
        assert KEY not in unescape(answer.text) and KEY[-30:] not in answer.text, address


def test_secrets_are_shown_to_those_who_ask(secret: Path, demo: DemoSummary, cache: Path) -> None:
    with serving(demo.root, cache, "--reveal") as open_handed, open_handed.client() as client:
        assert KEY in client.get(f"/session/{secret.stem}").text


def test_reading_changes_nothing(secret: Path, demo: DemoSummary, client: httpx.Client) -> None:
    def tree() -> dict[Path, tuple[int, int]]:
        return {path: (path.stat().st_size, path.stat().st_mtime_ns) for path in demo.root.rglob("*")}

    before = tree()
    for address in addresses(secret):
        client.get(address)
    assert tree() == before


def test_a_switch_searches_by_meaning(demo: DemoSummary, client: httpx.Client) -> None:
    asked = {"q": "money amounts are off by a tiny bit"}
    title = "Fix one-cent rounding difference"
    assert 'name="semantic" value="1">' in client.get("/search").text
    assert title not in client.get("/search/hits", params=asked).text
    page = client.get("/search", params={**asked, "semantic": "1"}).text
    assert 'name="semantic" value="1" checked>' in page and "by words and meaning" in page
    assert title in page.partition('class="hits"')[2].partition("</li>")[0]


def test_filters_select_sessions(client: httpx.Client) -> None:
    def found(**given: str) -> set[str]:
        return set(re.findall(r'<a class="title" href="([^"]+)"', client.get("/sessions/rows", params=given).text))

    everything = found()
    assert set() < found(model="opus") < everything
    assert found(model="opus", project="/home/ada/src/drip") < found(model="opus")
    assert found(project="drip") == found(q="project:drip") == found(project="/home/ada/src/drip")
    assert found(project=" ") == everything and found(project='"') == set()
    assert found(since="1d") == set() and found(until="2020-01-01") == set()


@pytest.mark.parametrize(
    "path",
    [
        "/session/none",
        "/session/..%2f..%2fetc%2fpasswd",
        "/session/%2e%2e",
        "/session/{id}/agent/none",
        "/session/{id}/agent/..%2f..%2f",
        "/session/{id}/turn/999",
        "/session/{id}/page/999",
        "/session/{id}/page/0",
        "/session/{id}/page/-1",
        "/session/{id}?branch=999",
        "/session/{id}/export/exe",
        "/session/{id}/turn/1e3",
        "/session/none/events",
        "/asset/x/..%2fapp.py",
        "/asset/x/app.py",
        "/compare?left=none&right=none",
        "/nowhere",
    ],
)
def test_what_is_not_there_is_not_found(client: httpx.Client, demo: DemoSummary, path: str) -> None:
    answer = client.get(path.format(id=demo.sessions["rounding"]))
    assert answer.status_code == 404
    assert "Traceback" not in answer.text and str(demo.root) not in answer.text


@pytest.mark.parametrize(
    "query", ["page=x", "page=99999999999999", "branch=x", "depth=x", "thinking=x", "page=-3&branch=²"]
)
def test_a_wish_that_cannot_be_understood_is_left_out(client: httpx.Client, demo: DemoSummary, query: str) -> None:
    assert client.get(f"/session/{demo.sessions['rounding']}?{query}").status_code == 200
    assert client.get(f"/sessions?{query}").status_code == 200
    assert client.get(f"/search?q=a&limit=x&{query}").status_code == 200


@pytest.mark.parametrize(
    "words",
    [
        "since:soonish",
        "\x00",
        '"',
        "*",
        "(",
        "a OR",
        "-",
        "-a",
        "a" * 5000,
        "🦀",
        "' OR 1=1 --",
        "in:",
        "\ud83d",
        "until:9",
    ],
)
def test_any_query_is_answered(client: httpx.Client, words: str) -> None:
    query = urlencode({"q": words}, errors="surrogatepass")
    assert client.get(f"/search/hits?{query}").status_code == 200
    assert client.get(f"/search?{query}").status_code == 200
    assert client.get(f"/search/facets?{query}").status_code == 200
    assert client.get(f"/sessions?{query}&project={query[2:]}&since={query[2:]}&tag={query[2:]}").status_code == 200


def test_files_outside_the_tree_are_not_searched(tmp_path: Path) -> None:
    path = talk().user("the word is quincunx").reply("yes, quincunx").write(tmp_path / "elsewhere")
    inside = tmp_path / "claude" / "projects" / "-x"
    inside.mkdir(parents=True)
    (inside / path.name).symlink_to(path)
    talk(seed=3).user("another word").reply("yes").write(tmp_path / "claude")
    cache = tmp_path / "cache"
    with Index.open(tmp_path / "claude", cache / "clew") as index:
        index.refresh()
        assert len(index.search("quincunx")) == 1
    with serving(tmp_path / "claude", cache) as served, served.client() as client:
        assert "Nothing matches." in client.get("/search/hits?q=quincunx").text
        assert "quincunx" not in client.get("/sessions").text
        assert client.get(f"/session/{path.stem}").status_code == 404


def test_a_loose_match_says_what_it_lacks(client: httpx.Client) -> None:
    assert "without: replay" in client.get("/search/hits?q=rounding+order+replay+totals").text
    assert "without:" not in client.get("/search/hits?q=rounding+order+totals").text


def test_without_an_index_the_newest_are_listed_at_once(demo: DemoSummary, tmp_path: Path) -> None:
    with serving(demo.root, tmp_path) as served, served.client() as client:
        assert "Fix one-cent rounding" in client.get("/sessions").text


def test_every_passage_leads_to_its_turn(client: httpx.Client, demo: DemoSummary) -> None:
    for words in ("lettuce", "override", "tool:Bash cargo", "has:agent valve", "Decimal"):
        links = re.findall(
            r'<p class="passage">.*?<a href="([^"]+)"', client.get("/search/hits", params={"q": words}).text
        )
        assert links, words
        for link in (link for link in links if "/at/" in link):
            answer = client.get(unescape(link))
            assert answer.status_code == 303, link
            where = answer.headers["location"]
            page = client.get(where.partition("#")[0])
            assert page.status_code == 200
            anchor = where.partition("#")[2]
            assert not anchor or f'id="{anchor}"' in page.text, link


def test_the_markdown_of_a_turn_is_text(client: httpx.Client, demo: DemoSummary) -> None:
    answer = client.get(f"/session/{demo.sessions['rounding']}/turn/1/markdown")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.text.startswith("## 1 · The till says 2.68")


@pytest.mark.req("R237")
def test_exports_are_what_the_command_writes(
    client: httpx.Client, demo: DemoSummary, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    session = demo.sessions["rounding"]
    for kind, form in (("json", "json"), ("md", "markdown"), ("html", "html")):
        answer = client.get(f"/session/{session}/export/{kind}")
        main(["export", session, "--format", form, "--quiet", "--claude-dir", str(demo.root)])
        assert answer.content == capsysbinary.readouterr().out


def test_a_session_tells_its_turns_and_how_to_go_on(client: httpx.Client, demo: DemoSummary) -> None:
    session = find(demo.sessions["rounding"], claude=demo.root)
    page = unescape(client.get(f"/session/{session.id}").text)
    assert f"cd {session.cwd} && claude -r {session.id}" in page
    assert page.count('<section class="turn" id=') == len(session.turns) == page.count("data-turn=")


def test_every_session_of_the_demo_can_be_read(client: httpx.Client, demo: DemoSummary) -> None:
    for key, session in demo.sessions.items():
        answer = client.get(f"/session/{session}?depth=full&thinking=1")
        assert answer.status_code == (404 if key == "empty" else 200), key


def test_a_long_agent_goes_on_on_its_own_page(demo: DemoSummary, client: httpx.Client) -> None:
    child = talk(seed="many").user("go")
    for number in range(100):
        child = child.reply(call=bash(f"echo {number}")).result(f"result {number}")
    path = talk(seed="holder").user("go").reply(call=task("Many", "go")).agent(0, child.reply("end")).write(demo.root)
    page = client.get(f"/session/{path.stem}").text
    assert "More is on the agent&#x27;s own page." in page and "result 99" not in page
    own = re.search(r'href="(/session/[^"]*/agent/[^"]+)"', page)
    assert own and "result 30" in client.get(own[1]).text


def test_without_the_packages_one_sentence_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name.startswith("clew.web")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    importlib.invalidate_caches()
    assert main(["serve"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.endswith(f"{install_hint('web')}\n")


def test_a_port_that_is_none_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--port", "70000"]) == 2
    assert "70000 is not a port" in capsys.readouterr().err


# -- sessions whose transcript is gone


@pytest.fixture
def stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One session in the archive alone, a hostile one that only the index knows, and one that only the history knows."""
    for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    root = tmp_path / "claude"
    path = talk(seed="deleted", cwd="/home/ada/zoo").user("feed the wombat").reply("It has eaten.").write(root)
    talk(seed="present", cwd="/home/ada/zoo").user("sweep the yard").reply("done").write(root)
    assert main(["collect", "--quiet", "--claude-dir", str(root)]) == 0
    path.unlink()
    assert main(["collect", "--quiet", "--claude-dir", str(root)]) == 0
    title = f"Count the okapi <img src=x onerror=alert(1)> {KEY}"
    listed = {
        "sessionId": '"><script>alert(2)</script>',
        "summary": title,
        "firstPrompt": "how many",
        "messageCount": 4,
    }
    listed |= {"projectPath": "/home/ada/<b>zoo", "modified": "2026-01-26T07:19:04.022Z"}
    (path.parent / "sessions-index.json").write_text(json.dumps({"version": 1, "entries": [listed]}))
    typed = {"display": "paint the pangolin", "timestamp": 1769400000000, "project": "/home/ada/zoo"}
    typed["sessionId"] = "644ef223-00e7-4a77-bcad-d89361ee209c"
    (root / "history.jsonl").write_text(json.dumps(typed) + "\n")
    return root


def test_gone_sessions_are_listed_found_and_marked(stale: Path, tmp_path: Path) -> None:
    with Index.open(stale, tmp_path / "XDG_CACHE_HOME" / "clew") as index:
        index.refresh()
    with serving(stale, tmp_path / "XDG_CACHE_HOME") as served, served.client() as client:
        client.get("/sessions/rows")  # begins to read what the archive has
        for _ in range(200):
            page = client.get("/sessions/rows").text
            if "wombat" in page:
                break
            time.sleep(0.05)
        assert "1 session · 2 without transcript · 1 more in the prompt history" in page
        assert page.count('<li class="session gone">') == 2 and page.count('<a class="title" href="/session/') == 1
        assert "<img" not in page and "<script" not in page and "<b>" not in page and KEY not in page
        found = client.get("/search/hits", params={"q": "wombat"}).text
        assert "only in the archive: the transcript is gone since " in found and "clew restore " in found
        assert 'href="/session/' not in found and "<mark>wombat</mark>" in found
        found = client.get("/search/hits", params={"q": "pangolin"}).text
        assert "only in the prompt history: the transcript is gone; its prompts are all that is left" in found
        assert "okapi" in client.get("/search/hits", params={"q": "okap"}).text
        assert "wombat" not in client.get("/compare").text


def test_the_page_of_a_gone_session_says_so_and_what_is_left(stale: Path, tmp_path: Path) -> None:
    archived = talk(seed="deleted", cwd="/home/ada/zoo").user("feed the wombat").reply("It has eaten.").session_id
    typed = "644ef223-00e7-4a77-bcad-d89361ee209c"
    listed = "5e551011-aaaa-4bbb-8ccc-000000000007"
    (lists,) = stale.glob("projects/*/sessions-index.json")
    lists.write_text(lists.read_text().replace(json.dumps('"><script>alert(2)</script>'), json.dumps(listed)))
    with serving(stale, tmp_path / "XDG_CACHE_HOME") as served, served.client() as client:
        answer = client.get(f"/session/{archived}")
        assert answer.status_code == 410 and "<h1>feed the wombat</h1>" in answer.text
        assert "Only in the archive: the transcript is gone since 20" in answer.text and "/home/ada/zoo" in answer.text
        assert f"clew restore {archived}</code>" in answer.text
        answer = client.get(f"/session/{typed}")
        assert answer.status_code == 410 and ">paint the pangolin</div>" in answer.text
        assert "Only in the prompt history: the transcript is gone; its prompts are all that is left." in answer.text
        assert "/home/ada/zoo · 2026-01-26 04:00 UTC · 1 prompt<" in answer.text
        answer = client.get(f"/session/{listed}")
        assert answer.status_code == 410 and "okapi" in answer.text and "how many" in answer.text
        assert "<img" not in answer.text and "<script>" not in answer.text and KEY not in answer.text
        for path in (f"/session/{typed}/export/html", f"/session/{typed}/outline", f"/compare?left={typed}&right=x"):
            assert client.get(path).status_code == 410, path
        unknown = client.get("/session/00000000-0000-4000-8000-000000000000")
        assert unknown.status_code == 404 and "No session matches" in unknown.text
