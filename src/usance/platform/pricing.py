"""Terms of new loans: what the line's rate and a source's fees make of a request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np

from usance.base.arrays import I64
from usance.base.codes import Currency, FundingModel
from usance.base.dates import to_day
from usance.books.effective_interest.loans import effective_rates
from usance.loan import pricing
from usance.loan.columns import TermColumns
from usance.loan.convention import CONVENTION_CODES, CONVENTIONS
from usance.loan.pricing import Requests, SourceFees, one_of
from usance.loan.terms import Terms
from usance.match.mandates.mandate import Mandate
from usance.platform.lender import SourceTerms

_CONVENTIONS = {code: CONVENTIONS[name] for name, code in CONVENTION_CODES.items()}


@dataclass(frozen=True)
class Request:
    """A loan that is asked for."""

    amount_minor: int
    months: int
    rate_ppm: int
    convention: int
    currency: Currency


def price(request: Request, mandate: Mandate, source: SourceTerms, on: date) -> Terms:
    """The terms of a request funded by a source and disbursed on a day."""
    return price_many([(request, mandate, source)], on)[0]


def price_many(asked: Sequence[tuple[Request, Mandate, SourceTerms]], on: date) -> list[Terms]:
    """The terms of requests, each funded by its source, disbursed on one day."""
    columns = pricing.price(
        Requests(*_columns(
            (each.amount_minor, each.months, each.rate_ppm, each.convention, to_day(on))
            for each, _, _ in asked
        )),
        SourceFees(*_columns(
            (int(mandate.model), mandate.coupon_ppm, source.service_fee_ppm,
             source.upfront_fee_ppm, source.guarantee_fee_ppm)
            for _, mandate, source in asked
        )),
    )  # fmt: skip
    return [one_of(columns, place, request.currency.name)
            for place, (request, _, _) in enumerate(asked)]  # fmt: skip


def _columns(rows: Iterable[tuple[int, ...]]) -> Iterator[I64]:
    """The columns of rows of five numbers."""
    return iter(np.array(list(rows), np.int64).reshape(-1, 5).T)


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
