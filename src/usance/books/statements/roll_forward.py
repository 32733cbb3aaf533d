"""A roll-forward: what stood at the beginning, what moved it, what stands at the end.

>>> stand_ready = RollForward(
...     "Guarantee liabilities-stand ready",
...     4_120_346,
...     (Movement("additions", 4_926_567), Movement("released", -5_097_312)),
...     3_949_601,
... )
>>> stand_ready.difference
0
>>> list(stand_ready.lines())[-1]
('closing', 3949601, True)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from usance.base.errors import UsanceError
from usance.books.chart import load_chart
from usance.books.errors import ControlFailed
from usance.books.statements.ledger import Ledger


class Movement(NamedTuple):
    """Why a balance moved, and by how much."""

    name: str
    minor: int


@dataclass(frozen=True, slots=True)
class RollForward:
    """A balance from one day to another."""

    name: str
    opening: int
    movements: tuple[Movement, ...]
    closing: int

    @property
    def difference(self) -> int:
        """What the movements leave unexplained; it should be nothing."""
        return self.closing - self.opening - sum(each.minor for each in self.movements)

    def problems(self) -> Iterator[UsanceError]:
        """The difference, if there is one."""
        if self.difference:
            what = f"{self.difference} is unexplained between opening and closing"
            yield ControlFailed(what, where=self.name, fix="Find the movement that is missing")

    def lines(self) -> Iterator[tuple[str, int, bool]]:
        """Label, amount, and whether it is a balance."""
        yield "opening", self.opening, True
        for each in self.movements:
            yield each.name, each.minor, False
        yield "closing", self.closing, True


def roll_forward(
    name: str, ledger: Ledger, accounts: Iterable[str], reasons: Mapping[int, str],
    first_month: int, last_month: int, *, sign: int = 1,
) -> RollForward:  # fmt: skip
    """Accounts of one currency over some months, by what `reasons` calls each rule."""
    chart = load_chart()
    own = ledger.take(np.isin(ledger.account, [chart[each].number for each in accounts]))
    before, until = own.through(first_month - 1), own.through(last_month)
    moved: dict[str, int] = {}
    inside = until.take(until.period >= first_month)
    for (rule,), minor in inside.sums(lambda book: [book.rule]).items():
        label = reasons.get(rule, f"rule {rule}")
        moved[label] = moved.get(label, 0) + sign * minor
    return RollForward(
        name,
        sign * int(before.amount.sum()),
        tuple(Movement(label, minor) for label, minor in sorted(moved.items()) if minor),
        sign * int(until.amount.sum()),
    )
