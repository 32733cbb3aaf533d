"""Identifiers: plain numbers below 2^53 that carry their user, and their printed form.

What a user owns is numbered `user_id * 16384 + n`, so no join is needed to find the user and a
user's rows lie together. Printed, text order is number order.

>>> owned_id(1, 1), print_id("ln", 16385), parse_id("ln_00000000G01", "ln")
(16385, 'ln_00000000G01', 16385)
>>> user_of(16385), shard_of(user_of(16385))
(1, 0)
>>> fact_ref("167168"), fact_ref("psp-2024-06-30/17")
(167168, 5208649885658385485)
"""

from __future__ import annotations

from hashlib import blake2b

from usance.base.errors import IdError, unknown

USER_SHIFT = 14
PER_USER = 1 << USER_SHIFT
LIMIT = 1 << 53
SHARD_BITS = 22
PREFIXES = {
    "us": "user",
    "ln": "loan",
    "li": "line",
    "de": "decision",
    "so": "source",
    "en": "entity",
    "jr": "journal",
    "pm": "payment",
    "of": "offer",
    "or": "order",
    "ap": "approval",
    "jb": "job",
    "rq": "request",
    "ag": "agreement",
    "qu": "quote",
    "ac": "account",
    "co": "consent",
    "ev": "event",
    "wh": "webhook",
    "pe": "person",
    "ca": "case",
    "un": "unallocated cash",
    "sa": "sale",
    "br": "break",
    "fi": "file",
    "se": "settlement",
    "cl": "claim",
    "ct": "contact",
    "pr": "promise",
    "st": "stop",
    "cp": "complaint",
    "pl": "plan",
    "ha": "hardship request",
    "sh": "screening hit",
    "rr": "request about data or a decision",
    "dr": "draft",
}

# Crockford's base 32 leaves out I, L, O and U.
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
WIDTH = 11

_DIGITS = {character: value for value, character in enumerate(ALPHABET)}
_PAIRS = [high + low for high in ALPHABET for low in ALPHABET]
"""Two characters at a time: a command prints ten ids."""


def owned_id(user_id: int, n: int) -> int:
    """The id of a user's n-th line, decision or loan (n from 1)."""
    if not 1 <= n < PER_USER:
        raise IdError(f"number {n} of user {user_id}", fix=f"Number from 1 to {PER_USER - 1}")
    if user_id < 1:
        raise IdError(f"user {user_id}", fix="Users are numbered from 1")
    return _checked(user_id * PER_USER + n)


def user_of(owned: int) -> int:
    """The user a line, decision or loan belongs to."""
    return owned // PER_USER


def shard_of(user_id: int) -> int:
    """The shard a user's rows are filed in; depends on nothing else."""
    return user_id >> SHARD_BITS


def print_id(prefix: str, number: int) -> str:
    """The text people see, such as `ln_00000000G01`."""
    _check_prefix(prefix)
    n, two = _checked(number), _PAIRS
    return (f"{prefix}_{ALPHABET[n >> 50]}{two[n >> 40 & 1023]}{two[n >> 30 & 1023]}"
            f"{two[n >> 20 & 1023]}{two[n >> 10 & 1023]}{two[n & 1023]}")  # fmt: skip


def parse_id(text: str, prefix: str, *, where: str = "") -> int:
    """The number behind a printed id of the wanted kind."""
    _check_prefix(prefix)
    head, _, body = text.partition("_")
    if head != prefix:
        example = print_id(prefix, PER_USER + 1)
        kind = f"a {PREFIXES[head]}" if head in PREFIXES else "no"
        raise IdError(
            f"{text!r} is {kind} id",
            where=where,
            fix=f"Give a {PREFIXES[prefix]} id like {example}",
        )
    if len(body) != WIDTH:
        raise IdError(
            f"{text!r} has {len(body)} characters after the underscore",
            where=where,
            fix=f"Give {WIDTH}, like {print_id(prefix, PER_USER + 1)}",
        )
    number = 0
    for character in body:
        if character not in _DIGITS:
            raise IdError(
                f"{text!r} has the character {character!r}",
                where=where,
                fix="Ids use 0-9 and A-Z without I, L, O and U",
            )
        number = number * 32 + _DIGITS[character]
    return _checked(number, where)


def fact_ref(key: str) -> int:
    """The number of a fact from the key of who caused it.

    A key of ASCII digits below 2^63 is that number; any other is the first 63 bits of its BLAKE2b:
    the 8-byte digest of its UTF-8, read big-endian, without the last bit.
    """
    if not key:
        raise IdError("a fact has an empty key", fix="Give the key of the request that caused it")
    if key.isascii() and key.isdigit() and len(key) < 20 and int(key) < 1 << 63:
        return int(key)
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "big") >> 1


def _check_prefix(prefix: str) -> None:
    if prefix not in PREFIXES:
        raise unknown("id prefix", prefix, PREFIXES)


def _checked(number: int, where: str = "") -> int:
    if not 0 <= number < LIMIT:
        raise IdError(f"id {number} is out of range", where=where, fix="Ids are from 0 to 2^53 - 1")
    return number
