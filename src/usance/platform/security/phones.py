"""Phones by a blind index: equal numbers are told, however they are written, and nothing else."""

from __future__ import annotations

import re

from usance.platform.errors import InvalidField
from usance.platform.vault import Vault

_PHONE = re.compile(r"\+?\d[\d ()-]{4,24}")


def phone_index(vault: Vault, phone: str) -> bytes:
    """A number that stands for a phone.

    >>> vault = Vault(bytes(range(32)))
    >>> phone_index(vault, "+86 138 0000 0001") == phone_index(vault, "+8613800000001")
    True
    """
    if not _PHONE.fullmatch(phone.strip()):
        raise InvalidField("is no phone number", where="body.phone", fix="Give digits, like +8613…")
    return vault.index("phone " + re.sub(r"\D", "", phone))
