"""Facts out of a table: the same selection as `visible`, on columns."""

from __future__ import annotations

from datetime import UTC, date, datetime
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from tests.loan.cases import random_case
from usance.base.codes import FactKind
from usance.base.columns import make
from usance.base.dates import to_day
from usance.base.tables import table
from usance.loan import Fact, FactColumns, TermColumns, Terms, visible
from usance.loan.errors import FactError, ReversalError
from usance.loan.facts import canonical_key
from usance.loan.visible_facts import fact_columns, term_columns

END = date(2090, 1, 1)
NOON = datetime(2024, 3, 1, 12, tzinfo=UTC)


def facts_table(by_loan: dict[int, list[Fact]]) -> pa.Table:
    rows = [(loan, fact) for loan, facts in by_loan.items() for fact in facts]
    return make(
        table("facts"),
        loan_id=np.array([loan for loan, _ in rows], np.int64),
        effective_on=np.array([to_day(f.effective_on) for _, f in rows], np.int32),
        kind=np.array([f.kind for _, f in rows], np.int8),
        ref=np.array([f.ref for _, f in rows], np.int64),
        amount_minor=np.array([f.amount_minor for _, f in rows], np.int64),
        arg=np.array([f.arg for _, f in rows], np.int64),
        booked_at=pa.array([f.booked_at for _, f in rows], pa.timestamp("us", "UTC")),
    )


def ids(by_loan: dict[int, list[Fact]]) -> np.ndarray:
    return np.array(sorted(by_loan), np.int64)


def test_columns_see_what_visible_sees_at_any_moment() -> None:
    draw = Random(5)
    book = {16385 + 7 * n: sorted(random_case(n)[1], key=canonical_key) for n in range(800)}
    moments = [fact.booked_at for facts in book.values() for fact in facts]
    for known_at in [*draw.sample(moments, 6), max(moments)]:
        got = fact_columns(facts_table(book), ids(book), known_at)
        want = FactColumns.of(
            [visible(facts, as_of=END, known_at=known_at) for facts in book.values()]
        )
        for mine, theirs in zip(got.arrays, want.arrays, strict=True):
            assert np.array_equal(mine, theirs)


def test_nothing_is_copied_when_all_facts_stand() -> None:
    paid = [
        Fact(FactKind.DISBURSED, date(2024, 1, 1), 100, ref=1),
        Fact(FactKind.PAID, date(2024, 2, 1), 9, ref=2),
    ]
    data = facts_table({16385: paid})
    columns = fact_columns(data, np.array([16385, 16386], np.int64))
    assert columns.offsets.tolist() == [0, 2, 2]
    assert np.shares_memory(columns.amount_minor, data.column("amount_minor").chunk(0).to_numpy())


@pytest.mark.parametrize(
    ("facts", "error"),
    [
        (
            [
                Fact(FactKind.PAID, date(2024, 2, 1), 1, ref=1),
                Fact(FactKind.PAID, date(2024, 1, 1), 1, ref=2),
            ],
            FactError,
        ),
        (
            [
                Fact(FactKind.PAID, date(2024, 2, 1), 1, ref=1),
                Fact(FactKind.PAID, date(2024, 2, 1), 1, ref=1),
            ],
            FactError,
        ),
        ([Fact(FactKind.REVERSED, date(2024, 2, 1), ref=1, arg=9)], ReversalError),
        (
            [
                Fact(FactKind.PAID, date(2024, 1, 1), 1, ref=1),
                Fact(FactKind.REVERSED, date(2024, 2, 1), ref=2, arg=1),
                Fact(FactKind.REVERSED, date(2024, 2, 1), ref=3, arg=1),
            ],
            ReversalError,
        ),
        (
            [
                Fact(FactKind.REVERSED, date(2024, 2, 1), ref=2, arg=3),
                Fact(FactKind.REVERSED, date(2024, 2, 1), ref=3, arg=2),
            ],
            ReversalError,
        ),
    ],
)
def test_broken_facts_are_refused_with_their_loan(
    facts: list[Fact], error: type[Exception]
) -> None:
    with pytest.raises(error, match="loan 16392"):
        fact_columns(facts_table({16385: [], 16392: facts}), np.array([16385, 16392], np.int64))


def test_facts_without_terms_are_refused() -> None:
    data = facts_table({16392: [Fact(FactKind.PAID, date(2024, 2, 1), 1, ref=1)]})
    with pytest.raises(FactError, match="16392"):
        fact_columns(data, np.array([16385], np.int64))


def test_terms_of_a_loans_table() -> None:
    terms = Terms(principal_minor=5_000_00, rate_ppm=200_000, coupon_ppm=70_000, instalments=9,
                  disbursed_on=date(2024, 5, 31), first_due_on=date(2024, 6, 30))  # fmt: skip
    columns = TermColumns.of([terms])
    loans = make(
        table("loans"), loan_id=np.array([16385]), terms_no=np.array([1], np.int8),
        effective_on=columns.disbursed_on, line_id=np.array([16385]),
        decision_id=np.array([16385]), product=np.array([1], np.int16),
        convention=columns.convention, model=np.array([0], np.int8),
        source=np.array([1], np.int16), currency=np.array([0], np.int8),
        disbursed_on=columns.disbursed_on,
        first_due_on=columns.first_due_on,
        instalments=columns.instalments, principal_minor=columns.principal_minor,
        rate_ppm=columns.rate_ppm, coupon_ppm=columns.coupon_ppm,
        guarantee_fee_minor=columns.guarantee_fee_minor, eir_ppb=np.array([0]),
        grade=np.array([1], np.int8), user_loan_no=np.array([1], np.int16),
        channel=np.array([1], np.int16), region=np.array([1], np.int16),
    )  # fmt: skip
    made: tuple[np.ndarray, ...] = term_columns(loans).arrays
    given: tuple[np.ndarray, ...] = columns.arrays
    for mine, theirs in zip(made, given, strict=True):
        assert np.array_equal(mine, theirs)
