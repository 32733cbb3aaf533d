"""Effective interest of one contract, exactly: the rate, the carrying amounts, a revision.

Flows come at steps; between two of them the carrying amount grows at the rate. Bonds and deposits
compound by years or by days of 365; our own loans bear simple interest inside a month.

>>> bond = by_periods([59, 59, 59, 59, 1309])
>>> rate_ppb = effective_rate_ppb(1_000, bond)
>>> rate_ppb
99953187
>>> [round(year.closing) for year in amortised_cost(1_000, bond, as_fraction(rate_ppb))]
[1041, 1086, 1136, 1190, 0]
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import Context, Decimal
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from usance.base.errors import AmountError, InputError
from usance.base.rates import PPB

Number: TypeAlias = int | Decimal | Fraction
Growth: TypeAlias = Callable[[Fraction, Fraction], Fraction]
"""The value of one unit at a rate after a length of time."""

DAYS_A_YEAR = 365
MAX_PERIODS = 1_200
"""A hundred years of months."""
LOWEST_PPB, HIGHEST_PPB = 1 - PPB, 10**13
"""The bounds of a rate: from next to -100 % to a million per cent a period."""

# A power with a broken exponent is no fraction; sixty digits are far beyond a ppb.
_DIGITS = Context(prec=60)


class NoEffectiveRate(InputError):
    """No rate makes these flows worth the advance."""

    code = "books.effective_rate"
    http_status = 422


class Step(NamedTuple):
    """Cash received after a length of time since the step before."""

    length: Fraction
    cash: Fraction


class CostPeriod(NamedTuple):
    """One row of a table of amortised cost."""

    opening: Fraction
    interest: Fraction
    cash: Fraction
    closing: Fraction


class FeeAmortisation(NamedTuple):
    """The part of a fee earned in each period, and their total."""

    periods: list[Fraction]
    total: Fraction


class Revision(NamedTuple):
    """A carrying amount after a revision of estimated flows, and its gain."""

    carrying: Fraction
    gain: Fraction


def compound(rate: Fraction, length: Fraction) -> Fraction:
    """Growth that compounds with every unit of time, and inside one.

    >>> compound(Fraction(1, 10), Fraction(2))
    Fraction(121, 100)
    """
    if length.denominator == 1:
        return Fraction((1 + rate) ** length.numerator)
    base, exponent = (
        _DIGITS.divide(*map(Decimal, x.as_integer_ratio())) for x in (1 + rate, length)
    )
    return Fraction(_DIGITS.power(base, exponent))


def simple(rate: Fraction, length: Fraction) -> Fraction:
    """Growth without compounding inside the step."""
    return 1 + rate * length


def by_periods(cash: Sequence[Number]) -> list[Step]:
    """Flows at the end of equal periods."""
    return [Step(Fraction(1), Fraction(amount)) for amount in cash]


def by_numbers(flows: Mapping[str, Number]) -> list[Step]:
    """Flows by the number of their period, the first one period from now.

    >>> [int(step.length) for step in by_numbers({"3": 684, "4": 30, "6": 655})]
    [1, 1, 2]
    """
    numbers = sorted(flows, key=int)
    first = [Step(Fraction(1), Fraction(flows[number])) for number in numbers[:1]]
    later = [Step(Fraction(int(b) - int(a)), Fraction(flows[b])) for a, b in pairwise(numbers)]
    return first + later


def bullet(interest: Number, repaid: Number, periods: int) -> list[Step]:
    """Interest with every period, and principal with the last.

    >>> [int(step.cash) for step in bullet(50, 1_000, 3)]
    [50, 50, 1050]
    """
    _require_period(1, periods)
    last = Fraction(interest) + Fraction(repaid)
    return by_periods([*[interest] * (periods - 1), last])


def level(payment: Number, periods: int) -> list[Step]:
    """The same payment with every period."""
    return bullet(payment, 0, periods)


def repaid_early(steps: Sequence[Step], after: int, balance: Number) -> list[Step]:
    """The same flows where the balance is repaid with one of them, and none come later.

    >>> [int(step.cash) for step in repaid_early(level(55, 9), 2, 400)]
    [55, 455]
    """
    _require_period(after, len(steps))
    last = steps[after - 1]
    return [*steps[: after - 1], last._replace(cash=last.cash + Fraction(balance))]


def by_dates(start: date, flows: Sequence[tuple[date, Number]]) -> list[Step]:
    """Dated flows after a start, in years of 365 days; several on a day are several steps.

    >>> by_dates(date(2024, 1, 1), [(date(2024, 12, 31), 5)])
    [Step(length=Fraction(1, 1), cash=Fraction(5, 1))]
    """
    steps, before = [], start
    for day, amount in sorted(flows, key=lambda flow: flow[0]):
        steps.append(Step(Fraction((day - before).days, DAYS_A_YEAR), Fraction(amount)))
        before = day
    return steps


def as_fraction(rate_ppb: int) -> Fraction:
    """A stored rate as a fraction."""
    return Fraction(rate_ppb, PPB)


def present_value(steps: Sequence[Step], rate: Fraction, growth: Growth = compound) -> Fraction:
    """The present value of flows at a rate.

    >>> round(present_value(by_periods([684, 30, 655]), Fraction(1, 10)), 2)
    Fraction(28468, 25)
    """
    value = Fraction(0)
    for step in reversed(steps):
        value = (value + step.cash) / growth(rate, step.length)
    return value


def effective_rate_ppb(
    advance: Number, steps: Sequence[Step], growth: Growth = compound, near_ppb: int | None = None
) -> int:
    """The rate per unit of time at which the flows are worth the advance, half-up to a ppb.

    A rate that is `near` saves the search where it, or one beside it, is right.
    """
    advanced = Fraction(advance)
    if advanced <= 0 or any(step.cash < 0 or step.length < 0 for step in steps):
        raise NoEffectiveRate(
            "no effective rate: something is advanced first and only received after",
            fix="Give an advance above 0, and flows of 0 or more in order of time",
        )

    def is_above(rate_ppb: int) -> bool:
        """True if a rate half a ppb below this one is above the effective rate."""
        return present_value(steps, Fraction(2 * rate_ppb - 1, 2 * PPB), growth) < advanced

    candidates = range(LOWEST_PPB, HIGHEST_PPB + 2)
    if near_ppb is not None and not is_above(near_ppb - 1) and is_above(near_ppb + 2):
        candidates = range(near_ppb - 1, near_ppb + 3)
    found = bisect_left(candidates, True, key=is_above)
    if not 0 < found < len(candidates):
        raise NoEffectiveRate(
            f"no effective rate of at most {HIGHEST_PPB // PPB * 100:,} % a period",
            fix="Check the amounts, their times and the fee withheld",
        )
    return candidates[found - 1]


def interest_on(
    carrying: Number, rate: Number, length: Fraction = Fraction(1), growth: Growth = compound
) -> Fraction:
    """Interest on an amount over a length of time.

    >>> interest_on(330, Decimal("0.1"))
    Fraction(33, 1)
    """
    return Fraction(carrying) * (growth(Fraction(rate), length) - 1)


def amortised_cost(
    advance: Number, steps: Sequence[Step], rate: Fraction, growth: Growth = compound
) -> list[CostPeriod]:
    """Opening amount, interest, cash and closing amount of every step.

    The last step earns what is left, so that nothing stays: a stored rate is a rounded one.
    """
    rows, opening = [], Fraction(advance)
    for number, step in enumerate(steps, start=1):
        interest = interest_on(opening, rate, step.length, growth)
        if number == len(steps):
            interest = step.cash - opening
        closing = opening + interest - step.cash
        rows.append(CostPeriod(opening, interest, step.cash, closing))
        opening = closing
    return rows


def revised(
    carrying: Number, steps: Sequence[Step], rate: Number, growth: Growth = compound
) -> Revision:
    """New flows at the original rate: the difference is income or loss at once (B5.4.6).

    >>> str(revised(100, by_periods([60, 60]), Fraction(1, 10)).gain)
    '500/121'
    """
    worth = present_value(steps, Fraction(rate), growth)
    return Revision(worth, worth - Fraction(carrying))


def fee_amortisation(
    principal: Number, stated_rate: Number, effective: Sequence[CostPeriod]
) -> FeeAmortisation:
    """Effective less stated interest of each period, until all is repaid.

    >>> loan = level(55, 2)
    >>> table = amortised_cost(98, loan, as_fraction(effective_rate_ppb(98, loan)))
    >>> fee_amortisation(100, Fraction(1, 10), table).total
    Fraction(2, 1)
    """
    stated, last = Fraction(stated_rate), len(effective) - 1
    balance, rows = Fraction(principal), []
    for number, period in enumerate(effective):
        interest = period.cash - balance if number == last else balance * stated
        rows.append(period.interest - interest)
        balance += interest - period.cash
    return FeeAmortisation(rows, sum(rows, Fraction(0)))


def _require_period(number: int, periods: int) -> None:
    if not 1 <= number <= periods <= MAX_PERIODS:
        fix = f"Give 1 to {MAX_PERIODS} periods, and one of them"
        raise AmountError(f"period {number} of {periods}", fix=fix)
