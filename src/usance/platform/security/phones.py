"""Phones by a blind index: equal numbers are told, however they are written, and nothing else."""

from __future__ import annotations

import re

from usance.platform.errors import InvalidField
from usance.platform.vault import Vault

_PHONE = re.compile(r"\+?\d[\d ()-]{4,24}")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}(?!\d)")


def is_phone(text: str) -> bool:
    """True of what may be a phone number.

    >>> is_phone("+86 138 0000 0001"), is_phone("1,234.50 2024-07-01"), is_phone("2024-07-01")
    (True, False, False)
    """
    return bool(_PHONE.fullmatch(text.strip())) and not _DAY.match(text.strip())


def phone_index(vault: Vault, phone: str) -> bytes:
    """A number that stands for a phone.

    >>> vault = Vault(bytes(range(32)))
    >>> phone_index(vault, "+86 138 0000 0001") == phone_index(vault, "+8613800000001")
    True
    """
    if not _PHONE.fullmatch(phone.strip()):
        raise InvalidField("is no phone number", where="body.phone", fix="Give digits, like +8613…")
    return vault.index("phone " + re.sub(r"\D", "", phone))
