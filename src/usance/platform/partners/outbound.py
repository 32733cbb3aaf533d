"""Calls that go out: only to addresses that were looked at, never somewhere else by a detour.

The name of a target is resolved once; if any of its addresses is private, the target is refused,
and the address that was looked at is the one that is connected to.

>>> is_public("93.184.216.34"), is_public("127.0.0.1"), is_public("169.254.169.254")
(True, False, False)
>>> is_public("::ffff:10.0.0.1"), is_public("fd00::1"), is_public("0.0.0.0")
(False, False, False)
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from usance.platform.errors import InvalidField, OutboundRefused

MAX_URL = 2_000


@dataclass(frozen=True)
class Target:
    """An address that may be called: where to connect, and by which name."""

    url: str
    """With the address in the place of the name."""
    host: str
    """The name, for the header and the certificate."""
    name: str


def is_public(address: str) -> bool:
    """True for an address of the open internet."""
    found = ipaddress.ip_address(address)
    inner = getattr(found, "ipv4_mapped", None) or getattr(found, "sixtofour", None)
    if inner is not None:
        found = inner
    return found.is_global and not found.is_multicast


def check_url(url: str, *, allow_private: bool) -> SplitResult:
    """The parts of a URL that may be a target; names are looked at again when it is called."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    schemes = ("https", "http") if allow_private else ("https",)
    is_fit = (
        len(url) <= MAX_URL and url.isascii() and url.isprintable() and " " not in url
        and parts.scheme in schemes and parts.hostname and not parts.username
        and not parts.password and not parts.fragment and (port is None or port > 0)
    )  # fmt: skip
    if not is_fit:
        raise InvalidField("is no address to call", where="body.url",
                           fix=f"Give {' or '.join(schemes)}://name/path without user or fragment"
                           )  # fmt: skip
    return parts


async def resolve(url: str, *, allow_private: bool) -> Target:
    """The target of a URL, resolved and looked at."""
    parts = check_url(url, allow_private=allow_private)
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise OutboundRefused(
            "cannot be resolved", where=host, fix="Check the name of the target"
        ) from error
    addresses = [str(each[4][0]) for each in found]
    if not addresses or not (allow_private or all(map(is_public, addresses))):
        raise OutboundRefused(
            "leads into a private network", where=host,
            fix="Give a target on the open internet, or let the operator allow this one",
        )  # fmt: skip
    address = f"[{addresses[0]}]" if ":" in addresses[0] else addresses[0]
    place = parts._replace(netloc=f"{address}:{port}", path=parts.path or "/")
    return Target(place.geturl(), parts.netloc, host)
