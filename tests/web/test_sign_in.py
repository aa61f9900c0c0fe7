"""Keys and addresses that last: sign-in, restarts, and what a refused browser sees."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from benchmarks.served import Served
from clew.demo.demo_tree import DemoSummary
from clew.web.access_control import is_local_path

ELSEWHERE = [
    "https://evil.example/",
    "//evil.example/",
    "/\\evil.example/",
    "/\t/evil.example/",
    "\\\\evil.example",
    "javascript:alert(1)",
    "evil.example",
    "/ok\r\nSet-Cookie: x=1",
    "/\x00",
    "/é",
    "",
    "/enter?token=x",
    "/" + "a" * 3000,
]


@pytest.mark.parametrize("path", ELSEWHERE)
def test_only_paths_of_this_server_are_returned_to(path: str) -> None:
    assert not is_local_path(path)


@pytest.mark.parametrize("path", ["/", "/session/a?page=2", "/search?q=%22a%20b%22", "/a//b"])
def test_paths_of_this_server_are_local(path: str) -> None:
    assert is_local_path(path)


@contextmanager
def default_server(demo: DemoSummary, state: Path, *words: str) -> Iterator[tuple[Served, str]]:
    """`clew serve` without a port, with what it wrote to stderr before it was ready."""
    command = [sys.executable, "-m", "clew", "serve", "--json", "--claude-dir", str(demo.root), *words]
    variables = {**os.environ, "XDG_CACHE_HOME": str(state), "XDG_STATE_HOME": str(state)}
    process = subprocess.Popen(
        command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
    )
    assert process.stdout is not None and process.stderr is not None
    try:
        line = process.stdout.readline()
        assert line, process.stderr.read()
        yield Served(process, json.loads(line)["url"]), process.stderr.readline()
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)


def get(
    served: Served, path: str, cookies: httpx.Cookies | None = None, headers: dict[str, str] | None = None
) -> httpx.Response:
    with httpx.Client(base_url=served.base, trust_env=False, cookies=cookies, headers=headers, timeout=60) as client:
        return client.get(path)


def test_cookies_and_addresses_survive_a_restart(demo: DemoSummary, tmp_path: Path) -> None:
    with default_server(demo, tmp_path) as (first, _), first.client() as client:
        cookies, port = client.cookies, first.port
    with default_server(demo, tmp_path) as (second, _):
        assert second.port == port
        assert get(second, f"/session/{demo.sessions['rounding']}", cookies).status_code == 200
    files = [path for path in (tmp_path / "clew").iterdir() if path.name.startswith("serve-")]
    assert {path.suffix for path in files} == {".json", ".lock"}
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    with default_server(demo, tmp_path, "--new-key") as (third, _):
        assert get(third, "/", cookies).status_code == 401


def test_a_taken_port_gives_the_next_one_and_says_so(demo: DemoSummary, tmp_path: Path) -> None:
    with default_server(demo, tmp_path) as (first, _):
        port = first.port
    with socket.create_server(("127.0.0.1", port)), default_server(demo, tmp_path) as (other, said):
        assert other.port != port
        assert said == f"Port {port} is taken: saved links need {other.port} in its place.\n"


def test_a_second_server_prints_the_address_of_the_first(demo: DemoSummary, tmp_path: Path) -> None:
    with default_server(demo, tmp_path) as (first, _):
        with default_server(demo, tmp_path) as (second, said):
            assert second.process.wait(30) == 0
            assert second.entrance == first.entrance and "running already" in said
        with first.client():
            pass
        with default_server(demo, tmp_path) as (third, _):
            assert third.entrance == first.entrance, "the address that was used is replaced"
        refused = subprocess.run(
            [sys.executable, "-m", "clew", "serve", "--new-key", "--claude-dir", str(demo.root)],
            env={**os.environ, "XDG_STATE_HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert refused.returncode != 0 and "running with the old key" in refused.stderr
        with default_server(demo, tmp_path, "--reveal") as (revealing, _):
            assert revealing.port != first.port


def test_a_state_folder_that_cannot_be_written_is_told(demo: DemoSummary, tmp_path: Path) -> None:
    (tmp_path / "clew").write_text("not a folder")
    with default_server(demo, tmp_path) as (served, said), served.client() as client:
        assert said.startswith("Browsers must sign in again after a restart: ")
        assert client.get("/").status_code == 200


def test_signing_in_returns_to_the_wanted_address(served: Served) -> None:
    wanted = "/session/x?page=2"
    page = get(served, wanted, headers={"Accept": "text/html,*/*"})
    assert page.status_code == 401 and 'name="next" value="/session/x?page=2"' in page.text
    assert page.text.count(" nonce=") == 1 and "<script" not in page.text
    with httpx.Client(base_url=served.base, trust_env=False) as client:
        answer = client.get("/enter", params={"token": served.entrance, "next": wanted})
        served.entrance = served.next_entrance()
        assert answer.status_code == 303 and answer.headers["location"] == wanted
        assert client.get("/").status_code == 200


@pytest.mark.parametrize("path", ELSEWHERE)
def test_signing_in_leads_to_no_other_site(served: Served, path: str) -> None:
    with served.client() as client:
        answer = client.get("/enter", params={"token": "x", "next": path})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    refused = get(served, f"/enter?token=x&next={path.encode().hex()}", headers={"Accept": "text/html"})
    assert refused.status_code == 403 and "evil.example" not in refused.text


def test_localhost_leads_to_the_name_that_has_the_cookie(served: Served) -> None:
    answer = get(served, "/session/x?page=2", headers={"Host": f"localhost:{served.port}"})
    assert (answer.status_code, answer.headers["location"]) == (303, f"{served.base}/session/x?page=2")


def test_a_link_on_another_site_needs_one_more_click(served: Served) -> None:
    headers = {"Accept": "text/html", "Sec-Fetch-Site": "cross-site"}
    page = get(served, "/session/x?q=%3Cscript%3E", headers=headers)
    assert page.status_code == 403 and 'href="/session/x?q=%3Cscript%3E"' in page.text
    assert 'href="/"' in get(served, f"{served.base}//evil.example/x", headers=headers).text
