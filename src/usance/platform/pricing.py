"""Terms of new loans: what the line's rate and a source's fees make of a request."""

from __future__ import annotations

from calendar import monthrange
from dataclasses import dataclass
from datetime import date
from typing import Any

from usance.base.codes import Currency, FundingModel
from usance.base.rates import PPM
from usance.books.effective_interest.loans import effective_rates
from usance.loan.columns import TermColumns
from usance.loan.convention import CONVENTION_CODES, CONVENTIONS
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
    amount, rate = request.amount_minor, request.rate_ppm
    whole = mandate.model in WHOLE_RATE
    given: dict[str, Any] = {
        "principal_minor": amount, "rate_ppm": rate, "instalments": request.months,
        "coupon_ppm": rate if whole else min(mandate.coupon_ppm, rate), "disbursed_on": on,
        "first_due_on": a_month_later(on), "currency": request.currency.name,
        "flat_fee_minor": amount * source.service_fee_ppm // PPM,
        "upfront_fee_minor": amount * source.upfront_fee_ppm // PPM,
        "convention": _CONVENTIONS[request.convention],
    }  # fmt: skip
    # A year's fee on the balance, as if principal came back in equal parts; part of the fees.
    wanted = amount * source.guarantee_fee_ppm // PPM * (request.months + 1) // 24
    if wanted:
        rows = schedule(Terms(**given))
        wanted = min(wanted, sum(row.guarantee_fee + row.service_fee for row in rows))
    return Terms(**given, guarantee_fee_minor=wanted)


def effective_rate_ppb(terms: Terms, model: FundingModel) -> int:
    """The effective interest rate of a loan of our own, 0 of any other."""
    if model is not FundingModel.ON_BALANCE_SHEET:
        return 0
    import numpy as np

    upfront = np.array([terms.upfront_fee_minor], np.int64)
    return int(effective_rates(TermColumns.of([terms]), upfront)[0])


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
