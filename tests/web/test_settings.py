"""Settings: saved in a private file, followed by every page, and changed by forms of our own pages only."""

from __future__ import annotations

import json
import re
import stat
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import httpx
import pytest

from benchmarks.served import Served
from clew.demo.demo_tree import DemoSummary
from clew.demo.talk import talk
from clew.errors import ClewError
from clew.view.display_time import time_tag, use_zone
from clew.web.access_control import MAX_FORM
from clew.web.preferences import Preferences, WebSettings

FORM = "application/x-www-form-urlencoded"
KEY = "sk-ant-api03-" + "Zx9Qw8Er7Ty6Ui5Op4As3Df2Gh1Jk0Lz" * 2 + "-AAAAAAAA"


def form_token(client: httpx.Client) -> str:
    found = re.search(r'name="form_token" value="(\w+)"', client.get("/settings").text)
    assert found
    return found[1]


def post(served: Served, client: httpx.Client, values: dict[str, str], **headers: str) -> httpx.Response:
    given = {"Origin": served.base, "Sec-Fetch-Site": "same-origin", **headers}
    return client.post("/settings", data=values, headers={name: value for name, value in given.items() if value})


def test_settings_are_kept_and_foreign_values_are_not(tmp_path: Path) -> None:
    preferences = Preferences(str(tmp_path / "state"))
    assert preferences.settings == WebSettings()
    preferences.set(theme="dark", density="?", zone="../../etc/passwd", unknown="x")
    assert preferences.settings == WebSettings(theme="dark")
    assert stat.S_IMODE(preferences.path.stat().st_mode) == 0o600
    other = Preferences(str(tmp_path / "state"))
    other.change("marks", lambda marks: [*(marks or []), "pin"])
    assert preferences.read("marks") == ["pin"] and preferences.settings.theme == "dark"


@pytest.mark.parametrize(
    "text", ["", "{", "[1]", '{"settings": 3}', '{"settings": {"theme": []}}', "\x00", "[" * 99999]
)
def test_a_damaged_file_gives_the_defaults(tmp_path: Path, text: str) -> None:
    preferences = Preferences(str(tmp_path))
    preferences.path.write_text(text)
    assert preferences.settings == WebSettings()
    preferences.set(theme="light")
    assert json.loads(preferences.path.read_text())["settings"]["theme"] == "light"


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("not a folder")
    preferences = Preferences(str(tmp_path / "state"))
    assert preferences.settings == WebSettings()
    with pytest.raises(ClewError, match="This cannot be saved: "):
        preferences.set(theme="dark")


def test_a_form_changes_settings_and_every_page_follows(
    served: Served, client: httpx.Client, demo: DemoSummary
) -> None:
    answer = post(served, client, {"form_token": form_token(client), "theme": "dark", "density": "compact"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/settings?saved=1")
    for path in ("/", "/settings", f"/session/{demo.sessions['rounding']}", "/nowhere"):
        assert '<html lang="en" data-theme="dark"' in client.get(path).text, path
    back = {"form_token": form_token(client), "theme": "system", "density": "comfortable"}
    assert post(served, client, {**back, "next": "/sessions"}).headers["location"] == "/sessions"
    assert post(served, client, {**back, "next": "//evil.example"}).headers["location"] == "/settings?saved=1"
    assert "data-theme" not in client.get("/").text


def test_secrets_are_shown_when_the_settings_say_so(served: Served, client: httpx.Client, demo: DemoSummary) -> None:
    path = talk(seed="revealed", cwd="/home/ada/x").user(f"use {KEY}").reply("done").write(demo.root)
    token = form_token(client)
    for value, is_shown in (("on", False), ("off", True), ("on", False)):
        assert post(served, client, {"form_token": token, "masking": value}).status_code == 303
        assert (KEY in client.get(f"/session/{path.stem}").text) is is_shown


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": ""}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "none"}, 403),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "multipart/form-data; boundary=x"}, 415),
        ({"Content-Type": "application/json"}, 415),
        ({"Cookie": "x=y"}, 401),
        ({"Host": "evil.example"}, 403),
    ],
)
def test_forms_of_others_change_nothing(
    served: Served, client: httpx.Client, headers: dict[str, str], status: int
) -> None:
    values = {"form_token": form_token(client), "theme": "dark"}
    with httpx.Client(base_url=served.base, trust_env=False, cookies=client.cookies) as other:
        if "Cookie" in headers:
            other.cookies.clear()
        answer = post(served, other, values, **{"Content-Type": FORM, **headers})
    assert answer.status_code == status
    assert "data-theme" not in client.get("/").text


@pytest.mark.parametrize("token", ["", "0" * 64, "é"])
def test_a_form_without_the_token_changes_nothing(served: Served, client: httpx.Client, token: str) -> None:
    assert post(served, client, {"form_token": token, "theme": "dark"}).status_code == 403
    assert "data-theme" not in client.get("/").text


def test_large_chunked_and_broken_forms_are_refused(served: Served, client: httpx.Client) -> None:
    headers = {"Origin": served.base, "Sec-Fetch-Site": "same-origin", "Content-Type": FORM}
    assert client.post("/settings", content=b"a" * (MAX_FORM + 1), headers=headers).status_code == 413
    assert client.post("/settings", content=iter([b"a=1"]), headers=headers).status_code == 413
    assert client.post("/settings", content=b"\xff=%ff", headers=headers).status_code == 400
    assert client.post("/settings", content=b"a&" * 500, headers=headers).status_code == 400
    assert client.put("/settings", headers=headers).status_code == 405


def test_times_are_shown_in_the_zone_of_the_settings() -> None:
    moment = datetime(2026, 3, 14, 23, 30, tzinfo=UTC)
    assert time_tag(moment) == '<time datetime="2026-03-14T23:30:00.000Z">2026-03-14 23:30</time>'
    with use_zone(timezone(timedelta(hours=5, minutes=30))):
        shown = '<time datetime="2026-03-14T23:30:00.000Z" title="2026-03-14 23:30 UTC">2026-03-15 05:00</time>'
        assert time_tag(moment) == shown
        assert ' title="2026-03-15 05:00 (2026-03-14 23:30 UTC)">3h<' in time_tag(moment, text="3h")
    assert ' title="2026-03-14 23:30 UTC">3h<' in time_tag(moment, text="3h")


def test_a_zone_changes_the_times_of_pages(served: Served, client: httpx.Client, demo: DemoSummary) -> None:
    path, token = f"/session/{demo.sessions['rounding']}", form_token(client)
    post(served, client, {"form_token": token, "zone": "UTC"})
    utc = re.search(r"<time[^>]*>([^<]+)</time>", client.get(path).text)
    post(served, client, {"form_token": token, "zone": "Asia/Tokyo"})
    page = client.get(path).text
    post(served, client, {"form_token": token, "zone": "system"})
    assert utc
    tokyo = datetime.strptime(utc[1], "%Y-%m-%d %H:%M") + timedelta(hours=9)
    assert f'title="{utc[1]} UTC">{tokyo:%Y-%m-%d %H:%M}<' in page


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("/nowhere", 404, "This page does not exist."),
        ("/session/00000000-0000-4000-8000-000000000000", 404, "No session matches"),
        ("/session/{id}/turn/999", 404, "No turn matches"),
    ],
)
def test_a_page_that_is_missing_says_so_and_leads_on(
    client: httpx.Client, demo: DemoSummary, path: str, status: int, words: str
) -> None:
    answer = client.get(path.format(id=demo.sessions["rounding"]))
    assert answer.status_code == status and words in answer.text
    assert 'href="/sessions"' in answer.text and 'href="/search"' in answer.text


def test_a_session_that_cannot_be_read_can_be_tried_again(client: httpx.Client, demo: DemoSummary) -> None:
    path = talk(seed="unreadable", cwd="/home/ada/x").user("hello").reply("hi").write(demo.root)
    text = path.read_bytes()
    assert client.get(f"/session/{path.stem}/outline").status_code == 200
    path.unlink()
    path.mkdir()
    answer = client.get(f"/session/{path.stem}/outline")
    path.rmdir()
    path.write_bytes(text)
    assert answer.status_code in (404, 500) and "Traceback" not in answer.text
    assert "Try again" in answer.text or 'href="/sessions"' in answer.text
