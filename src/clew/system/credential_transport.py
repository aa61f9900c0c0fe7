"""Decide whether credentials can be sent to an address without others reading them in transit."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

from clew.system import environment

HINT = f"Use https://, or name the host in {environment.ALLOW_HTTP} to send it in the clear."


def is_loopback(host: str) -> bool:
    """Return True if a host name or address is this machine."""
    name = host.lower().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ip_address(name.partition("%")[0]).is_loopback
    except ValueError:
        return False


def is_protected(address: str) -> bool:
    """Return True if traffic to an address is encrypted, stays on this machine, or is allowed unencrypted by the
    user.
    """
    parts = urlsplit(address)
    host = (parts.hostname or "").lower()
    return (
        parts.scheme.lower() in ("https", "otlp+https") or is_loopback(host) or host in environment.unencrypted_hosts()
    )
