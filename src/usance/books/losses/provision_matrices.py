"""Provision matrices: allowances of receivables by age, and their loss rates.

>>> rates = flow_rates([100_000, 50_000, 23_000, 8_000, 2_000], never_paid=2_000)
>>> [str(rate) for rate in rates]
['1/50', '1/25', '2/23', '1/4', '1']
>>> from decimal import Decimal
>>> provision_matrix([(1_000, Decimal("0.003")), (200, rates[1])]).allowances
(Fraction(3, 1), Fraction(8, 1))
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from usance.base.errors import UsanceError, raise_all
from usance.base.money import half_even
from usance.base.rates import PPB
from usance.books.losses.errors import CurveError
from usance.books.losses.expectation import Number, expected_loss, loss_rate


@dataclass(frozen=True, slots=True)
class ProvisionMatrix:
    """The allowance of each age, exact."""

    gross: Fraction
    allowances: tuple[Fraction, ...]

    @property
    def total(self) -> Fraction:
        """The allowance of all ages."""
        return sum(self.allowances, Fraction(0))

    @property
    def published(self) -> tuple[int, ...]:
        """Each allowance in whole units, a half to the even one."""
        return tuple(half_even(each.numerator, each.denominator) for each in self.allowances)


def provision_matrix(buckets: Iterable[tuple[Number, Number]]) -> ProvisionMatrix:
    """The matrix of (gross amount, loss rate) by age."""
    rows = [(Fraction(gross), Fraction(rate)) for gross, rate in buckets]
    problems: list[UsanceError] = [
        CurveError(
            f"a loss rate of {rate}", where=f"provision matrix, row {number}", fix="Give 0 to 1"
        )
        for number, (_, rate) in enumerate(rows, start=1)
        if not 0 <= rate <= 1
    ]
    raise_all(problems, where="provision matrix")
    allowances = tuple(expected_loss(gross, rate) for gross, rate in rows)
    return ProvisionMatrix(sum((gross for gross, _ in rows), Fraction(0)), allowances)


def flow_rates(entering: Sequence[Number], never_paid: Number) -> tuple[Fraction, ...]:
    """The share of what enters each age that is never paid: all of it flows through to the end."""
    problems: list[UsanceError] = [
        CurveError(
            f"{entered} entered and {never_paid} of it was never paid",
            where=f"roll-forward, row {number}",
            fix="Give at least what is left at the end",
        )
        for number, entered in enumerate(entering, start=1)
        if entered < never_paid
    ]
    raise_all(problems, where="roll-forward")
    return tuple(loss_rate(never_paid, entered) for entered in entering)


def receivable_allowance(
    ageing_minor: Sequence[int],
    given_ppb: Sequence[int],
    entering_minor: Sequence[int] = (),
    never_paid_minor: int = 0,
) -> ProvisionMatrix:
    """The allowance of receivables by age: at rates of a roll-forward, else at those given.

    A roll-forward has what entered each age of sales that have run their course, and what of them
    was never paid.

    >>> str(receivable_allowance([100_000, 50_000], [3_000_000, 16_000_000]).total)
    '1100'
    >>> str(receivable_allowance([100_000, 50_000], [], [80_000, 2_000], 1_000).total)
    '26250'
    """
    if entering_minor:
        rates = flow_rates(entering_minor, never_paid_minor)
    else:
        rates = tuple(Fraction(rate, PPB) for rate in given_ppb)
    if len(rates) != len(ageing_minor):
        what = f"{len(ageing_minor)} ages and {len(rates)} loss rates"
        raise CurveError(what, where="provision matrix", fix="Give a rate for each age")
    return provision_matrix(zip(ageing_minor, rates, strict=True))
