"""The state of a deal between two payment dates: names of formulas, what has accrued, its cohorts.

>>> from usance.fund.sample import sample_deal
>>> state = opening_state(sample_deal())
>>> state.names["A.balance"], state.names["account.reserve"], state.status.value
(8000000000, 100000000, 'amortising')
>>> state_of_dict(state.as_dict()) == state
True
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from typing import Any

from usance.base.dates import parse_date
from usance.base.money import split
from usance.fund.deal import COLLECTION, Deal, Status
from usance.fund.errors import PaymentDateError

POOL_NAMES = ("pool_original", "pool_start", "pool_end")
PERIOD_NAMES = ("collected_interest", "collected_principal", "defaulted", "recovered")
TO_DATE_NAMES = ("defaulted_to_date", "bought_to_date")


@dataclass(frozen=True, slots=True)
class Cohort:
    """Loans that came to a deal on one day, at the closing or bought: a projection goes on from it.

    >>> Cohort(date(2024, 1, 1), 900).after_period(700, [0, 30]).after_period(500, [20, 0])
    Cohort(came_on=datetime.date(2024, 1, 1), balance_minor=500, defaulted_minor=(0, 30, 20, 0))
    """

    came_on: date
    balance_minor: int
    """Principal of those that perform."""
    defaulted_minor: tuple[int, ...] = ()
    """Principal that defaulted in each month since they came; recoveries of it may come yet."""

    @property
    def months(self) -> int:
        """Their age in the deal."""
        return len(self.defaulted_minor)

    def after_period(self, balance_minor: int, defaulted_minor: Sequence[int]) -> Cohort:
        """The same loans after so many more months."""
        return Cohort(self.came_on, balance_minor, (*self.defaulted_minor, *defaulted_minor))


@dataclass(slots=True)
class DealState:
    """Everything that one payment date hands to the next."""

    status: Status
    paid_on: date
    """The last payment date, or the closing."""
    names: dict[str, int]
    """Every value a formula can read, by its name."""
    accrued: dict[str, Fraction]
    """Interest of each class and each fee since closing, not rounded; fees are `fee.X`."""
    is_called: bool = False
    cohorts: tuple[Cohort, ...] = ()
    """Its loans by the day they came; they add up to `pool_end`. None in a state of before."""

    @property
    def period(self) -> int:
        """The number of payment dates so far."""
        return self.names["period"]

    def copy(self) -> DealState:
        """A state that can be moved on without touching this one."""
        return replace(self, names=dict(self.names), accrued=dict(self.accrued))

    def as_dict(self) -> dict[str, Any]:
        """For a state file; fractions as text."""
        return {
            "status": self.status.value,
            "paid_on": self.paid_on.isoformat(),
            "is_called": self.is_called,
            "names": dict(self.names),
            "accrued": {name: str(value) for name, value in self.accrued.items()},
            "cohorts": [
                {"came_on": each.came_on.isoformat(), "balance_minor": each.balance_minor,
                 "defaulted_minor": list(each.defaulted_minor)}
                for each in self.cohorts
            ],
        }  # fmt: skip


def state_of_dict(given: Mapping[str, Any]) -> DealState:
    """The state a file holds."""
    try:
        return DealState(
            Status(given["status"]),
            parse_date(given["paid_on"]),
            {str(name): int(value) for name, value in given["names"].items()},
            {str(name): Fraction(value) for name, value in given["accrued"].items()},
            bool(given["is_called"]),
            tuple(_cohort(each) for each in given.get("cohorts", ())),
        )
    except (KeyError, ValueError, AttributeError, TypeError) as error:
        fix = "Give a state that `usance fund pay` wrote"
        raise PaymentDateError(f"no state of a deal: {error}", fix=fix) from None


def _cohort(given: Mapping[str, Any]) -> Cohort:
    defaulted = tuple(map(int, given["defaulted_minor"]))
    return Cohort(parse_date(given["came_on"]), int(given["balance_minor"]), defaulted)


def opening_state(deal: Deal) -> DealState:
    """The state at closing."""
    pool = deal.pool.balance_minor
    names = dict.fromkeys(("period", *PERIOD_NAMES, *TO_DATE_NAMES), 0)
    names |= dict.fromkeys(POOL_NAMES, pool)
    names["classes"] = sum(each.balance_minor for each in deal.classes)
    for each in deal.classes:
        names[f"{each.name}.balance"] = names[f"{each.name}.original"] = each.balance_minor
        names[f"{each.name}.due"] = 0
        if each.targets_minor:
            names[f"{each.name}.target"] = each.targets_minor[0]
    names |= {f"fee.{fee.name}.due": 0 for fee in deal.fees}
    names |= {f"account.{name}": held for name, held in account_balances(deal).items()}
    accrued = dict.fromkeys([each.name for each in deal.classes], Fraction(0))
    accrued |= dict.fromkeys([f"fee.{fee.name}" for fee in deal.fees], Fraction(0))
    cohorts = (Cohort(deal.closing_on, pool),)
    return DealState(deal.status, deal.closing_on, names, accrued, cohorts=cohorts)


def cohorts_of(deal: Deal, state: DealState) -> tuple[Cohort, ...]:
    """The cohorts of a state; one that has none yet is all of the closing, of unknown defaults."""
    if state.cohorts:
        return state.cohorts
    lived = (0,) * (state.period * deal.months_per_period)
    return (Cohort(deal.closing_on, state.names["pool_end"], lived),)


def shared_cohorts(
    cohorts: Sequence[Cohort], balance_minor: int, defaulted_minor: int, months: int
) -> tuple[Cohort, ...]:
    """Cohorts after a period of which only the sums are known: shared by what performed."""
    weights = [each.balance_minor for each in cohorts]
    if not any(weights):
        weights[0] = 1
    balances, defaulted = split(balance_minor, weights), split(defaulted_minor, weights)
    return tuple(
        each.after_period(balance, split(lost, [1] * months))
        for each, balance, lost in zip(cohorts, balances, defaulted, strict=True)
    )


def state_of_deal(given: Mapping[str, Any], deal: Deal) -> DealState:
    """The state a file holds, refused if it is that of another deal."""
    state, names = state_of_dict(given), opening_state(deal).names
    if odd := sorted(state.names.keys() ^ names.keys()):
        whose = "the deal" if odd[0] in names else "the state"
        fix = "Give the folder of this deal, and the deal file its dates were paid by"
        what = f"a state of another deal: only {whose} has {odd[0]}"
        raise PaymentDateError(what, where=deal.name, fix=fix)
    held, pool = sum(each.balance_minor for each in state.cohorts), state.names["pool_end"]
    if state.cohorts and held != pool:
        what, fix = f"its cohorts hold {held}, and pool_end is {pool}", "Give the state as written"
        raise PaymentDateError(what, where=deal.name, fix=fix)
    return state


def account_balances(deal: Deal) -> dict[str, int]:
    """Every account at closing, the collection account first."""
    return {COLLECTION: 0, **deal.accounts}
