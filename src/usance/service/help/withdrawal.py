"""Withdrawal from an agreement inside its cooling-off days: principal back, interest of the days.

>>> from usance.base.codes import FactKind
>>> from usance.loan import Fact, Terms
>>> terms = Terms(
...     principal_minor=9_000_00, rate_ppm=180_000, instalments=6,
...     disbursed_on=date(2024, 1, 15), first_due_on=date(2024, 2, 15),
... )  # fmt: skip
>>> drawn = [Fact(FactKind.DISBURSED, date(2024, 1, 15), 9_000_00, ref=1)]
>>> withdraw([terms], drawn, date(2024, 1, 25), cooling_off_days=14)
Withdrawal(last_day=datetime.date(2024, 1, 29), pay_minor=904355, interest_minor=4355)
>>> withdraw([terms], drawn, date(2024, 1, 30), cooling_off_days=14)
Traceback (most recent call last):
usance.service.errors.PlanRefused: withdrawal: the last day was 2024-01-29. \
Offer early settlement.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from typing import NamedTuple

from usance.base.parameters import Parameters
from usance.loan import Fact, Terms, replay
from usance.service.errors import PlanRefused


class Withdrawal(NamedTuple):
    """The amount that undoes a loan, and the last day on which it may be undone."""

    last_day: date
    pay_minor: int
    interest_minor: int


def cooling_off_days(day: date, parameters: Parameters | None = None) -> int:
    """Days after the agreement in which a borrower may withdraw; 0 where there is no such right."""
    known = parameters or Parameters.load()
    return known.at("pricing.cooling_off", day).integer


def withdraw(
    terms: Sequence[Terms], facts: Sequence[Fact], on: date, *, cooling_off_days: int
) -> Withdrawal:
    """The withdrawal on a day: what the loan's own fold says settles it, and no fee."""
    last = terms[0].disbursed_on + timedelta(days=cooling_off_days)
    if not cooling_off_days:
        fix = "Offer early settlement"
        raise PlanRefused("there is no right to withdraw", where="withdrawal", fix=fix)
    if on > last:
        fix = "Offer early settlement"
        raise PlanRefused(f"the last day was {last}", where="withdrawal", fix=fix)
    view = replay(terms, facts, on).view()
    return Withdrawal(last, view.settlement, view.settlement - view.principal_outstanding)
