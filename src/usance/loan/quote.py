"""The quote of a loan: its instalments, its charges by component, and its annual rates.

A quote above the cap in force is refused, never trimmed.

>>> from datetime import date
>>> terms = Terms(
...     principal_minor=10_000_00,
...     rate_ppm=180_000,
...     instalments=12,
...     coupon_ppm=60_000,
...     disbursed_on=date(2024, 1, 15),
...     first_due_on=date(2024, 2, 15),
... )
>>> offer = quote(terms, Parameters.load())
>>> offer.instalment_minor, offer.total_to_pay_minor, offer.cost_minor
(91680, 1100161, 100161)
>>> offer.charges.interest, offer.charges.service_fee, offer.vat_minor
(33388, 66773, 3780)
>>> offer.rates.nominal_ppb, offer.rates.us_apr_ppb, str(offer.cap.value)
(180001760, 180001760, '24%')
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import accumulate

from usance.base.errors import unknown
from usance.base.money import vat_in
from usance.base.parameters import Parameters, Value
from usance.loan.convention import DayCount
from usance.loan.exact.plan import schedule
from usance.loan.rates.annual import (
    Flow,
    RateBasis,
    actuarial_apr,
    eu_apr,
    irr_by_dates,
    simple_rate,
)
from usance.loan.rates.cap import CAP, check_cap
from usance.loan.terms import Terms
from usance.loan.views import ComponentAmounts, Instalment

CAP_MEASURE = "pricing.cap_measure"
CAP_MEASURES: dict[str, RateBasis | None] = {
    "nominal": None,  # by months or by days, as the loan counts its interest
    "effective": RateBasis.EFFECTIVE,
    "eu_apr": RateBasis.EU_APR,
}
"""Rates that a cap may limit, by their name in `AnnualRates`."""


@dataclass(frozen=True, slots=True)
class AnnualRates:
    """The same loan by every measure in use, in parts per billion."""

    nominal_ppb: int  # internal rate of return, twelve times the monthly rate
    effective_ppb: int  # internal rate of return, compounded over a year, by dates
    simple_ppb: int  # charges a year over the average principal outstanding
    us_apr_ppb: int  # Regulation Z, appendix J
    eu_apr_ppb: int  # Directive 2008/48/EC, annex I


@dataclass(frozen=True, slots=True)
class Quote:
    """An offer a borrower can be shown: within the cap on the day it is made."""

    terms: Terms
    on: date
    instalments: tuple[Instalment, ...]
    rates: AnnualRates
    cap: Value
    cap_measure: str = "nominal"
    """The rate that the cap limits, one of `CAP_MEASURES`."""

    @property
    def legal_rate_ppb(self) -> int:
        """The annual rate that the law of the market names."""
        ppb: int = getattr(self.rates, f"{self.cap_measure}_ppb")
        return ppb

    @property
    def instalment_minor(self) -> int:
        """The amount of the first instalment."""
        return next(row.total for row in self.instalments if row.number)

    @property
    def charges(self) -> ComponentAmounts:
        """Charges within the instalments, by component: all but principal."""
        rows = self.instalments
        return ComponentAmounts(
            interest=sum(row.interest for row in rows),
            guarantee_fee=sum(row.guarantee_fee for row in rows),
            service_fee=sum(row.service_fee for row in rows),
        )

    @property
    def total_to_pay_minor(self) -> int:
        """Everything the borrower pays after the disbursement."""
        return sum(row.total for row in self.instalments)

    @property
    def cost_minor(self) -> int:
        """Everything the borrower pays beyond principal, the upfront fee included."""
        return self.charges.total + self.terms.upfront_fee_minor

    @property
    def vat_minor(self) -> int:
        """The tax contained in all fees together."""
        fees = self.cost_minor - self.charges.interest
        return vat_in(fees, self.terms.vat_ppm)


def quote(terms: Terms, parameters: Parameters, *, on: date | None = None) -> Quote:
    """The offer these terms make on a day (that of the disbursement), or `RateCapExceeded`."""
    day = on or terms.disbursed_on
    rows = tuple(schedule(terms))
    flows = borrower_flows(terms, rows)
    basis = cap_basis(terms)
    cost = check_cap(flows, day, parameters, basis=legal_basis(basis, parameters, day))
    charges = sum(row.total - row.principal for row in rows) + terms.upfront_fee_minor
    rates = AnnualRates(
        nominal_ppb=cost.rate_ppb if cost.basis is basis else irr_by_dates(flows, basis),
        effective_ppb=irr_by_dates(flows),
        simple_ppb=simple_rate(charges, _balances(terms, rows)),
        us_apr_ppb=actuarial_apr(flows),
        eu_apr_ppb=eu_apr(flows),
    )
    measure = str(parameters.at(CAP_MEASURE, day).value)
    return Quote(terms, day, rows, rates, parameters.at(CAP, day), measure)


def borrower_flows(terms: Terms, rows: Sequence[Instalment]) -> list[Flow]:
    """Cash flows of the borrower, one a day: received positive, paid negative."""
    days: dict[date, int] = {}
    for when, drawn in _drawn(terms):
        days[when] = days.get(when, 0) + drawn
    days[terms.disbursed_on] -= terms.upfront_fee_minor
    for row in rows:
        days[row.due_on] = days.get(row.due_on, 0) - row.total
    return [Flow(day, amount) for day, amount in sorted(days.items()) if amount]


def cap_basis(terms: Terms) -> RateBasis:
    """The basis of the nominal rate: by months, or by days for a daily day count."""
    monthly = terms.convention.day_count is DayCount.MONTHLY
    return RateBasis.NOMINAL_MONTHLY if monthly else RateBasis.NOMINAL_BY_DAYS


def legal_basis(nominal: RateBasis, parameters: Parameters, on: date) -> RateBasis:
    """The basis of the rate that the cap of a market limits on a day."""
    measure = str(parameters.at(CAP_MEASURE, on).value)
    if measure not in CAP_MEASURES:
        raise unknown("measure", measure, CAP_MEASURES, where=CAP_MEASURE)
    return CAP_MEASURES[measure] or nominal


def _drawn(terms: Terms) -> list[tuple[date, int]]:
    first = terms.principal_minor - sum(amount for _, amount in terms.tranches)
    return [(terms.disbursed_on, first), *terms.tranches]


def _balances(terms: Terms, rows: Sequence[Instalment]) -> list[tuple[date, int]]:
    """The principal outstanding from each day on which it changes."""
    changes: dict[date, int] = {}
    for when, amount in (*_drawn(terms), *((row.due_on, -row.principal) for row in rows)):
        changes[when] = changes.get(when, 0) + amount
    days = sorted(changes)
    return list(zip(days, accumulate(changes[day] for day in days), strict=True))
