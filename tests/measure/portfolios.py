"""Small random portfolios as tables: loans with their facts, for tests of any measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from tests.loan.cases import Event, History, Move, random_moves, random_terms
from usance.base.columns import make, sort
from usance.base.dates import to_day
from usance.base.tables import table
from usance.loan import Fact, Terms
from usance.loan.columns import convention_code

LOAN_COLUMNS = {
    "line_id": 16385, "decision_id": 16385, "product": 1, "model": 0, "source": 1, "currency": 0,
    "eir_ppb": 0, "grade": 1, "user_loan_no": 1, "channel": 1, "region": 1,
}  # fmt: skip


def loans_table(terms: Mapping[int, Terms], **columns: Sequence[int]) -> pa.Table:
    """The `loans` table of terms by loan id; other columns are given, or all the same."""
    given = [terms[loan] for loan in sorted(terms)]
    count = len(given)
    other: dict[str, Any] = {name: [value] * count for name, value in LOAN_COLUMNS.items()}
    return make(
        "loans",
        **{
            **other,
            "loan_id": sorted(terms),
            "terms_no": [1] * count,
            "effective_on": [to_day(each.disbursed_on) for each in given],
            "convention": [convention_code(each.convention) for each in given],
            "disbursed_on": [to_day(each.disbursed_on) for each in given],
            "first_due_on": [to_day(each.first_due_on) for each in given],
            "instalments": [each.instalments for each in given],
            "principal_minor": [each.principal_minor for each in given],
            "rate_ppm": [each.rate_ppm for each in given],
            "coupon_ppm": [each.coupon_ppm for each in given],
            "guarantee_fee_minor": [each.guarantee_fee_minor for each in given],
            "flat_fee_minor": [each.flat_fee_minor for each in given],
            **columns,
        },
    )


def facts_table(by_loan: Mapping[int, Sequence[Fact]]) -> pa.Table:
    """The `facts` table of facts by loan id."""
    rows = [(loan, fact) for loan, facts in by_loan.items() for fact in facts]
    data = make(
        "facts",
        loan_id=np.array([loan for loan, _ in rows], np.int64),
        effective_on=np.array([to_day(fact.effective_on) for _, fact in rows], np.int32),
        kind=np.array([fact.kind for _, fact in rows], np.int8),
        ref=np.array([fact.ref for _, fact in rows], np.int64),
        amount_minor=np.array([fact.amount_minor for _, fact in rows], np.int64),
        arg=np.array([fact.arg for _, fact in rows], np.int64),
        booked_at=pa.array([fact.booked_at for _, fact in rows], pa.timestamp("us", "UTC")),
    )
    return sort(data, table("facts"))


def plain_terms(disbursed_on: date, *, principal: int = 9_000_00, months: int = 6) -> Terms:
    """An instalment loan due on the day of its disbursement."""
    from usance.base.dates import add_months

    return Terms(
        principal_minor=principal,
        rate_ppm=180_000,
        instalments=months,
        disbursed_on=disbursed_on,
        first_due_on=add_months(disbursed_on, 1),
    )


def random_portfolio(
    seed: int, count: int, *, changes: bool = False
) -> tuple[dict[int, list[Terms]], dict[int, list[Fact]]]:
    """Our own loans of half a year with anything that can happen to them, by loan id.

    With `changes`, terms are changed and interest is paused, which only the exact form knows.
    """
    draw = Random(seed)
    terms: dict[int, list[Terms]] = {}
    facts: dict[int, list[Fact]] = {}
    for number in range(1, count + 1):
        drawn = date(2024, 1, 1) + timedelta(days=draw.randrange(180))
        kind = replace(
            random_terms(draw), disbursed_on=drawn, guarantee_fee_minor=0,
            first_due_on=drawn + timedelta(days=draw.randrange(5, 40)),
        )  # fmt: skip
        history = History(kind)
        for move in random_moves(draw, kind.instalments):
            history.play(move)
            if changes and draw.random() < 0.15:
                what = draw.choice((Event.CHANGE, Event.CHANGE, Event.PAUSE))
                history.play(Move(draw.randrange(20), what, draw.randrange(40)))
        user = (number + 1) // 2
        loan = user * 16384 + (number + 1) % 2 + 1
        terms[loan], facts[loan] = history.versions, history.facts
    return terms, facts
