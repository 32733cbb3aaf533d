"""Signatures of messages: an HMAC over a moment and the content, under one secret or two.

>>> header = sign(b"body", 1_700_000_000, ["old", "new"])
>>> is_signed(header, b"body", ["new"], now=1_700_000_100)
True
>>> is_signed(header, b"body", ["new"], now=1_700_000_400)  # older than five minutes
False
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Iterable
from hashlib import sha256

MAX_AGE = 300
"""Seconds that a signature is good for, either way: clocks differ."""


def new_secret() -> str:
    """A secret to sign with."""
    return "whs_" + secrets.token_urlsafe(32)


def sign(content: bytes, moment: int, keys: Iterable[str]) -> str:
    """The header that signs a content, once for each secret in use."""
    marks = ",".join(f"v1={_mark(content, moment, key)}" for key in keys)
    return f"t={moment},{marks}"


def request_content(method: str, target: str, body: bytes) -> bytes:
    """The part of a request that its caller signs: method, path with query, and body.

    >>> request_content("POST", "/v1/payments?dry_run=true", b"{}")
    b'POST./v1/payments?dry_run=true.{}'
    """
    return f"{method}.{target}.".encode() + body


def is_signed(header: str, content: bytes, keys: Iterable[str], now: float) -> bool:
    """True for a fresh signature of a content under any of the secrets."""
    parts = [part.partition("=") for part in header.split(",")]
    moments = [value for name, _, value in parts if name == "t"]
    marks = [value for name, _, value in parts if name == "v1"]
    if len(moments) != 1 or not (moments[0].isascii() and moments[0].isdigit()):
        return False
    moment = int(moments[0][:15])
    if abs(now - moment) > MAX_AGE:
        return False
    wanted = [_mark(content, moment, key) for key in keys]
    found = [hmac.compare_digest(mark.encode(), own.encode()) for mark in marks for own in wanted]
    return any(found)


def _mark(content: bytes, moment: int, key: str) -> str:
    return hmac.new(key.encode(), f"{moment}.".encode() + content, sha256).hexdigest()
