"""Fetch web pages from the public network only: resolve, check, then connect to the checked address.

A page must not make the model reach hosts that only this machine can see; hosts that the user names are excepted.
Proxies of the environment are not used, since they would resolve names again.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from clew.chat.tools.tool import ToolFailed
from clew.system.extras import install_hint
from clew.version import __version__

if TYPE_CHECKING:
    import httpx

MAX_PAGE_BYTES = 10 << 20  # bytes of a page
_READ_TIMEOUT = 20.0  # seconds without data
_TOTAL_TIMEOUT = 60.0  # seconds for all requests together
_MAX_REDIRECTS = 10
_HOST = re.compile(rb"[\w.:-]+")
_REDIRECTS = (301, 302, 303, 307, 308)


async def resolve_host(host: str, port: int) -> Sequence[str]:
    """Return the addresses of a host from the system resolver."""
    results = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(result[4][0]) for result in results]


class Network(Struct, frozen=True):
    """Which parts of the network can be reached."""

    private: frozenset[str] = frozenset()  # hosts that may be in a private network; http is allowed for them
    certificates: Path | None = None  # additional certificate authorities
    look_up: Callable[[str, int], Awaitable[Sequence[str]]] = resolve_host


class FetchedPage(Struct, frozen=True):
    """The response of an address; `moved_to` if it redirects to another host."""

    url: str
    code: int
    reason: str
    kind: str
    text: str
    size: int
    moved_to: str = ""


async def fetch(address: str, network: Network) -> FetchedPage:
    """Fetch a page and follow redirects on the same host. Raises ToolFailed."""
    try:
        import httpx
    except ModuleNotFoundError:
        raise ToolFailed(f"WebFetch needs httpx. {install_hint('chat')}", is_misuse=False) from None
    try:
        async with asyncio.timeout(_TOTAL_TIMEOUT):
            return await _fetch_following(address, network)
    except httpx.InvalidURL as error:
        raise ToolFailed(f"{address!r} is not a page address: {error}.") from None
    except TimeoutError:
        raise ToolFailed(f"{address} did not answer within {_TOTAL_TIMEOUT:g} seconds.", is_misuse=False) from None
    except (httpx.HTTPError, ssl.SSLError, OSError) as error:
        reason = str(error) or type(error).__name__
        raise ToolFailed(f"{address} could not be fetched: {reason}", is_misuse=False) from error


async def _fetch_following(address: str, network: Network) -> FetchedPage:
    import httpx

    url = _check_url(httpx.URL(address), network)
    trusted: ssl.SSLContext | None = None
    for _ in range(_MAX_REDIRECTS):
        if url.scheme == "https" and trusted is None:
            trusted = await asyncio.to_thread(_create_tls_context, network)
        page, target = await _request_once(url, await _resolve_checked(url, network), trusted)
        if target is None:
            return page
        following = _check_url(url.join(target), network)
        if (_bare(following.host), following.port) != (_bare(url.host), url.port):
            return FetchedPage(str(url), page.code, page.reason, "", "", page.size, str(following))
        url = following
    raise ToolFailed(f"{address} leads on and on: it was followed {_MAX_REDIRECTS} times.", is_misuse=False)


def _bare(host: str) -> str:
    return host.removeprefix("www.")


def _check_url(url: httpx.URL, network: Network) -> httpx.URL:
    """Return the URL to request: with https, unless the host is allowed as private. Raises ToolFailed."""
    if url.scheme not in ("http", "https") or not _HOST.fullmatch(url.raw_host):
        raise ToolFailed(f"{str(url)!r} is not a page address: it must begin with https:// and name a host.")
    if url.userinfo:
        raise ToolFailed("The address holds a name or a password, which are not sent.")
    if url.scheme == "http" and url.host not in network.private:
        return url.copy_with(scheme="https", port=None if url.port == 80 else url.port)
    return url


async def _resolve_checked(url: httpx.URL, network: Network) -> str:
    """Return the IP address to connect to. All addresses of the name must be allowed. Raises ToolFailed."""
    port = url.port or (443 if url.scheme == "https" else 80)
    try:
        addresses = await network.look_up(url.host, port)
    except (OSError, UnicodeError) as error:
        raise ToolFailed(f"The host {url.host} is not known: {error}", is_misuse=False) from None
    if not addresses:
        raise ToolFailed(f"The host {url.host} is not known.", is_misuse=False)
    if url.host not in network.private and not all(is_public(address) for address in addresses):
        raise ToolFailed(
            f"{url.host} lies in a private network, which is not reached from here. Ask the user to allow the host, "
            "or use Bash with curl."
        )
    return addresses[0]


def is_public(text: str) -> bool:
    """Return True if an address is in the public network; an IPv4 address embedded in IPv6 must be public as well.

    `::ffff:10.0.0.1`, `2002:7f00:1::` (6to4) and `64:ff9b::a00:1` (NAT64) contain private addresses.
    """
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address):
        inner = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
        if address in _NAT64:
            inner.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
        if not all(_is_global(wrapped) for wrapped in inner if wrapped is not None):
            return False
        if address.ipv4_mapped is not None:
            return True
    return _is_global(address)


_NAT64 = ipaddress.ip_network("64:ff9b::/96")


def _is_global(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    return address.is_global and not address.is_multicast


def _create_tls_context(network: Network) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if network.certificates:
        context.load_verify_locations(network.certificates)
    return context


async def _request_once(url: httpx.URL, address: str, trusted: ssl.SSLContext | None) -> tuple[FetchedPage, str | None]:
    """Send one request to this address. Return the page, and the target of a redirect."""
    import httpx

    headers = {
        "host": url.netloc.decode("ascii"),
        "user-agent": f"clew/{__version__}",
        "accept": "text/markdown, text/html, text/plain, application/json, */*;q=0.5",
    }
    async with (
        httpx.AsyncClient(verify=trusted or False, trust_env=False, timeout=_READ_TIMEOUT) as client,
        client.stream(
            "GET", url.copy_with(host=address), headers=headers, extensions={"sni_hostname": url.host}
        ) as response,
    ):
        target = response.headers.get("location") if response.status_code in _REDIRECTS else None
        body = b"" if target else await _read_body(response, str(url))
        kind = response.headers.get("content-type", "text/html")
        text = _decode_body(body, response.charset_encoding)
    return FetchedPage(str(url), response.status_code, response.reason_phrase, kind, text, len(body)), target


async def _read_body(response: httpx.Response, url: str) -> bytes:
    body = bytearray()
    async for part in response.aiter_bytes():
        body += part
        if len(body) > MAX_PAGE_BYTES:
            raise ToolFailed(f"{url} is larger than {MAX_PAGE_BYTES >> 20} MB.", is_misuse=False)
    return bytes(body)


def _decode_body(body: bytes, charset: str | None) -> str:
    try:
        return body.decode(charset or "utf-8", "replace")
    except LookupError:
        return body.decode("utf-8", "replace")
