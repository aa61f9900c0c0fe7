"""Who is let in, and what is answered to the others."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import httpx
import pytest

from benchmarks.served import Served, serving
from clew.demo.demo_tree import DemoSummary


@pytest.fixture(scope="module")
def stranger(served: Served) -> Iterator[httpx.Client]:
    """A client that nobody let in."""
    with httpx.Client(base_url=served.base, trust_env=False) as found:
        yield found


def asked(served: Served, lines: str) -> tuple[int, str]:
    """A request as it stands, and the status and text of the answer."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=30) as link:
        link.sendall(lines.replace("\n", "\r\n").encode())
        said = b""
        while part := link.recv(65536):
            said += part
    head, _, body = said.partition(b"\r\n\r\n")
    return int(head.split()[1]), body.decode()


def test_the_token_works_once_and_is_followed_by_another(served: Served) -> None:
    first = served.entrance
    with served.client() as one, served.client() as two:
        assert one.get("/").status_code == 200
        assert two.get("/").status_code == 200
    again = httpx.get(first, trust_env=False)
    assert again.status_code == 403
    assert "set-cookie" not in again.headers


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(demo: DemoSummary, served: Served) -> None:
    answer = httpx.get(served.entrance, trust_env=False)
    served.entrance = served.next_entrance()
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"clew-{served.port}=")
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(cookie.split("; "))
    assert answer.headers["location"] == "/"


@pytest.mark.parametrize("token", ["", "wrong", "%00", "%ff", "é"])
def test_a_wrong_token_is_refused(stranger: httpx.Client, token: str) -> None:
    answer = stranger.get(f"/enter?token={token}")
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("path", ["/", "/sessions/rows", "/compare", "/session/x", "/asset/x/app.js", "/nowhere"])
@pytest.mark.parametrize("cookie", ["", "clew-{port}=", "clew-{port}=wrong", "clew-{port}=\xff", "other={token}"])
def test_without_the_cookie_there_is_nothing(served: Served, stranger: httpx.Client, path: str, cookie: str) -> None:
    headers = {b"Cookie": cookie.format(port=served.port, token=served.token).encode("latin-1")} if cookie else {}
    answer = stranger.get(path, headers=headers)
    assert answer.status_code == 401
    assert "clew serve" in answer.text


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.evil.example:{port}", "[::1]"],
)
def test_another_name_for_this_machine_is_refused(served: Served, client: httpx.Client, host: str) -> None:
    """A page whose name was made to point here asks under its own name."""
    answer = client.get("/", headers={"Host": host.format(port=served.port)})
    assert answer.status_code == 403
    entrance = client.get(f"/enter?token={served.token}", headers={"Host": host.format(port=served.port)})
    assert entrance.status_code == 403 and "set-cookie" not in entrance.headers


def test_a_request_with_no_name_or_two_is_refused(served: Served) -> None:
    assert asked(served, "GET / HTTP/1.0\n\n")[0] in (400, 403)
    two = f"GET / HTTP/1.1\nHost: 127.0.0.1:{served.port}\nHost: evil.example\nConnection: close\n\n"
    assert asked(served, two)[0] in (400, 403)


def test_localhost_is_a_name_too(served: Served, client: httpx.Client) -> None:
    assert client.get("/", headers={"Host": f"localhost:{served.port}"}).status_code == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1:{port}"])
def test_pages_from_elsewhere_are_refused(served: Served, client: httpx.Client, origin: str) -> None:
    headers = {"Origin": origin.format(port=served.port)}
    assert client.get("/sessions/rows", headers=headers).status_code == 403
    own = {"Origin": f"http://127.0.0.1:{served.port}"}
    assert client.get("/sessions/rows", headers=own).status_code == 200


@pytest.mark.parametrize(
    ("site", "status"), [("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)]
)
def test_the_browser_says_which_site_asks(client: httpx.Client, site: str, status: int) -> None:
    assert client.get("/sessions/rows", headers={"Sec-Fetch-Site": site}).status_code == status


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND"])
def test_nothing_can_be_changed(client: httpx.Client, method: str) -> None:
    assert client.request(method, "/").status_code == 405


def test_head_says_what_get_would(client: httpx.Client) -> None:
    answer = client.head("/")
    assert answer.status_code == 200 and answer.content == b""


@pytest.mark.parametrize("path", ["/", "/sessions/rows", "/nowhere", "/session/none", "/enter?token=x"])
def test_every_answer_forbids_what_it_can(client: httpx.Client, path: str) -> None:
    headers = client.get(path).headers
    rules = dict(rule.strip().split(" ", 1) for rule in headers["content-security-policy"].split(";"))
    assert rules["default-src"] == "'none'" and rules["base-uri"] == "'none'" and rules["frame-ancestors"] == "'none'"
    assert "unsafe" not in headers["content-security-policy"]
    assert rules["script-src"].startswith("'nonce-") and rules["style-src"].startswith("'nonce-")
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cache-control"] == "no-store"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert "access-control-allow-origin" not in headers and "server" not in headers


def test_a_nonce_is_used_once(client: httpx.Client) -> None:
    pages = [client.get("/") for _ in range(2)]
    nonces = [page.headers["content-security-policy"].partition("'nonce-")[2].partition("'")[0] for page in pages]
    assert nonces[0] != nonces[1]
    for page, nonce in zip(pages, nonces, strict=True):
        assert page.text.count(f'nonce="{nonce}"') == page.text.count("<script") + page.text.count('rel="stylesheet"')


def test_files_of_pages_are_kept_by_a_name_that_changes_with_them(client: httpx.Client) -> None:
    page = client.get("/").text
    address = page.partition('<script src="')[2].partition('"')[0]
    answer = client.get(address)
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    assert "immutable" in answer.headers["cache-control"] and answer.headers["cache-control"].startswith("private")
    mark, name = address.split("/")[2:]
    assert client.get(f"/asset/{'0' * len(mark)}/{name}").status_code == 404


def test_it_listens_on_this_machine_alone(served: Served) -> None:
    with open("/proc/net/tcp", encoding="ascii") as file:
        listening = [line.split()[1] for line in file if line.split()[3] == "0A"]
    assert [place for place in listening if place.endswith(f":{served.port:04X}")] == [f"0100007F:{served.port:04X}"]


def test_a_port_can_be_chosen_and_one_that_is_taken_is_told(
    demo: DemoSummary, served: Served, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    cache = tmp_path_factory.mktemp("other")
    with serving(demo.root, cache, "--port", str(port)) as other:
        assert other.port == port
    with (
        pytest.raises(AssertionError, match=r"(?i)address already in use"),
        serving(demo.root, cache, "--port", str(served.port)),
    ):
        pass
