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
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from functools import cache

from usance.base.money import half_up
from usance.base.rates import PPM
from usance.fund.deal import Amortisation, Deal, MonthFlows, PoolTerms, Scenario, at
from usance.fund.payment_date import Collections, Distribution, pay_date
from usance.fund.state import Cohort, DealState, cohorts_of, opening_state

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
    lived: int = 0
    """Months of the curves that are over; the schedule begins now."""
    defaulted: tuple[int, ...] = ()
    """Principal that defaulted in each month before, of which recoveries come yet."""

    def under(self, scenario: Scenario) -> Stratum:
        """The stratum with its curves multiplied."""
        return replace(
            self,
            mdr_ppm=multiplied(scenario.mdr_ppm or self.mdr_ppm, scenario.default_hundredths),
            smm_ppm=multiplied(scenario.smm_ppm or self.smm_ppm, scenario.prepayment_hundredths),
            recovery_ppm=multiplied(self.recovery_ppm, scenario.recovery_hundredths),
        )


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
        self.defaulted, self.months = list(stratum.defaulted), 0

    def month(self) -> MonthFlows:
        """One more month."""
        self.months += 1
        stratum, number = self.stratum, self.months
        age, alive = stratum.lived + number, number <= len(stratum.principal)
        lost = _share(self.balance_minor, at(stratum.mdr_ppm, age)) if alive else 0
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
        prepaid = _share(left - due, at(stratum.smm_ppm, age))
        self.balance_minor = left - due - prepaid
        return MonthFlows(interest, due + prepaid, lost, recovered)


class PoolRun:
    """The pool of a deal on its way: its strata, given flows, and what is bought."""

    def __init__(
        self, deal: Deal, scenario: Scenario, strata: Sequence[Stratum] = (),
        state: DealState | None = None,
    ) -> None:  # fmt: skip
        state = state or opening_state(deal)
        self._deal, self._scenario = deal, scenario
        self._month = state.period * deal.months_per_period
        self._given: Sequence[MonthFlows] = ()
        self._cohorts, self._runs = list(cohorts_of(deal, state)), []
        if strata:
            whole = sum(each.balance_minor for each in strata)
            self._cohorts = [Cohort(deal.closing_on, whole, (0,) * self._month)]
            self._runs = [[StratumRun(stratum.under(scenario)) for stratum in strata]]
            return
        for cohort in self._cohorts:
            terms = cohort_terms(deal, cohort)
            if terms is None:
                self._given = deal.pool.flows
            stratum = None if terms is None else cohort_stratum(terms, cohort).under(scenario)
            self._runs.append([] if stratum is None else [StratumRun(stratum)])

    def period(self) -> Collections:
        """The collections of the next period."""
        months = range(self._month, self._month + self._deal.months_per_period)
        whole = MonthFlows()
        for number, (cohort, runs) in enumerate(zip(self._cohorts, self._runs, strict=True)):
            given = self._given if number == 0 else ()
            balance, defaulted = cohort.balance_minor, []
            for month in months:
                flows = given[month] if month < len(given) else MonthFlows()
                for run in runs:
                    flows += run.month()
                balance -= flows.principal_minor + flows.defaulted_minor
                defaulted.append(flows.defaulted_minor)
                whole += flows
            self._cohorts[number] = cohort.after_period(balance, defaulted)
        self._month = months.stop
        pool_end = sum(each.balance_minor for each in self._cohorts)
        return Collections(whole, pool_end, tuple(self._cohorts))

    def buy(self, bought_minor: int, paid_on: date) -> None:
        """Loans bought on a payment date; the next period is their first month."""
        purchase = self._deal.purchase
        if bought_minor and purchase is not None:
            stratum = stratum_of(purchase.terms, bought_minor).under(self._scenario)
            self._runs.append([StratumRun(stratum)])
            self._cohorts.append(Cohort(paid_on, bought_minor))


def project(
    deal: Deal,
    scenario: Scenario | None = None,
    *,
    strata: Sequence[Stratum] = (),
    state: DealState | None = None,
) -> Projection:
    """All payment dates to come, from closing or from a state.

    `strata` stand for the deal's own pool: those measured, or the loans a live deal has now.
    """
    state = state or opening_state(deal)
    pool = PoolRun(deal, scenario or Scenario(), strata, state)
    rows: list[Distribution] = []
    while state.period < deal.periods and not state.is_called:
        state, row = pay_date(deal, state, pool.period())
        pool.buy(row.bought_minor, row.paid_on)
        rows.append(row)
    return Projection(deal, tuple(rows), state)


def stratum_of(terms: PoolTerms, balance_minor: int) -> Stratum:
    """A pool of one kind as a stratum."""
    interest, principal = schedule_shares(terms.rate_ppm, terms.months, terms.amortisation)
    recovery = (*([0] * terms.recovery_lag), terms.recovery_ppm)
    return Stratum(balance_minor, interest, principal, terms.mdr_ppm, terms.smm_ppm, recovery)


def cohort_terms(deal: Deal, cohort: Cohort) -> PoolTerms | None:
    """Terms that the file has for loans of a cohort; None if it gives their flows."""
    is_bought = cohort.came_on > deal.closing_on and deal.purchase is not None
    return deal.purchase.terms if is_bought and deal.purchase else deal.pool.terms


def cohort_stratum(terms: PoolTerms, cohort: Cohort) -> Stratum:
    """A cohort as a stratum, so far along its own schedule and curves.

    Past the end of its schedule it repays in a month what it still owes.
    """
    whole = stratum_of(terms, cohort.balance_minor)
    cut = min(cohort.months, terms.months - 1)
    return replace(
        whole, interest=whole.interest[cut:], principal=whole.principal[cut:],
        lived=cohort.months, defaulted=cohort.defaulted_minor,
    )  # fmt: skip


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
