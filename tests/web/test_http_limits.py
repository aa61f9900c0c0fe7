"""How long and how many connections may be kept open, and what uses up the token."""

from __future__ import annotations

import select
import socket
import time

import httpx
import pytest

from benchmarks.served import Served
from clew.demo.demo_tree import DemoSummary
from clew.web import http_limits, live_updates

LATEST = http_limits.REQUEST_TIMEOUT + 20  # seconds on a busy machine


def _open(served: Served, text: str = "") -> socket.socket:
    link = socket.create_connection(("127.0.0.1", served.port), timeout=60)
    if text:
        link.sendall(text.format(port=served.port).replace("\n", "\r\n").encode())
    return link


HALVES = {
    "nothing": "",
    "half a line": "GET / HT",
    "half a head": "GET / HTTP/1.1\nHost: 127.0.0.1:{port}\n",
    "a body that does not come": "POST / HTTP/1.1\nHost: 127.0.0.1:{port}\nContent-Length: 100\n\nabc",
    "a body of a GET that does not come": "GET / HTTP/1.1\nHost: 127.0.0.1:{port}\nContent-Length: 100\n\nabc",
    "chunks that do not come": "GET / HTTP/1.1\nHost: 127.0.0.1:{port}\nTransfer-Encoding: chunked\n\n5\r\nab",
    "a connection that is kept": "GET /enter?token=x HTTP/1.1\nHost: 127.0.0.1:{port}\n\n",
    "half a second request": "HEAD /enter HTTP/1.1\nHost: 127.0.0.1:{port}\n\nGET / HTTP/1.1\n",
}


def test_half_open_and_slow_connections_are_closed(served: Served) -> None:
    links = {name: _open(served, text) for name, text in HALVES.items()}
    links["a trickle"] = _open(served, "GET / HTTP/1.1\nHost: 127.0.0.1:{port}\nX: ")
    until = time.monotonic() + LATEST
    open_ = dict(links)
    while open_ and time.monotonic() < until:
        if "a trickle" in open_:
            try:
                open_["a trickle"].send(b"x")
            except OSError:
                del open_["a trickle"]
        ready, _, _ = select.select(list(open_.values()), [], [], 0.5)
        for name, link in list(open_.items()):
            if link in ready:
                try:
                    if link.recv(65536):
                        continue
                except OSError:
                    pass
                del open_[name]
    for link in links.values():
        link.close()
    assert not open_


def test_a_flood_of_connections_does_not_shut_others_out(served: Served) -> None:
    links = [_open(served) for _ in range(http_limits.MAX_CONNECTIONS + 100)]
    with served.client() as client:
        assert client.get("/").status_code == 200
    for link in links:
        link.close()


def test_only_so_many_pages_follow_at_a_time(served: Served, demo: DemoSummary) -> None:
    name = next(iter(demo.sessions.values()))
    with served.client() as client:
        cookie = "; ".join(f"{key}={value}" for key, value in client.cookies.items())
        head = f"GET /events?session={name} HTTP/1.1\nHost: 127.0.0.1:{{port}}\nCookie: {cookie}\n\n"
        links = [_open(served, head) for _ in range(live_updates.MAX_STREAMS)]
        for link in links:
            said = b""
            while b"event: session" not in said:
                part = link.recv(65536)
                assert part, said
                said += part
        with client.stream("GET", f"/events?session={name}") as answer:
            assert answer.status_code == 503
        for link in links:
            link.close()
        assert client.get("/").status_code == 200


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("HEAD", {}),
        ("OPTIONS", {}),
        ("POST", {}),
        ("GET", {"Purpose": "prefetch"}),
        ("GET", {"Sec-Purpose": "prefetch;prerender"}),
        ("GET", {"X-Moz": "prefetch"}),
        ("GET", {"Sec-Fetch-Site": "cross-site"}),
        ("GET", {"X-Content": "abc"}),
    ],
)
def test_the_token_is_used_up_by_nothing_but_opening_the_page(
    served: Served, method: str, headers: dict[str, str]
) -> None:
    content = headers.get("X-Content", "").encode() or None
    with httpx.Client(trust_env=False) as stranger:
        answer = stranger.request(method, served.entrance, headers=headers, content=content)
    assert answer.status_code in (403, 405, 413) and "set-cookie" not in answer.headers
    with served.client() as client:
        assert client.get("/").status_code == 200


def test_whoever_is_in_may_open_a_used_address_again(served: Served) -> None:
    used = served.entrance
    with served.client() as client:
        answer = client.get(used.removeprefix(served.base))
        assert answer.status_code in (200, 303)
        assert client.get("/").status_code == 200
