"""Annual rates of a loan by the four measures in use: IRR, US actuarial, EU, and simple.

Flows are seen by the borrower: what is received is positive, what is paid negative, and every
fee is among them. A rate is in parts per billion (ppb), solved once and rounded once.

>>> loan = [Flow(date(1978, 1, 10), 5_000_00)]
>>> loan += [Flow(add_months(date(1978, 1, 10), k), -230_00) for k in range(1, 25)]
>>> actuarial_apr(loan), eu_apr(loan)
(96857081, 101274653)
>>> irr_by_dates(loan, RateBasis.NOMINAL_MONTHLY), irr_by_dates(loan)
(96857081, 101505324)
>>> str(percent(actuarial_apr(loan), decimals=2)), str(percent(eu_apr(loan), decimals=1))
('9.69', '10.1')
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from itertools import pairwise

from usance.base.dates import add_months
from usance.base.money import checked_int64, half_up
from usance.base.rates import PPB, to_ppb
from usance.loan.rates.equation import RateNotFound, TimedFlow
from usance.loan.rates.month_counts import anchor_of, months_back, months_before, whole_months
from usance.loan.rates.solver import Timeline
from usance.loan.rates.unit_periods import Unit, choose_unit_period

MONTHS_A_YEAR = 12
WEEKS_A_YEAR = 52
DAYS_A_YEAR = 365


@dataclass(frozen=True, slots=True)
class Flow:
    """Money on a day; the borrower receives what is positive and pays what is negative."""

    day: date
    amount_minor: int

    def __post_init__(self) -> None:
        checked_int64(self.amount_minor, where="flow")


class RateBasis(StrEnum):
    """Statement of an internal rate of return for a year."""

    EFFECTIVE = "effective"
    """Compounded over a year, time in actual days of 365."""
    NOMINAL_MONTHLY = "nominal_monthly"
    """Twelve times the monthly rate, time in whole months where all dates allow, else in days."""
    NOMINAL_BY_DAYS = "nominal_by_days"
    """Twelve times the monthly rate that actual days of 365 amount to."""
    EU_APR = "eu_apr"
    """Compounded over a year, time as annex I of Directive 2008/48/EC counts it."""


def irr_by_dates(flows: Sequence[Flow], basis: RateBasis = RateBasis.EFFECTIVE) -> int:
    """The internal rate of return of dated flows."""
    return irr_timeline(flows, basis).rate()


def irr_by_periods(
    amounts_minor: Sequence[int], per_year: int = 12, basis: RateBasis = RateBasis.NOMINAL_MONTHLY
) -> int:
    """The internal rate of return of flows at equal periods, the first at once.

    >>> irr_by_periods([1000_00, -510_00, -520_20]), irr_by_periods([100_00, -112_00], per_year=1)
    (240000000, 120000000)
    >>> irr_by_periods([1000_00, -510_00, -520_20], basis=RateBasis.EFFECTIVE)
    268241795
    """
    if basis is RateBasis.EFFECTIVE:
        flows = [TimedFlow(a, Fraction(k, per_year)) for k, a in enumerate(amounts_minor)]
        return Timeline(flows, Fraction(1)).rate()
    flows = [TimedFlow(amount, k) for k, amount in enumerate(amounts_minor)]
    return Timeline(flows, Fraction(per_year)).rate()


def actuarial_apr(flows: Sequence[Flow], start: date | None = None) -> int:
    """The annual percentage rate of Regulation Z, appendix J: unit-period rate × periods a year.

    `start` is the day the finance charge begins to be earned, if not the first advance's.

    >>> actuarial_apr([Flow(date(1978, 1, 3), 1000_00), Flow(date(1978, 9, 15), -1080_00)])
    114509804
    """
    return actuarial_timeline(flows, start).rate()


def eu_apr(flows: Sequence[Flow]) -> int:
    """The annual percentage rate of charge of Directive 2008/48/EC, annex I.

    >>> eu_apr([Flow(date(1994, 1, 1), 1000_00), Flow(date(1995, 7, 1), -1200_00)])
    129243235
    """
    return eu_timeline(flows).rate()


def simple_rate(charges_minor: int, balances: Sequence[tuple[date, int]]) -> int:
    """Charges a year over the average principal outstanding; no compounding.

    `balances` names the days on which the principal outstanding changes, the last with 0.

    >>> halves = [(date(2023, 1, 1), 1000_00), (date(2023, 7, 2), 500_00), (date(2024, 1, 1), 0)]
    >>> simple_rate(90_00, halves)
    120109689
    """
    if len(balances) < 2 or balances[-1][1] != 0 or any(minor < 0 for _, minor in balances):
        raise RateNotFound(
            "no simple rate: the balances are not those of a loan",
            fix="Give (day, principal) from the disbursement to the day it is 0, none negative",
        )
    spans = [((after - before).days, minor) for (before, minor), (after, _) in pairwise(balances)]
    if any(days <= 0 for days, _ in spans):
        raise RateNotFound("no simple rate: the days are out of order", fix="Sort them, each once")
    principal_days = sum(days * minor for days, minor in spans)
    if not principal_days:
        raise RateNotFound("no simple rate: the principal is 0", fix="Give a principal above 0")
    return to_ppb(Fraction(charges_minor * DAYS_A_YEAR, principal_days))


def percent(rate_ppb: int, decimals: int) -> Decimal:
    """A rate in per cent as it is published, rounded half-up; the EU asks for one decimal.

    >>> str(percent(129_500_000, decimals=1))
    '13.0'
    """
    digits = half_up(rate_ppb * 10**decimals, PPB // 100)
    return Decimal(digits).scaleb(-decimals)


def irr_timeline(flows: Sequence[Flow], basis: RateBasis) -> Timeline:
    """Dated flows on the time axis of an internal rate of return."""
    if basis is RateBasis.EU_APR:
        return eu_timeline(flows)
    start = _first_advance(flows)
    if basis is RateBasis.NOMINAL_MONTHLY:
        anchor = anchor_of({flow.day for flow in flows if flow.day != start})
        months = [whole_months(start, flow.day, anchor) for flow in flows]
        if None not in months:
            times = [Fraction(month or 0) for month in months]
            return _timeline(flows, times, MONTHS_A_YEAR)
    per_year = 1 if basis is RateBasis.EFFECTIVE else MONTHS_A_YEAR
    times = [Fraction((flow.day - start).days * per_year, DAYS_A_YEAR) for flow in flows]
    return _timeline(flows, times, per_year)


def actuarial_timeline(flows: Sequence[Flow], start: date | None = None) -> Timeline:
    """Dated flows in unit-periods and fractions of them; each date is measured by itself."""
    start = start or _first_advance(flows)
    _require_after(start, flows)
    advances = [flow.day for flow in flows if flow.amount_minor > 0]
    payments = [flow.day for flow in flows if flow.amount_minor < 0]
    unit = choose_unit_period(start, advances, payments)
    anchors = {True: anchor_of({*advances}), False: anchor_of({*payments})}
    timed = []
    for flow in flows:
        measured = unit.measure(start, flow.day, anchors[flow.amount_minor > 0])
        timed.append(TimedFlow(flow.amount_minor, *measured))
    return Timeline(timed, unit.per_year)


def eu_timeline(flows: Sequence[Flow]) -> Timeline:
    """Dated flows in years, counted in the period the repayments come in."""
    start = _first_advance(flows)
    advances = [flow.day for flow in flows if flow.amount_minor > 0]
    payments = [flow.day for flow in flows if flow.amount_minor < 0]
    unit = choose_unit_period(start, advances, payments).unit
    anchor = anchor_of({flow.day for flow in flows if flow.day != start})
    return _timeline(flows, [eu_years(start, flow.day, unit, anchor) for flow in flows], 1)


def eu_years(start: date, end: date, unit: Unit, anchor: int | None = None) -> Fraction:
    """Years between two dates by the annex: whole weeks, months or years, then days.

    Periods are counted back from the later date. The days left are of 365, or of 366 where the
    year back from the last of them has a 29 February.

    >>> eu_years(date(2012, 1, 12), date(2012, 2, 15), Unit.MONTH)  # 1/12 + 3/365
    Fraction(401, 4380)
    >>> eu_years(date(2012, 1, 12), date(2012, 1, 30), Unit.WEEK) - Fraction(2, 52)
    Fraction(4, 365)
    """
    if unit is Unit.WEEK:
        weeks, days = divmod((end - start).days, 7)
        whole, last = Fraction(weeks, WEEKS_A_YEAR), date.fromordinal(start.toordinal() + days)
    elif (months := whole_months(start, end, anchor)) is not None:
        return Fraction(months, MONTHS_A_YEAR)
    else:
        count, days = months_back(start, end, anchor)
        if unit not in (Unit.MONTH, Unit.SEMIMONTH):
            count -= count % MONTHS_A_YEAR
        whole, last = Fraction(count, MONTHS_A_YEAR), months_before(end, count, anchor)
    year = (last - add_months(last, -MONTHS_A_YEAR)).days
    return whole + Fraction((last - start).days, year)


def _timeline(flows: Sequence[Flow], times: Sequence[Fraction], per_year: int) -> Timeline:
    timed = [TimedFlow(flow.amount_minor, time) for flow, time in zip(flows, times, strict=True)]
    return Timeline(timed, Fraction(per_year))


def _first_advance(flows: Sequence[Flow]) -> date:
    advances = [flow.day for flow in flows if flow.amount_minor > 0]
    if not advances:
        raise RateNotFound(
            "no rate: the borrower receives nothing",
            fix="Give what is received as positive and what is paid as negative",
        )
    start = min(advances)
    _require_after(start, flows)
    return start


def _require_after(start: date, flows: Sequence[Flow]) -> None:
    early = [flow.day for flow in flows if flow.day < start and flow.amount_minor]
    if early:
        raise RateNotFound(
            f"no rate: a flow on {min(early)} lies before the start on {start}",
            fix="Set a fee paid before the loan against what is received first",
        )
