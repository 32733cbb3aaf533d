"""Debit runs, receipts and unallocated cash against a clerk who looks at one borrower at a time."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, date, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from usance.base.codes import FactKind
from usance.base.ids import user_of
from usance.loan import Fact, TermColumns, Terms, replay
from usance.loan.batch import replay_columns
from usance.loan.columns import FactColumns
from usance.service.errors import AllocationRefused, DebitError
from usance.service.orders.debit_policy import DebitAmount, DebitAttempt, DebitPolicy
from usance.service.orders.debit_run import DebitColumns, capped, debit_run
from usance.service.orders.receipts import (
    LoanDue,
    OverpaymentChoice,
    chargeback_fact,
    refund_fact,
    split_receipt,
)
from usance.service.orders.unallocated import UnallocatedCash, Use, UseKind

NOON = datetime(2024, 7, 1, 12, tzinfo=UTC)
DAY = date(2024, 7, 1)

loans = st.lists(
    st.tuples(st.integers(1, 4), st.integers(1, 3), st.integers(1, 2), st.integers(0, 900),
              st.integers(0, 50), st.booleans()),
    max_size=20, unique_by=lambda row: row[:2],
)  # fmt: skip


def columns_of(rows: list[tuple[int, int, int, int, int, bool]]) -> DebitColumns:
    return DebitColumns.of(
        [(user << 14) + n for user, n, *_ in rows], [row[2] for row in rows],
        [row[3] for row in rows], [row[4] for row in rows], [row[5] for row in rows],
    )  # fmt: skip


@given(loans, st.sampled_from(DebitAmount), st.integers(1, 1_200))
def test_the_run_asks_each_borrower_as_a_clerk_would(
    rows: list[tuple[int, int, int, int, int, bool]], amount: DebitAmount, minimum: int
) -> None:
    owed = columns_of(rows)
    expected: dict[tuple[int, int], dict[int, int]] = defaultdict(dict)
    for user, n, provider, due, penalty, is_open in sorted(rows):
        asked = due if amount is DebitAmount.DUE else due + penalty
        order = expected[user, provider]
        if amount is DebitAmount.MINIMUM:
            asked = min(asked, minimum - sum(order.values()))
        if asked > 0 and not is_open:
            order[(user << 14) + n] = asked
    run = debit_run(owed, DebitAttempt(8, amount), minimum)
    made = {
        (each.party, each.provider): {part.loan_id: part.amount_minor for part in each.splits}
        for each in run.orders(DAY, 8, "CNY", 1, NOON, NOON)
    }
    assert made == {key: parts for key, parts in expected.items() if parts}


@given(loans)
def test_nobody_is_asked_for_more_than_is_owed_at_the_moment_of_sending(
    rows: list[tuple[int, int, int, int, int, bool]],
) -> None:
    run = debit_run(columns_of(rows), DebitAttempt(8, DebitAmount.FULL), 1)
    for order in run.orders(DAY, 8, "CNY", 1, NOON, NOON):
        owed = {part.loan_id: part.amount_minor // 2 for part in order.splits[1:]}
        now = capped(order, owed)
        assert (now is None) == (not any(owed.values()))
        if now:
            assert all(part.amount_minor <= owed[part.loan_id] for part in now.splits)
            assert now.reference == order.reference
        assert {user_of(part.loan_id) for part in order.splits} == {order.party}


def test_the_columns_of_a_run_come_from_views_of_the_loans() -> None:
    terms = Terms(
        principal_minor=9_000_00, rate_ppm=180_000, instalments=6,
        disbursed_on=date(2023, 12, 31), first_due_on=date(2024, 1, 31),
    )  # fmt: skip
    facts = [
        Fact(FactKind.DISBURSED, date(2023, 12, 31), 9_000_00, ref=1),
        Fact(FactKind.FEE_CHARGED, date(2024, 2, 4), 15_26, ref=2, arg=1),
    ]
    views = replay_columns(TermColumns.of([terms]), FactColumns.of([facts]), date(2024, 2, 29))
    owed = DebitColumns.of_views(np.array([16385]), np.array([2], np.int16), views,
                                 np.array([False]))  # fmt: skip
    past_due = replay(terms, facts, date(2024, 2, 29), form="exact").view().past_due
    run = debit_run(owed, DebitAttempt(8, DebitAmount.FULL), 1)
    assert run.amount_minor.tolist() == [past_due.total]
    due = debit_run(owed, DebitAttempt(14, DebitAmount.DUE), 1)
    assert due.amount_minor.tolist() == [past_due.total - past_due.penalty]


def test_columns_that_cannot_be_right_are_refused() -> None:
    good = DebitColumns.of([16385], [2], [10], [0], [False])
    with pytest.raises(DebitError, match="lengths"):
        debit_run(good._replace(due_minor=np.array([1, 2])), DebitAttempt(8, DebitAmount.FULL), 1)
    with pytest.raises(DebitError, match="less than nothing"):
        debit_run(good._replace(due_minor=np.array([-1])), DebitAttempt(8, DebitAmount.FULL), 1)


def test_attempts_of_the_policy_are_dated_data() -> None:
    assert DebitPolicy.at(DAY).attempts[0] == DebitAttempt(8, DebitAmount.FULL)


dues = st.lists(
    st.tuples(st.integers(1, 30), st.integers(0, 500), st.integers(0, 300), st.integers(0, 900)),
    max_size=4,
)


@given(st.integers(1, 3_000), dues, st.sampled_from(OverpaymentChoice))
def test_a_receipt_is_divided_without_loss_and_covers_what_is_due_first(
    amount: int, rows: list[tuple[int, int, int, int]], choice: OverpaymentChoice
) -> None:
    loans = [
        LoanDue(16385 + n, date(2024, 6, day) if due else None, due, after, due + rest)
        for n, (day, due, after, rest) in enumerate(rows)
    ]
    made = split_receipt(amount, loans, choice)
    parts = {each.loan_id: each.amount_minor for each in made.parts}
    assert sum(parts.values()) + made.back_minor + made.unallocated_minor == amount
    due = sum(each.due_minor for each in loans)
    covered = sum(min(parts.get(each.loan_id, 0), each.due_minor) for each in loans)
    assert covered == min(amount, due)
    assert all(parts.get(each.loan_id, 0) <= each.settlement_minor for each in loans)
    if choice is OverpaymentChoice.BACK:
        assert made.back_minor == max(0, amount - due)
    if choice is OverpaymentChoice.PRINCIPAL:
        whole = sum(each.settlement_minor for each in loans)
        assert made.unallocated_minor == max(0, amount - whole)


def test_refunds_and_chargebacks_beyond_what_exists_are_refused() -> None:
    fact = refund_fact(16385, 20, overpaid_minor=20, provider=2, reference="R1", on=DAY)
    assert (fact.kind, fact.amount_minor, fact.arg) == (FactKind.REFUNDED, 20, 2)
    with pytest.raises(AllocationRefused):
        refund_fact(16385, 21, overpaid_minor=20, provider=2, reference="R1", on=DAY)
    back = chargeback_fact(16385, 20, paid_minor=20, provider=2, reference="C1", on=DAY)
    assert back.kind is FactKind.CHARGED_BACK
    with pytest.raises(AllocationRefused):
        chargeback_fact(16385, 21, paid_minor=20, provider=2, reference="C1", on=DAY)


@given(st.lists(st.tuples(st.sampled_from(UseKind), st.integers(-5, 60)), max_size=8))
def test_unallocated_cash_is_never_used_beyond_its_amount(uses: list[tuple[UseKind, int]]) -> None:
    cash = UnallocatedCash("p2/T-9", DAY, 100, "CNY")
    left = 100
    for kind, amount in uses:
        use = Use(kind, amount, "operator 7", loan_id=16385)
        if 0 < amount <= left:
            cash, left = cash.after(use), left - amount
        else:
            with pytest.raises(AllocationRefused):
                cash.after(use)
        assert cash.left_minor == left


@pytest.mark.parametrize(
    "use", [Use(UseKind.RETURNED, 5, ""), Use(UseKind.ALLOCATED, 5, "operator 7")]
)
def test_a_use_without_an_actor_or_a_loan_is_refused(use: Use) -> None:
    with pytest.raises(AllocationRefused):
        UnallocatedCash("p2/T-9", DAY, 100, "CNY").after(use)
