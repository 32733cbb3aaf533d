"""One-time passwords of operators: a secret under the master key, each code good once."""

from __future__ import annotations

import hmac
import time

import pyotp

SECONDS, WINDOW = 30, 1
"""A code is good for its half minute and the ones beside it."""
TOTP_LENGTH, TOTP_LETTERS = 32, frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")


def new_totp() -> str:
    """A secret for an authenticator."""
    return pyotp.random_base32()


def address_of(secret: str, email: str) -> str:
    """The address that an authenticator reads."""
    return pyotp.TOTP(secret).provisioning_uri(email, issuer_name="Usance")


def step_of(secret: str, code: str, now: float | None = None) -> int | None:
    """The time step that a code is right for, or none.

    >>> step_of("JBSWY3DPEHPK3PXP", pyotp.TOTP("JBSWY3DPEHPK3PXP").at(59), now=59)
    1
    """
    step = int(time.time() if now is None else now) // SECONDS
    if not (code.isascii() and code.isdigit()):
        return None
    totp = pyotp.TOTP(secret)
    found = [
        each for each in range(step - WINDOW, step + WINDOW + 1)
        if hmac.compare_digest(totp.at(each * SECONDS), code)
    ]  # fmt: skip
    return found[-1] if found else None
