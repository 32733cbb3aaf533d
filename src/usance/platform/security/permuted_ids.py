"""Ids as an institution or agency sees them: permuted under a key of its own.

A number tells how often its borrower drew elsewhere; a permuted one tells nothing, has the same
prefix and width, and comes back to the same number.

>>> own = PermutedIds(b"key of a bank")
>>> own.encode("ln_00000000G01") != "ln_00000000G01"
True
>>> own.decode(own.encode("ln_00000000G01"))
'ln_00000000G01'
>>> own.encode({"loan": None, "state": "open", "lines": ["us_00000000001"]})["state"]
'open'
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from usance.base.errors import IdError
from usance.base.ids import LIMIT, parse_id, print_id
from usance.platform.vault import Vault

OWNED = ("us", "ln", "li", "de", "pm", "of", "or", "ag", "qu", "ac", "co", "ca", "ct", "pr")
"""Prefixes of ids that have their user in them."""
HALF_BITS, ROUNDS = 27, 8
"""A Feistel network over 54 bits; what lies beyond the ids is permuted on until it does not."""
_MASK = (1 << HALF_BITS) - 1
_ID = re.compile(rf"(?:{'|'.join(OWNED)})_[0-9A-HJKMNP-TV-Z]{{11}}")


@dataclass(frozen=True)
class PermutedIds:
    """The permutation of one party."""

    key: bytes = field(repr=False)

    def encode(self, value: Any) -> Any:
        """An answer with every id as the party sees it."""
        return _mapped(value, self._forward)

    def decode(self, value: Any) -> Any:
        """A request with every id as the platform knows it."""
        return _mapped(value, self._back)

    def _forward(self, text: str) -> str:
        return _walk(self.key, text, range(ROUNDS))

    def _back(self, text: str) -> str:
        return _walk(self.key, text, range(ROUNDS - 1, -1, -1))


def ids_of_party(vault: Vault, kind: str, party: int) -> PermutedIds | None:
    """The permutation that institutions and agencies see ids through; others have none."""
    if kind not in ("institution", "agency"):
        return None
    return PermutedIds(vault.key_for(f"ids of {kind} {party}"))


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value) if _ID.fullmatch(value) else value
    if isinstance(value, dict):
        return {name: _mapped(each, change) for name, each in value.items()}
    if isinstance(value, list):
        return [_mapped(each, change) for each in value]
    return value


@lru_cache(maxsize=65_536)
def _walk(key: bytes, text: str, rounds: range) -> str:
    """An id moved along its cycle to the next number that is one."""
    prefix = text[:2]
    try:
        number = parse_id(text, prefix)
    except IdError:  # beyond the numbers that ids have
        return text
    number = _feistel(key, prefix, number, rounds)
    while number >= LIMIT:
        number = _feistel(key, prefix, number, rounds)
    return print_id(prefix, number)


def _feistel(key: bytes, prefix: str, number: int, rounds: range) -> int:
    left, right = number >> HALF_BITS, number & _MASK
    if rounds.step < 0:
        for each in rounds:
            left, right = right ^ _mix(key, prefix, each, left), left
        return left << HALF_BITS | right
    for each in rounds:
        left, right = right, left ^ _mix(key, prefix, each, right)
    return left << HALF_BITS | right


def _mix(key: bytes, prefix: str, number: int, half: int) -> int:
    content = f"{prefix}/{number}/{half}".encode()
    digest = blake2b(content, key=key[:64], digest_size=8).digest()
    return int.from_bytes(digest, "big") & _MASK
