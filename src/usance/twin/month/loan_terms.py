"""Terms of new loans: what the borrower's grade and the source's model make of a request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from usance.base.arrays import I64
from usance.base.codes import Currency, FundingModel, Product, parse
from usance.base.columns import make
from usance.books.effective_interest.loans import effective_rates
from usance.loan.columns import TermColumns
from usance.loan.pricing import Requests, SourceFees, price, typed
from usance.twin.run.group_facts import own_funds_account
from usance.world.institutions import Institutions

PRODUCTS = len(Product)


def cells_of(source: I64, product: I64) -> I64:
    """The cell of each loan: sources one after the other, each with all products."""
    return (source - 1) * PRODUCTS + product + 1


def cells_table(institutions: Institutions) -> pa.Table:
    """Every cell there can be."""
    funding = institutions.funding
    source = np.repeat(np.arange(1, len(funding) + 1), PRODUCTS)
    product = np.tile(np.arange(PRODUCTS), len(funding))
    model = np.array([int(each.model) for each in funding])[source - 1]
    own = model == int(FundingModel.ON_BALANCE_SHEET)
    return make(
        "cells", cell=cells_of(source, product), product=product, source=source, model=model,
        entity=np.array([each.entity for each in funding])[source - 1],
        fund_cash=np.where(own, own_funds_account(institutions.scenario), 0),
    )  # fmt: skip


@dataclass(frozen=True)
class Pricer:
    """Makes terms by grade and source."""

    institutions: Institutions

    def rate_ppm(self, grade: I64) -> I64:
        """The nominal rate of each grade; one beyond the list is the nearest on it."""
        rates = np.array(self.institutions.scenario.pricing.rate_ppm, np.int64)
        return np.asarray(rates[np.clip(grade, 1, len(rates)) - 1])

    def columns(
        self, *, source: I64, grade: I64, amount_minor: I64, months: I64, convention: I64,
        disbursed_on: I64, month: int,
    ) -> dict[str, Any]:  # fmt: skip
        """The columns of new loans on a month's terms, with upfront fee, model and trigger."""
        funding = self.institutions.funding_of(month)
        at = source - 1
        rate = self.rate_ppm(grade)
        coupons = [self.institutions.coupon_ppm(n, month) for n in range(1, len(funding) + 1)]

        def part(name: str) -> I64:
            return np.array([getattr(each, name) for each in funding], np.int64)[at]

        model = part("model")
        made = price(
            Requests(amount_minor, months.astype(np.int64), rate, convention, disbursed_on),
            SourceFees(model, np.array(coupons, np.int64)[at], part("service_fee_ppm"),
                       part("upfront_fee_ppm"), part("guarantee_fee_ppm")),
        )  # fmt: skip
        triggers = np.array([each.trigger_days for each in funding], np.int16)
        return {**typed(made), "model": model.astype(np.int8), "trigger": triggers[at]}


def loans_table(
    loan_id: I64, line_id: I64, decision_id: I64, user_loan_no: I64, request: dict[str, I64],
    terms: dict[str, Any], currency: str,
) -> pa.Table:  # fmt: skip
    """The declared table of new loans, with the effective rate of our own."""
    names = (
        "principal_minor", "rate_ppm", "coupon_ppm", "instalments", "disbursed_on", "first_due_on",
        "flat_fee_minor", "guarantee_fee_minor", "convention",
    )  # fmt: skip
    columns = TermColumns(**{name: terms[name] for name in names})
    eir = np.zeros(len(loan_id), np.int64)
    own = np.flatnonzero(terms["model"] == FundingModel.ON_BALANCE_SHEET)
    if len(own):
        eir[own] = effective_rates(columns.take(own), terms["upfront_fee_minor"][own])
    return make(
        "loans", loan_id=loan_id, terms_no=np.ones(len(loan_id), np.int8),
        effective_on=terms["disbursed_on"], line_id=line_id, decision_id=decision_id,
        product=request["product"], model=terms["model"], source=request["source"],
        currency=np.full(len(loan_id), int(parse(Currency, currency))), eir_ppb=eir,
        grade=request["grade"], user_loan_no=user_loan_no, channel=request["channel"],
        region=request["region"], upfront_fee_minor=terms["upfront_fee_minor"],
        **{name: terms[name] for name in names},
    )  # fmt: skip
