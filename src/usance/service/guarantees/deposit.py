"""The deposit with a guarantor: its required level, and the call when it lies below.

>>> terms = DepositTerms(required_ppm=50_000, minimum_minor=100_00, call_days=5, answer_days=10)
>>> terms.required(40_000_00), terms.required(10_00)
(200000, 10000)
>>> terms.call(40_000_00, balance_minor=150_000), terms.call(40_000_00, balance_minor=200_000)
(50000, 0)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from usance.service.errors import ClaimRefused

_PPM = 1_000_000
_NAMES = ("required_ppm", "minimum_minor", "call_days", "answer_days", "own_ppm")


class DepositTerms(NamedTuple):
    """The contract with a guarantor about its deposit and its answers."""

    required_ppm: int = 0
    """Of the principal it guarantees, what has to lie with it."""
    minimum_minor: int = 0
    call_days: int = 5
    """Days after a call to top up."""
    answer_days: int = 10
    """Days after a claim to answer it."""
    own_ppm: int = 0
    """Of each claim, what the guarantor bears itself."""

    @classmethod
    def of(cls, given: Mapping[str, Any], where: str) -> DepositTerms:
        """The terms as a document states them."""
        unknown = sorted(set(given) - {*_NAMES})
        if unknown:
            raise ClaimRefused(f"there is no term {unknown[0]}", where=where,
                               fix=f"Give {', '.join(_NAMES)}")  # fmt: skip
        wrong = [name for name, value in given.items() if type(value) is not int or value < 0]
        wrong += [name for name in ("required_ppm", "own_ppm") if given.get(name, 0) > _PPM
                  and name not in wrong]  # fmt: skip
        if wrong:
            raise ClaimRefused(f"{wrong[0]} is no number that fits", where=where,
                               fix="Give whole numbers, parts of at most 1000000")  # fmt: skip
        return cls(**given)

    def required(self, guaranteed_minor: int) -> int:
        """The required level of the deposit, rounded up."""
        if guaranteed_minor <= 0:
            return 0
        return max(-(-guaranteed_minor * self.required_ppm // _PPM), self.minimum_minor)

    def call(self, guaranteed_minor: int, balance_minor: int) -> int:
        """The amount by which the deposit lies below its level."""
        return max(self.required(guaranteed_minor) - balance_minor, 0)

    def parts(self, amount_minor: int) -> tuple[int, int]:
        """A payment on a claim, out of the deposit and by the guarantor itself."""
        own = amount_minor * self.own_ppm // _PPM
        return amount_minor - own, own
