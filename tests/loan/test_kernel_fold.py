"""The fold: stepping through time gives bit for bit what one replay of everything gives."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.loan.cases import Case, random_case
from usance.base.codes import FactKind
from usance.base.dates import to_day
from usance.loan import Fact, FactColumns, TermColumns, Terms, replay, start, step, view, visible
from usance.loan.batch import (
    instalment_columns,
    replay_columns,
    start_columns,
    step_columns,
    view_columns,
)
from usance.loan.errors import BackdatedStep, FactAmountError
from usance.loan.kernel.state import SLOTS

TERMS = Terms(
    principal_minor=1_000_00, rate_ppm=240_000, instalments=3,
    disbursed_on=date(2024, 1, 31), first_due_on=date(2024, 2, 29),
)  # fmt: skip
DRAWN = Fact(FactKind.DISBURSED, date(2024, 1, 31), 1_000_00, ref=1)


def between(facts: FactColumns, after: int, until: int) -> FactColumns:
    """The facts of each loan in a span of days."""
    keep = (facts.day > after) & (facts.day <= until)
    offsets = np.concatenate(([0], np.cumsum(keep)))[facts.offsets]
    return FactColumns(offsets, facts.day[keep], facts.kind[keep], facts.amount_minor[keep],
                       facts.arg[keep])  # fmt: skip


def cases_of_one_day(seeds: range, day: date) -> list[Case]:
    """Cases whose fees the kernel can hold, all asked for on one day."""
    made = (random_case(seed) for seed in seeds)
    return [(terms, facts, day) for terms, facts, _ in made if terms.principal_minor < 10**8]


@pytest.mark.parametrize("days_a_step", [1_000, 91, 30])
def test_stepping_equals_one_replay_bit_for_bit(days_a_step: int) -> None:
    end = date(2040, 1, 1)
    cases = cases_of_one_day(range(3_000, 4_500), end)
    terms = TermColumns.of([case[0] for case in cases])
    facts = FactColumns.of([visible(case[1], as_of=end) for case in cases])
    whole = step_columns(start_columns(terms), facts, to_day(end))
    stepped, day = start_columns(terms), int(facts.day.min()) - 1
    while day < to_day(end):
        following = min(day + days_a_step, to_day(end))
        stepped = step_columns(stepped, between(facts, day, following), following)
        day = following
    assert np.array_equal(whole.values, stepped.values)
    views = view_columns(stepped, to_day(end))
    assert np.array_equal(views.values, replay_columns(terms, facts, to_day(end)).values)


def test_a_state_is_at_most_160_bytes() -> None:
    states = start(TERMS)
    assert SLOTS <= 18
    assert states.values[0].nbytes + states.through[0].nbytes + 8 <= 160


def test_a_backdated_fact_is_refused_and_the_state_stays() -> None:
    states = step(start(TERMS), [[DRAWN]], date(2024, 2, 10))
    late_news = Fact(FactKind.PAID, date(2024, 2, 5), 100_00, ref=2)
    before = states.values.copy()
    with pytest.raises(BackdatedStep, match="2024-02-05"):
        step(states, [[late_news]], date(2024, 2, 29))
    assert np.array_equal(states.values, before)
    with pytest.raises(BackdatedStep):
        view(states, date(2024, 2, 1))


def test_a_refused_fact_of_one_loan_leaves_all_states_as_they_were() -> None:
    states = step(start(TermColumns.of([TERMS, TERMS])), [[DRAWN], [DRAWN]], date(2024, 1, 31))
    before = states.values.copy()
    good = Fact(FactKind.PAID, date(2024, 2, 5), 100_00, ref=2)
    bad = Fact(FactKind.REFUNDED, date(2024, 2, 5), 1, ref=2)
    with pytest.raises(FactAmountError, match="loan 1"):
        step(states, [[good], [bad]], date(2024, 2, 29))
    assert np.array_equal(states.values, before)


@given(st.integers(0, 2**32))
def test_rows_and_views_tell_the_same_story(seed: int) -> None:
    terms, facts, as_of = random_case(seed)
    if terms.principal_minor >= 10**8:
        return
    loan = replay(terms, facts, as_of, form="kernel")
    seen = loan.view()
    if not seen.disbursed:
        return
    rows = loan.rows()
    assert sum(row.paid.total for row in rows) == (
        seen.paid.total - seen.paid.penalty + seen.waived.total - seen.waived.penalty
    )
    late = [row for row in rows if row.due_on <= as_of and row.outstanding.total]
    assert seen.past_due.total - seen.past_due.penalty == sum(r.outstanding.total for r in late)
    assert seen.days_past_due == ((as_of - late[0].due_on).days if late else 0)


def test_cover_columns_have_a_row_per_instalment() -> None:
    columns = instalment_columns(step(start(TERMS), [[DRAWN]], date(2024, 3, 1)))
    assert columns.offsets.tolist() == [0, 3]
    assert columns.due[:, 0].sum() == 1_000_00
    assert not columns.covered.any()
