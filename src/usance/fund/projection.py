"""A deal's life under a scenario: its pool month by month, its payment dates in a row.

A month takes performing principal B: of it D = B × mdr defaults, the rest L pays interest and what
is due by schedule, and what is not yet due prepays at smm. Recoveries come from what defaulted some
months ago. Each amount is rounded half-up. This is the exact form; `scenario_kernel` runs the same
on thousands of scenarios.

>>> from usance.fund.sample import sample_deal
>>> found = project(sample_deal())
>>> [row.classes["A"].principal_minor for row in found.distributions][:3]
[861229527, 905974057, 942071809]
>>> found.collected_minor, found.paid_minor
(10792670830, 10892670830)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from usance.base.money import half_up
from usance.base.rates import PPM
from usance.fund.deal import Amortisation, Deal, MonthFlows, PoolTerms, Scenario, at
from usance.fund.payment_date import Collections, Distribution, pay_date
from usance.fund.state import DealState, opening_state

HUNDREDTHS = 100
MONTHS_A_YEAR = 12


@dataclass(frozen=True, slots=True)
class Stratum:
    """Loans that are projected together: their schedule as shares, their curves by month."""

    balance_minor: int
    interest: tuple[Fraction, ...]
    """Interest of month k over the balance before it."""
    principal: tuple[Fraction, ...]
    """Principal due in month k over the balance before it; the last is 1."""
    mdr_ppm: tuple[int, ...]
    smm_ppm: tuple[int, ...]
    recovery_ppm: tuple[int, ...]
    """Recovered of a defaulted amount, by months since, the month itself first."""

    def under(self, scenario: Scenario) -> Stratum:
        """The stratum with its curves multiplied."""
        return Stratum(
            self.balance_minor, self.interest, self.principal,
            multiplied(scenario.mdr_ppm or self.mdr_ppm, scenario.default_hundredths),
            multiplied(scenario.smm_ppm or self.smm_ppm, scenario.prepayment_hundredths),
            multiplied(self.recovery_ppm, scenario.recovery_hundredths),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Projection:
    """The payment dates of a deal, and its state after the last."""

    deal: Deal
    distributions: tuple[Distribution, ...]
    state: DealState

    @property
    def collected_minor(self) -> int:
        """Everything that came in."""
        return sum(row.collected_minor for row in self.distributions)

    @property
    def paid_minor(self) -> int:
        """Everything that went out."""
        return sum(row.paid_minor for row in self.distributions)

    def short_minor(self, name: str) -> int:
        """Balance and interest of a class that stay unpaid at the end."""
        return self.state.names[f"{name}.balance"] + self.state.names[f"{name}.due"]


class StratumRun:
    """A stratum on its way through the months."""

    def __init__(self, stratum: Stratum) -> None:
        self.stratum, self.balance_minor = stratum, stratum.balance_minor
        self.defaulted: list[int] = []

    def month(self) -> MonthFlows:
        """One more month."""
        stratum, number = self.stratum, len(self.defaulted) + 1
        alive = number <= len(stratum.principal)
        lost = _share(self.balance_minor, at(stratum.mdr_ppm, number)) if alive else 0
        self.defaulted.append(lost)
        recovered = sum(
            _share(amount, ppm)
            for amount, ppm in zip(reversed(self.defaulted), stratum.recovery_ppm, strict=False)
        )
        left = self.balance_minor - lost
        if not alive:
            return MonthFlows(recovered_minor=recovered)
        interest = _part(left, stratum.interest[number - 1])
        due = _part(left, stratum.principal[number - 1])
        prepaid = _share(left - due, at(stratum.smm_ppm, number))
        self.balance_minor = left - due - prepaid
        return MonthFlows(interest, due + prepaid, lost, recovered)


class PoolRun:
    """The pool of a deal on its way: its strata, given flows, and what is bought."""

    def __init__(self, deal: Deal, scenario: Scenario, strata: Sequence[Stratum] = ()) -> None:
        self._deal, self._scenario = deal, scenario
        self._given = [] if strata else list(deal.pool.flows)
        self._held = deal.pool.balance_minor if self._given else 0
        if not strata and deal.pool.terms is not None:
            strata = [stratum_of(deal.pool.terms, deal.pool.balance_minor)]
        self._runs = [StratumRun(stratum.under(scenario)) for stratum in strata]
        self._month = 0

    def period(self) -> Collections:
        """The collections of the next period."""
        flows = MonthFlows()
        for _ in range(self._deal.months_per_period):
            for run in self._runs:
                flows += run.month()
            if self._month < len(self._given):
                given = self._given[self._month]
                self._held -= given.principal_minor + given.defaulted_minor
                flows += given
            self._month += 1
        return Collections(flows, self._held + sum(run.balance_minor for run in self._runs))

    def buy(self, bought_minor: int) -> None:
        """Loans bought on a payment date; the next period is their first month."""
        purchase = self._deal.purchase
        if bought_minor and purchase is not None:
            stratum = stratum_of(purchase.terms, bought_minor).under(self._scenario)
            self._runs.append(StratumRun(stratum))


def project(
    deal: Deal,
    scenario: Scenario | None = None,
    *,
    strata: Sequence[Stratum] = (),
    state: DealState | None = None,
) -> Projection:
    """All payment dates to come, from closing or from a state.

    `strata` stand for the deal's own pool: the loans of a live deal, or those measured.
    """
    state = state or opening_state(deal)
    pool = PoolRun(deal, scenario or Scenario(), strata)
    rows: list[Distribution] = []
    while state.period < deal.periods and not state.is_called:
        state, row = pay_date(deal, state, pool.period())
        pool.buy(row.bought_minor)
        rows.append(row)
    return Projection(deal, tuple(rows), state)


def stratum_of(terms: PoolTerms, balance_minor: int) -> Stratum:
    """A pool of one kind as a stratum."""
    interest, principal = schedule_shares(terms.rate_ppm, terms.months, terms.amortisation)
    recovery = (*([0] * terms.recovery_lag), terms.recovery_ppm)
    return Stratum(balance_minor, interest, principal, terms.mdr_ppm, terms.smm_ppm, recovery)


@cache
def schedule_shares(
    rate_ppm: int, months: int, amortisation: Amortisation
) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    """Interest and principal of each month over the balance before it.

    >>> interest, principal = schedule_shares(120_000, 3, Amortisation.EQUAL_PRINCIPAL)
    >>> [str(share) for share in principal], str(interest[0])
    (['1/3', '1/2', '1'], '1/100')
    """
    rate = Fraction(rate_ppm, PPM * MONTHS_A_YEAR)
    left = range(months, 0, -1)
    if amortisation is Amortisation.LEVEL and rate:
        due = tuple(rate / ((1 + rate) ** m - 1) if m > 1 else Fraction(1) for m in left)
    else:
        due = tuple(Fraction(1, m) for m in left)
    return (rate,) * months, due


def multiplied(curve_ppm: Sequence[int], hundredths: int) -> tuple[int, ...]:
    """A curve times a multiple, no month above all of it.

    >>> multiplied([1_000, 400_000], 300)
    (3000, 1000000)
    """
    return tuple(min(PPM, half_up(ppm * hundredths, HUNDREDTHS)) for ppm in curve_ppm)


def _share(amount: int, ppm: int) -> int:
    return half_up(amount * ppm, PPM)


def _part(amount: int, share: Fraction) -> int:
    return half_up(amount * share.numerator, share.denominator)
