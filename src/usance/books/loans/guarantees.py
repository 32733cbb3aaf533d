"""One guarantee: its fair value at the start, its release, and what stands in the books after.

>>> fair_value(100, "0.08", "0.1", 3), straight_line(5, 1, 3)
(5, Fraction(5, 3))
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from usance.base.errors import AmountError
from usance.base.money import half_up
from usance.books.effective_interest.contract import Number, level, present_value


class HigherOf(NamedTuple):
    """A guarantee after its start (IFRS 9 4.2.1(c)): the liability, and the loss it adds."""

    liability: Fraction
    top_up: Fraction


class GrossPosition(NamedTuple):
    """A guarantee under US GAAP: premium to come and duty to stand ready, gross (ASC 460, 326)."""

    receivable: Fraction
    stand_ready: Fraction
    contingent: Fraction
    revenue: Fraction
    provision: Fraction


class NetPosition(NamedTuple):
    """The same under IFRS: premium that comes by instalments is recognised as it falls due."""

    receivable: Fraction
    contract_liability: Fraction
    loss_allowance: Fraction
    revenue: Fraction


def fair_value(
    principal: Number, rate_with: Number | str, rate_without: Number | str, periods: int
) -> int:
    """Fair value of a guarantee of a bullet loan: the interest it saves, in whole units.

    The saving of each period is discounted at the rate without a guarantee, and the amount
    recognised is rounded once, to the unit it is kept in.
    """
    without = Fraction(rate_without)
    saved = Fraction(principal) * (without - Fraction(rate_with))
    worth = present_value(level(saved, periods), without)
    return half_up(worth.numerator, worth.denominator)


def straight_line(total: Number, elapsed: int, term: int) -> Fraction:
    """Part of a total released after a part of its term; all of it at the end."""
    if term <= 0 or elapsed < 0:
        what, fix = f"{elapsed} of a term of {term}", "Give a term above 0 and a time of 0 or more"
        raise AmountError(what, fix=fix)
    return Fraction(total) * min(elapsed, term) / term


def higher_of(unamortised: Number, expected_loss: Number) -> HigherOf:
    """The loss allowance or the premium not yet earned, whichever is more.

    >>> higher_of(500, 700).top_up
    Fraction(200, 1)
    """
    liability = max(Fraction(unamortised), Fraction(expected_loss))
    return HigherOf(liability, liability - Fraction(unamortised))


def gross_position(
    premium: Number, elapsed: int, term: int, collected: Number, expected_loss: Number
) -> GrossPosition:
    """Receivable, stand-ready and contingent liability, revenue and provision to date."""
    released = straight_line(premium, elapsed, term)
    loss = Fraction(expected_loss)
    return GrossPosition(
        Fraction(premium) - Fraction(collected), Fraction(premium) - released, loss, released, loss
    )


def net_position(
    premium: Number, elapsed: int, term: int, collected: Number, expected_loss: Number
) -> NetPosition:
    """Premium due and unpaid, premium due and not yet earned, allowance and revenue to date.

    A premium by equal instalments falls due as it is earned, so nothing is recognised at the
    start, and the higher of nothing and the expected loss is the loss.
    """
    due = released = straight_line(premium, elapsed, term)
    unearned = due - released
    loss = higher_of(unearned, expected_loss)
    return NetPosition(due - Fraction(collected), unearned, loss.liability - unearned, released)
