"""Pages of the web, fetched with care: every address is looked up, checked and then connected to as it was checked.

Nothing but the public network is reached, so that no page can make the model look at what only this machine can see;
hosts that the person names are excepted. Proxies of the environment are not used, since they would look up names again.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from clew.chat.tools.tool import ToolFailed
from clew.version import __version__

if TYPE_CHECKING:
    import httpx

LARGEST = 10 << 20  # bytes of a page
_PATIENCE = 20.0  # seconds without a word
_WHOLE = 60.0  # seconds for all of it
_HOPS = 10
_HOST = re.compile(rb"[\w.:-]+")
_REDIRECTS = (301, 302, 303, 307, 308)


async def look_up(host: str, port: int) -> Sequence[str]:
    """The addresses of a host, as the system knows them."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(place[4][0]) for place in found]


@dataclass(frozen=True, slots=True)
class Network:
    """What of the network may be reached."""

    private: frozenset[str] = frozenset()  # hosts that may lie in a private network; these are also asked without TLS
    certificates: Path | None = None  # of authorities that are trusted beside the usual ones
    look_up: Callable[[str, int], Awaitable[Sequence[str]]] = look_up


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """What an address answered; `moved_to` if that is another host's affair."""

    url: str
    code: int
    reason: str
    kind: str
    text: str
    size: int
    moved_to: str = ""


async def fetch(given: str, network: Network) -> FetchedPage:
    """Fetch a page, following it on the same host. Raises `Failed`."""
    try:
        import httpx
    except ModuleNotFoundError:
        raise ToolFailed("WebFetch needs an extra: pip install 'clew[chat]'.", is_misuse=False) from None
    try:
        async with asyncio.timeout(_WHOLE):
            return await _followed(given, network)
    except httpx.InvalidURL as error:
        raise ToolFailed(f"{given!r} is no address of a page: {error}.") from None
    except TimeoutError:
        raise ToolFailed(f"{given} did not answer within {_WHOLE:g} seconds.", is_misuse=False) from None
    except (httpx.HTTPError, ssl.SSLError, OSError) as error:
        told = str(error) or type(error).__name__
        raise ToolFailed(f"{given} could not be fetched: {told}", is_misuse=False) from error


async def _followed(given: str, network: Network) -> FetchedPage:
    import httpx

    url = _checked(httpx.URL(given), network)
    trusted: ssl.SSLContext | None = None
    for _ in range(_HOPS):
        if url.scheme == "https" and trusted is None:
            trusted = await asyncio.to_thread(_trusted, network)
        page, target = await _asked(url, await _address(url, network), trusted)
        if target is None:
            return page
        following = _checked(url.join(target), network)
        if (_bare(following.host), following.port) != (_bare(url.host), url.port):
            return FetchedPage(str(url), page.code, page.reason, "", "", page.size, str(following))
        url = following
    raise ToolFailed(f"{given} leads on and on: it was followed {_HOPS} times.", is_misuse=False)


def _bare(host: str) -> str:
    return host.removeprefix("www.")


def _checked(url: httpx.URL, network: Network) -> httpx.URL:
    """The address that is asked: with TLS, unless the host is one of the person's own."""
    if url.scheme not in ("http", "https") or not _HOST.fullmatch(url.raw_host):
        raise ToolFailed(f"{str(url)!r} is no address of a page: it has to begin with https:// and name a host.")
    if url.userinfo:
        raise ToolFailed("The address holds a name or a password, which are not sent.")
    if url.scheme == "http" and url.host not in network.private:
        return url.copy_with(scheme="https", port=None if url.port == 80 else url.port)
    return url


async def _address(url: httpx.URL, network: Network) -> str:
    """The address to connect to. All that the name stands for have to be allowed."""
    port = url.port or (443 if url.scheme == "https" else 80)
    try:
        found = await network.look_up(url.host, port)
    except (OSError, UnicodeError) as error:
        raise ToolFailed(f"The host {url.host} is not known: {error}", is_misuse=False) from None
    if not found:
        raise ToolFailed(f"The host {url.host} is not known.", is_misuse=False)
    if url.host not in network.private and not all(is_public(place) for place in found):
        raise ToolFailed(
            f"{url.host} lies in a private network, which is not reached from here. Ask the person to allow the host, "
            "or use Bash with curl."
        )
    return found[0]


def is_public(text: str) -> bool:
    """Whether an address belongs to the public network, also if it is wrapped in another."""
    try:
        place = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    if isinstance(place, ipaddress.IPv6Address):
        inner = [place.ipv4_mapped, place.sixtofour, *(place.teredo or ())]
        if place in _NAT64:
            inner.append(ipaddress.IPv4Address(int(place) & 0xFFFFFFFF))
        if not all(_is_global(wrapped) for wrapped in inner if wrapped is not None):
            return False
        if place.ipv4_mapped is not None:
            return True
    return _is_global(place)


_NAT64 = ipaddress.ip_network("64:ff9b::/96")


def _is_global(place: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    return place.is_global and not place.is_multicast


def _trusted(network: Network) -> ssl.SSLContext:
    trusted = ssl.create_default_context()
    if network.certificates:
        trusted.load_verify_locations(network.certificates)
    return trusted


async def _asked(url: httpx.URL, address: str, trusted: ssl.SSLContext | None) -> tuple[FetchedPage, str | None]:
    """Ask once, at this address. The answer, and where it leads if it is a redirect."""
    import httpx

    headers = {
        "host": url.netloc.decode("ascii"),
        "user-agent": f"clew/{__version__}",
        "accept": "text/markdown, text/html, text/plain, application/json, */*;q=0.5",
    }
    async with (
        httpx.AsyncClient(verify=trusted or False, trust_env=False, timeout=_PATIENCE) as client,
        client.stream(
            "GET", url.copy_with(host=address), headers=headers, extensions={"sni_hostname": url.host}
        ) as answer,
    ):
        target = answer.headers.get("location") if answer.status_code in _REDIRECTS else None
        body = b"" if target else await _body(answer, str(url))
        kind = answer.headers.get("content-type", "text/html")
        text = _decoded(body, answer.charset_encoding)
    return FetchedPage(str(url), answer.status_code, answer.reason_phrase, kind, text, len(body)), target


async def _body(answer: httpx.Response, url: str) -> bytes:
    body = bytearray()
    async for part in answer.aiter_bytes():
        body += part
        if len(body) > LARGEST:
            raise ToolFailed(f"{url} is larger than {LARGEST >> 20} MB.", is_misuse=False)
    return bytes(body)


def _decoded(body: bytes, charset: str | None) -> str:
    try:
        return body.decode(charset or "utf-8", "replace")
    except LookupError:
        return body.decode("utf-8", "replace")
