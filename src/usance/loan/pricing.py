"""Prices of new loans: the terms that a rate and the fees of a source make of requests, as columns.

The one pricer: the twin's months and the live platform both call it.

>>> asked = Requests(*(np.array([each], np.int64) for each in (12_000_00, 12, 240_000, 1, 19_737)))
>>> heavy = int(FundingModel.CAPITAL_HEAVY)
>>> fees = SourceFees(*(np.array([each], np.int64) for each in (heavy, 80_000, 0, 0, 12_000)))
>>> terms = price(asked, fees)
>>> {name: int(terms[name][0]) for name in ("coupon_ppm", "guarantee_fee_minor", "first_due_on")}
{'coupon_ppm': 80000, 'guarantee_fee_minor': 7800, 'first_due_on': 19768}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from usance.base.arrays import I64
from usance.base.codes import FundingModel
from usance.base.dates import from_day, month_starts
from usance.base.rates import PPM
from usance.loan.batch import schedule_columns
from usance.loan.columns import TermColumns
from usance.loan.convention import CONVENTION_CODES, CONVENTIONS
from usance.loan.errors import ConventionNotInKernel, KernelRange
from usance.loan.loan import schedule
from usance.loan.terms import Terms

WHOLE_RATE = (FundingModel.ON_BALANCE_SHEET, FundingModel.ICE, FundingModel.TECH_SOLUTIONS)
"""Who lends its own money earns all of the rate; of a trust the coupon is the investors'."""
_STARTS = month_starts(0, 12 * 181).astype(np.int64)
_CONVENTIONS = {code: CONVENTIONS[name] for name, code in CONVENTION_CODES.items()}
_TYPES: dict[str, Any] = {"rate_ppm": np.int32, "coupon_ppm": np.int32, "instalments": np.int16,
          "disbursed_on": np.int32, "first_due_on": np.int32, "convention": np.int16}  # fmt: skip


class Requests(NamedTuple):
    """Loans that are asked for, with the day of their disbursement."""

    amount_minor: I64
    months: I64
    rate_ppm: I64
    convention: I64
    disbursed_on: I64


class SourceFees(NamedTuple):
    """Terms of the source of each request."""

    model: I64
    coupon_ppm: I64
    service_fee_ppm: I64
    upfront_fee_ppm: I64
    guarantee_fee_ppm: I64


def price(asked: Requests, fees: SourceFees) -> dict[str, I64]:
    """The terms of each request, and its upfront fee."""
    amount, rate = asked.amount_minor, asked.rate_ppm
    whole = np.isin(fees.model, [int(each) for each in WHOLE_RATE])
    terms = {
        "principal_minor": amount, "rate_ppm": rate,
        "coupon_ppm": np.where(whole, rate, np.minimum(fees.coupon_ppm, rate)),
        "instalments": asked.months, "disbursed_on": asked.disbursed_on,
        "first_due_on": a_month_later(asked.disbursed_on),
        "flat_fee_minor": amount * fees.service_fee_ppm // PPM,
        "guarantee_fee_minor": np.zeros(len(amount), np.int64),
        "convention": asked.convention,
    }  # fmt: skip
    # A year's fee on the balance, as if principal came back in equal parts; part of the fees. Where
    # the platform bears no risk of others' loans there is no guarantee, and nothing to be paid for.
    a_year = amount * fees.guarantee_fee_ppm // PPM * (asked.months + 1) // 24
    wanted = np.where(fees.model == int(FundingModel.CAPITAL_HEAVY), a_year, 0)
    if len(some := np.flatnonzero(wanted)):
        have = _fees({name: values[some] for name, values in terms.items()})
        terms["guarantee_fee_minor"][some] = np.minimum(wanted[some], have)
    return {**terms, "upfront_fee_minor": amount * fees.upfront_fee_ppm // PPM}


def month_of(days: I64) -> I64:
    """The month of each day."""
    return np.searchsorted(_STARTS, days, side="right") - 1


def a_month_later(days: I64) -> I64:
    """The same day of the next month, or its last.

    >>> [str(from_day(int(day))) for day in a_month_later(np.array([19_753, 19_723]))]
    ['2024-02-29', '2024-02-01']
    """
    month = month_of(days)
    place = days - _STARTS[month]
    long = _STARTS[month + 2] - _STARTS[month + 1]
    return np.asarray(_STARTS[month + 1] + np.minimum(place, long - 1))


def typed(terms: Mapping[str, I64]) -> dict[str, Any]:
    """The terms in the types that the kernel and the table of loans have."""
    return {name: values.astype(_TYPES.get(name, np.int64), copy=False)
            for name, values in terms.items()}  # fmt: skip


def one_of(terms: Mapping[str, I64], place: int, currency: str = "CNY") -> Terms:
    """The terms of one request."""
    given: dict[str, Any] = {name: int(values[place]) for name, values in terms.items()}
    for name in ("disbursed_on", "first_due_on"):
        given[name] = from_day(given[name])
    given["convention"] = _CONVENTIONS[given["convention"]]
    return Terms(**given, currency=currency)


def _fees(terms: Mapping[str, I64]) -> I64:
    """All fees of each schedule: the guarantor cannot have more."""
    try:
        plan = schedule_columns(TermColumns(**typed(terms)))
    except (ConventionNotInKernel, KernelRange):  # then each in the form that knows it
        loans = (one_of(terms, place) for place in range(len(terms["principal_minor"])))
        return np.array([sum(row.guarantee_fee + row.service_fee for row in schedule(loan))
                         for loan in loans])  # fmt: skip
    fees: I64 = np.add.reduceat(plan.guarantee_fee + plan.service_fee, plan.offsets[:-1])
    return fees
