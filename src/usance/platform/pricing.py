"""Terms of new loans: what the line's rate and a source's fees make of a request."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import numpy as np

from usance.base.codes import Currency, FundingModel
from usance.base.rates import PPM
from usance.books.effective_interest.loans import effective_rates
from usance.loan.columns import TermColumns
from usance.loan.convention import CONVENTION_CODES, CONVENTIONS
from usance.loan.errors import ConventionNotInKernel, KernelRange
from usance.loan.loan import schedule
from usance.loan.terms import Terms
from usance.match.mandates.mandate import Mandate
from usance.platform.lender import SourceTerms

WHOLE_RATE = (FundingModel.ON_BALANCE_SHEET, FundingModel.ICE, FundingModel.TECH_SOLUTIONS)
"""Who lends its own money earns all of the rate; of a trust the coupon is the investors'."""
_CONVENTIONS = {code: CONVENTIONS[name] for name, code in CONVENTION_CODES.items()}


@dataclass(frozen=True)
class Request:
    """A loan that is asked for."""

    amount_minor: int
    months: int
    rate_ppm: int
    convention: int
    currency: Currency


def a_month_later(day: date) -> date:
    """The same day of the next month, or its last.

    >>> a_month_later(date(2024, 1, 31)), a_month_later(date(2023, 12, 15))
    (datetime.date(2024, 2, 29), datetime.date(2024, 1, 15))
    """
    year, month = (day.year + 1, 1) if day.month == 12 else (day.year, day.month + 1)
    return date(year, month, min(day.day, monthrange(year, month)[1]))


def price(request: Request, mandate: Mandate, source: SourceTerms, on: date) -> Terms:
    """The terms of a request funded by a source and disbursed on a day."""
    return price_many([(request, mandate, source)], on)[0]


def price_many(asked: Sequence[tuple[Request, Mandate, SourceTerms]], on: date) -> list[Terms]:
    """The terms of requests, each funded by its source, disbursed on one day."""
    priced = [Terms(**_given(*each, on)) for each in asked]
    # A year's fee on the balance, as if principal came back in equal parts; part of the fees. Where
    # the platform bears no risk of others' loans there is no guarantee, and nothing to be paid for.
    wanted = [request.amount_minor * source.guarantee_fee_ppm // PPM * (request.months + 1) // 24
              if mandate.model is FundingModel.CAPITAL_HEAVY else 0
              for request, mandate, source in asked]  # fmt: skip
    some = [place for place, fee in enumerate(wanted) if fee]
    for place, fees in zip(some, _fees([priced[place] for place in some]), strict=True):
        fee = min(wanted[place], fees)
        priced[place] = replace(priced[place], guarantee_fee_minor=fee)
    return priced


def _given(request: Request, mandate: Mandate, source: SourceTerms, on: date) -> dict[str, Any]:
    """The terms of a request but for the guarantor's fee."""
    amount, rate = request.amount_minor, request.rate_ppm
    whole = mandate.model in WHOLE_RATE
    return {
        "principal_minor": amount, "rate_ppm": rate, "instalments": request.months,
        "coupon_ppm": rate if whole else min(mandate.coupon_ppm, rate), "disbursed_on": on,
        "first_due_on": a_month_later(on), "currency": request.currency.name,
        "flat_fee_minor": amount * source.service_fee_ppm // PPM,
        "upfront_fee_minor": amount * source.upfront_fee_ppm // PPM,
        "convention": _CONVENTIONS[request.convention],
    }  # fmt: skip


def _fees(loans: Sequence[Terms]) -> list[int]:
    """All fees in the instalments of each loan."""
    if not loans:
        return []
    try:
        plan = schedule(TermColumns.of(loans))
    except (ConventionNotInKernel, KernelRange):  # then each in the form that knows it
        return [sum(row.guarantee_fee + row.service_fee for row in schedule(terms))
                for terms in loans]  # fmt: skip
    fees: list[int] = np.add.reduceat(plan.guarantee_fee + plan.service_fee,
                                      plan.offsets[:-1]).tolist()  # fmt: skip
    return fees


def effective_rates_ppb(loans: Sequence[Terms], models: Sequence[FundingModel]) -> list[int]:
    """The effective interest rate of each loan of our own, 0 of any other."""
    rates = [0] * len(loans)
    own = [place for place, model in enumerate(models) if model is FundingModel.ON_BALANCE_SHEET]
    if own:
        terms = [loans[place] for place in own]
        upfront = np.array([each.upfront_fee_minor for each in terms], np.int64)
        found = effective_rates(TermColumns.of(terms), upfront).tolist()
        for place, rate in zip(own, found, strict=True):
            rates[place] = int(rate)
    return rates


BORROWER_SIDE = (
    "principal_minor", "rate_ppm", "coupon_ppm", "instalments", "flat_fee_minor",
    "guarantee_fee_minor", "upfront_fee_minor",
)  # fmt: skip
"""The coupon and the fee for a guarantee tell interest from fees in an instalment."""


def borrower_side(terms: Terms) -> dict[str, Any]:
    """The terms that a borrower is shown and agrees to, whoever funds the loan."""
    shown = {name: getattr(terms, name) for name in BORROWER_SIDE}
    return {**shown, "convention": convention_code(terms)}


def convention_code(terms: Terms) -> int:
    """The number of a convention in the table `loans`."""
    return next(code for code, each in _CONVENTIONS.items() if each == terms.convention)
