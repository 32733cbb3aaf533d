"""Passwords of operators: long enough, not among the common ones, kept as argon2id.

>>> check_password("correct horse battery staple")
>>> check_password("password1234")
Traceback (most recent call last):
usance.platform.errors.WeakPassword: this password is among the first that anyone tries. Choose ...
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from usance.platform.errors import WeakPassword

if TYPE_CHECKING:
    from argon2 import PasswordHasher

MIN_LENGTH, MAX_LENGTH = 12, 256
TIME_COST, MEMORY_KIB, LANES = 2, 46 * 1024, 1
"""OWASP's argon2id setting of 46 MiB with one more pass: 77–80 ms of a core where it was measured
(one pass 47 ms, two of 32 MiB 53 ms)."""


@cache
def hasher() -> PasswordHasher:
    """The one way in which passwords are hashed."""
    from argon2 import PasswordHasher

    return PasswordHasher(time_cost=TIME_COST, memory_cost=MEMORY_KIB, parallelism=LANES)


@cache
def common_passwords() -> frozenset[str]:
    """Words that guessing begins with, in lower case."""
    text = files("usance.platform.security").joinpath("common_passwords.txt").read_text("utf-8")
    return frozenset(line for line in text.splitlines() if line)


def check_password(password: str) -> None:
    """Refuse a password that is too short, too long or common, also with digits put behind."""
    if not MIN_LENGTH <= len(password) <= MAX_LENGTH:
        raise WeakPassword(
            f"this password has {len(password)} characters",
            fix=f"Choose one of {MIN_LENGTH} to {MAX_LENGTH}; several words are easy to keep",
        )
    plain = password.lower()
    if {plain, plain.rstrip("0123456789!.?"), plain[: len(plain) // 2]} & common_passwords():
        raise WeakPassword(
            "this password is among the first that anyone tries",
            fix="Choose several words that do not belong together",
        )


def is_password(stored: str, password: str) -> bool:
    """True for the password of a hash, in the same time for every other."""
    from argon2.exceptions import VerificationError

    try:
        return hasher().verify(stored, password)
    except VerificationError:
        return False


@cache
def unmatched_hash() -> str:
    """A hash that no password has: unknown accounts take as long as known ones."""
    import secrets

    return hasher().hash(secrets.token_hex(32))
