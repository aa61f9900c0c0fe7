"""WebFetch: a real server on loopback, and a made-up book of names."""

from __future__ import annotations

import asyncio
import gzip
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from clew.api.mock.http_server import receive, response_head
from clew.chat.tools.builtin.web_fetch import Fetcher, create_web_fetch
from clew.chat.tools.html_to_markdown import convert_html
from clew.chat.tools.safe_fetch import Network, is_public
from clew.chat.tools.tool import CallResult, ToolContext
from clew.chat.tools.tool_spec import SpecTool
from clew.errors import ApiError
from clew.facts.tool_catalog import result_kind
from tests.chat.tools.tool_fixture import call, good, misuse, stage, trouble

PAGE = "<html><head><title>Tides</title></head><body><p>High at <b>noon</b>.</p></body></html>"


class Site:
    """What the server answers, by path, and what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []  # host and path
        self.port = 0

    def answer(self, path: str) -> tuple[int, dict[str, str], bytes]:
        html = {"content-type": "text/html; charset=utf-8"}
        pages: dict[str, tuple[int, dict[str, str], bytes]] = {
            "/": (200, html, PAGE.encode()),
            "/plain": (200, {"content-type": "text/plain; charset=latin-1"}, b"caf\xe9"),
            "/odd": (200, {"content-type": "text/plain; charset=klingon"}, b"odd"),
            "/json": (200, {"content-type": "application/vnd.x+json"}, b'{"a": 1}'),
            "/gone": (404, html, b"gone"),
            "/picture": (200, {"content-type": "image/png"}, b"\x89PNG"),
            "/empty": (200, html, b""),
            "/long": (200, {"content-type": "text/plain"}, b"x" * 100_001),
            "/huge": (200, {"content-type": "text/plain"}, b"x" * (11 << 20)),
            "/bomb": (
                200,
                {"content-type": "text/plain", "content-encoding": "gzip"},
                gzip.compress(b"0" * (11 << 20)),
            ),
            "/here": (301, {"location": "/"}, b""),
            "/loop": (302, {"location": "/loop"}, b""),
            "/away": (302, {"location": "https://other.example/x"}, b""),
            "/inside": (307, {"location": "https://inside.test/secret"}, b""),
            "/port": (302, {"location": f"http://site.test:{self.port + 1}/"}, b""),
            "/file": (302, {"location": "file:///etc/passwd"}, b""),
        }
        return pages.get(path, (500, {}, b""))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if asked := await receive(reader, writer, 1 << 16):
            self.asked.append((asked.headers["host"], asked.path))
            if asked.path != "/slow":
                code, headers, body = self.answer(asked.path)
                sized = {**headers, "content-length": str(len(body)), "connection": "close"}
                writer.write(response_head(code, sized) + body)
            else:
                await reader.read()
        writer.close()


@asynccontextmanager
async def served(site: Site, secure: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    server = await asyncio.start_server(site.serve, "127.0.0.1", 0, ssl=secure)
    async with server:
        site.port = server.sockets[0].getsockname()[1]
        yield f"{'https' if secure else 'http'}://site.test:{site.port}"


async def names(host: str, port: int) -> Sequence[str]:
    """A book of names in which all hosts are this machine, but for one."""
    if host == "unknown.test":
        raise OSError("no such name")
    return ["93.184.215.14", "10.0.0.1"] if host == "half.test" else ["127.0.0.1"]


HERE = Network(private=frozenset({"site.test"}), look_up=names)


@pytest.fixture
def scene(tmp_path: Path) -> ToolContext:
    return stage(tmp_path)


def fetched(scene: ToolContext, path: str, tool: SpecTool | None = None, site: Site | None = None) -> CallResult:
    async def story() -> CallResult:
        async with served(site or Site()) as base:
            url = base + path if path.startswith("/") else path
            return await call(
                tool or create_web_fetch(HERE), replace(scene, stopped=asyncio.Event()), url=url, prompt="When?"
            )

    return asyncio.run(story())


def test_a_page_is_told_as_text(scene: ToolContext) -> None:
    site = Site()
    result = fetched(scene, "/", site=site)
    assert result.content == "# Tides\n\nHigh at **noon**."
    assert site.asked == [(f"site.test:{site.port}", "/")]
    duration = result.detail.pop("durationMs")
    assert isinstance(duration, int)
    assert result.detail == {
        "bytes": len(PAGE),
        "code": 200,
        "codeText": "OK",
        "result": result.content,
        "url": f"http://site.test:{site.port}/",
    }
    assert result_kind(result.detail) == "WebFetch"


def test_a_model_is_asked_about_the_page_if_there_is_one(scene: ToolContext) -> None:
    async def extract(text: str, prompt: str) -> str:
        return f"{prompt} {len(text)}"

    result = fetched(replace(scene, extract=extract), "/")
    assert (result.content, result.detail["result"]) == ("When? 26", "When? 26")

    async def refuse(text: str, prompt: str) -> str:
        raise ApiError("The API is overloaded.", "overloaded")

    text = trouble(fetched(replace(scene, extract=refuse), "/"))
    assert text == "The page was fetched, but could not be read: The API is overloaded."


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/plain", "café"),
        ("/odd", "odd"),
        ("/json", '{"a": 1}'),
        ("/empty", "The page is empty."),
        ("/here", "# Tides"),
    ],
)
def test_kinds_of_pages(scene: ToolContext, path: str, text: str) -> None:
    assert good(fetched(scene, path)).startswith(text)


def test_a_long_page_is_cut(scene: ToolContext) -> None:
    text = good(fetched(scene, "/long"))
    assert text.startswith("x" * 100_000 + "\n\n[The page continues; these are the first 100000 of 100001")


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/gone", "Request failed with status code 404"),
        ("/fault", "Request failed with status code 500"),
        ("/huge", "is larger than 10 MB"),
        ("/bomb", "is larger than 10 MB"),
        ("/loop", "leads on and on"),
        ("http://unknown.test/", "The host unknown.test is not known"),
    ],
)
def test_pages_that_cannot_be_had(scene: ToolContext, path: str, told: str) -> None:
    assert told in trouble(fetched(scene, path))


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("/picture", "is image/png, not a text"),
        ("ftp://site.test/", "not a page address"),
        ("file:///etc/passwd", "not a page address"),
        ("site.test", "not a page address"),
        ("http://[broken", "not a page address"),
        ("https://ada:secret@site.test/", "a name or a password"),
        ("/file", "not a page address"),
        ("https://inside.test/", "private network"),
        ("https://127.0.0.1/", "private network"),
        ("https://half.test/", "private network"),
    ],
)
def test_addresses_that_are_not_asked(scene: ToolContext, url: str, told: str) -> None:
    assert told in misuse(fetched(scene, url))


def test_another_host_is_told_and_not_followed(scene: ToolContext) -> None:
    site = Site()
    result = fetched(scene, "/away", site=site)
    assert "has moved to another host (302 Found): https://other.example/x" in good(result)
    assert result.detail["code"] == 302
    assert [path for _, path in site.asked] == ["/away"]
    assert "moved to another host" in good(fetched(scene, "/inside"))
    assert "moved to another host" in good(fetched(scene, "/port"))


def test_every_hop_is_looked_up_once_and_connected_to_as_it_was_checked(scene: ToolContext) -> None:
    looked: list[str] = []

    async def changing(host: str, port: int) -> Sequence[str]:
        looked.append(host)
        return ["127.0.0.1"] if len(looked) == 1 else ["192.0.2.1"]

    site = Site()
    tool = create_web_fetch(replace(HERE, look_up=changing))
    assert good(fetched(scene, "/", tool, site))
    assert looked == ["site.test"]
    looked.clear()
    public = create_web_fetch(Network(look_up=changing))
    assert "private network" in misuse(fetched(scene, "https://site.test/", public))


def test_pages_are_remembered_for_a_quarter_of_an_hour(scene: ToolContext) -> None:
    now = 0.0
    site = Site()
    fetcher = Fetcher(HERE, clock=lambda: now, most=2)
    tool = replace(create_web_fetch(), run=fetcher.call)

    async def story() -> None:
        nonlocal now
        async with served(site) as base:
            for moment in (0.0, 899.0, 901.0):
                now = moment
                assert good(await call(tool, scene, url=f"{base}/", prompt="When?"))
            for path in ("/plain", "/json", "/plain", "/", "/gone", "/gone"):
                await call(tool, scene, url=base + path, prompt="When?")

    asyncio.run(story())
    assert [path for _, path in site.asked] == ["/", "/", "/plain", "/json", "/", "/gone", "/gone"]


def test_a_fetch_that_is_broken_off_ends(scene: ToolContext) -> None:
    async def story() -> CallResult:
        site = Site()
        here = replace(scene, stopped=asyncio.Event())
        async with served(site) as base:
            running = asyncio.ensure_future(call(create_web_fetch(HERE), here, url=f"{base}/slow", prompt="When?"))
            while not site.asked:
                await asyncio.sleep(0)
            here.stopped.set()
            return await running

    assert trouble(asyncio.run(story())) == "The fetch was broken off."


@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl")
def test_certificates_are_held_against_the_name_that_was_asked_for(scene: ToolContext, tmp_path: Path) -> None:
    def certificate(name: str) -> ssl.SSLContext:
        key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
        command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        command += ["-keyout", str(key), "-out", str(cert), "-days", "2", "-subj", f"/CN={name}"]
        subprocess.run([*command, "-addext", f"subjectAltName=DNS:{name}"], check=True, capture_output=True)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(cert, key)
        return context

    async def story(name: str) -> CallResult:
        site = Site()
        secure = certificate(name)
        network = replace(HERE, certificates=tmp_path / "cert.pem")
        async with served(site, secure) as base:
            here = replace(scene, stopped=asyncio.Event())
            return await call(create_web_fetch(network), here, url=f"{base}/", prompt="When?")

    assert good(asyncio.run(story("site.test"))) == "# Tides\n\nHigh at **noon**."
    assert "could not be fetched" in trouble(asyncio.run(story("other.test")))


def test_plain_addresses_become_secure_ones(scene: ToolContext) -> None:
    async def nowhere(host: str, port: int) -> Sequence[str]:
        raise OSError(f"port {port}")

    assert "port 443" in trouble(fetched(scene, "http://public.test/", create_web_fetch(Network(look_up=nowhere))))
    assert "port 8080" in trouble(
        fetched(scene, "http://public.test:8080/", create_web_fetch(Network(look_up=nowhere)))
    )


@pytest.mark.parametrize(
    "address",
    [
        *(
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "224.0.0.1",
        ),
        *("255.255.255.255", "::1", "::", "fe80::1%eth0", "fc00::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1"),
        *("2002:7f00:1::", "64:ff9b::7f00:1", "192.0.2.1", "2001:db8::1", "no address"),
    ],
)
def test_private_addresses(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["93.184.215.14", "2606:4700::1111", "::ffff:93.184.215.14", "64:ff9b::5db8:d70e"])
def test_public_addresses(address: str) -> None:
    assert is_public(address)


HTML = """<!doctype html><html><head><title>The title</title><style>p{}</style><script>var x = "<p>no</p>"</script></head>
<body><nav><a href="/home">Home</a> | <a href="javascript:x()">Script</a></nav>
<h1>Heading <em>one</em></h1><p>First   paragraph<br>with a <a href="b.html">link <b>bold</b></a> &amp; more.</p>
<ul><li>one</li><li>two<ol><li>inner</li><li>second</li></ol></li></ul>
<blockquote><p>quoted</p></blockquote><pre><code>def f():
    return  1
</code></pre><p>Use <code>f()</code>.</p><hr>
<table><tr><th>Name</th><th>Age</th></tr><tr><td>Ada</td><td>a|b</td></tr></table>
<img src="/p.png" alt="A picture"><svg><text>no</text></svg><p></p></body></html>"""


def test_html_as_markdown() -> None:
    assert (
        convert_html(HTML, "https://site.test/dir/")
        == """\
# The title

[Home](https://site.test/home) | Script

# Heading *one*

First paragraph
with a [link **bold**](https://site.test/dir/b.html) & more.

- one
- two
  1. inner
  2. second

> quoted

```
def f():
    return  1
```

Use `f()`.

---

| Name | Age |
| --- | --- |
| Ada | a\\|b |

![A picture](https://site.test/p.png)"""
    )


def test_html_without_its_end_tags() -> None:
    assert convert_html("<p>one<p>two<ul><li>a<li>b</ul><table><tr><td>1<td>2<tr><td>3</table>end") == (
        "one\n\ntwo\n\n- a\n- b\n\n| 1 | 2 |\n| --- | --- |\n| 3 |\n\nend"
    )


TAGS = st.sampled_from(
    ["p", "ul", "ol", "li", "a", "pre", "code", "table", "tr", "td", "script", "blockquote", "b", "br"]
)
SOUP = st.lists(
    st.one_of(TAGS.map("<{}>".format), TAGS.map("</{}>".format), st.text("ab <&\n", max_size=4)), max_size=20
)


@given(SOUP.map("".join))
def test_no_soup_is_too_thick(html: str) -> None:
    assert isinstance(convert_html(html), str)


@pytest.mark.parametrize("part", ["<a ", "<a b='", "<!-- >", "<http://", "<![CDATA["])
def test_a_page_of_tags_that_do_not_end(part: str) -> None:
    """To look for the end of each of them in all that follows would take hours."""
    text = convert_html("<p>The <b>beginning</b>.</p>" + part * 200_000 + "<p>The end.</p>")
    assert text.startswith("The **beginning**.")
    assert "The end." in text
