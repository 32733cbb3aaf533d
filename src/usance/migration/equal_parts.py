"""Equal parts of an amount, the last of which takes the rounding difference.

>>> from usance.loan.convention import Rounding
>>> parts = equal_parts(Arithmetic(19, Rounding.HALF_EVEN), 100, 3)
>>> [parts.part(index) for index in range(3)]
[33, 33, 34]
"""

from __future__ import annotations

from dataclasses import dataclass

from usance.migration.arithmetic import Arithmetic


@dataclass(frozen=True, slots=True)
class EqualParts:
    """So many parts of one size, but for the last."""

    each: int
    total: int
    count: int

    def part(self, index: int) -> int:
        """One of the parts; where the last would be negative, the last ones are none."""
        if self.total < self.each * (self.count - 1):
            return min(self.each, max(0, self.total - self.each * index))
        if index == self.count - 1:
            return self.total - self.each * (self.count - 1)
        return self.each


def equal_parts(math: Arithmetic, total: int, count: int) -> EqualParts:
    """An amount in equal parts."""
    return EqualParts(math.part(total, count), total, count)
