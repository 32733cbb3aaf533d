"""Cases against a fold in plain Python, and their life over evenings."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from usance.base.dates import to_day
from usance.base.ids import owned_id
from usance.service import CaseError, Cases, LoanArrears, Stage, Stages, end_of_day

STAGES = Stages.at(date(2024, 7, 1))
DAY = to_day(date(2024, 7, 1))

loans = st.dictionaries(
    st.tuples(st.integers(1, 6), st.integers(1, 4)),
    st.tuples(st.integers(-10, 250), st.integers(0, 5), st.integers(0, 9)),
    max_size=12,
)


def columns(rows: dict[tuple[int, int], tuple[int, int, int]]) -> LoanArrears:
    ids = [owned_id(*key) for key in rows]
    return LoanArrears.of(ids, *([row[at] for row in rows.values()] for at in range(3)))


@given(loans, loans)
def test_cases_are_those_of_a_fold_in_plain_python(before, after) -> None:  # type: ignore[no-untyped-def]
    first = end_of_day(columns(before), Cases.none(), DAY, STAGES)
    second = end_of_day(columns(after), first.cases, DAY + 1, STAGES)
    owing = [{user for (user, _), (_, due, _) in rows.items() if due} for rows in (before, after)]
    assert second.cases.user_id.tolist() == sorted(owing[1])
    assert second.opened.tolist() == sorted(owing[1] - owing[0])
    assert second.closed.tolist() == sorted(owing[0] - owing[1])
    for at, user in enumerate(second.cases.user_id.tolist()):
        own = [row for (owner, _), row in after.items() if owner == user]
        worst = max(max(days, 1) for days, due, _ in own if due)
        assert second.cases.days_past_due[at] == worst
        assert second.cases.past_due_minor[at] == sum(due for _, due, _ in own)
        assert second.cases.principal_minor[at] == sum(owed for _, _, owed in own)
        assert second.cases.loans[at] == sum(due > 0 for _, due, _ in own)
        assert second.cases.opened_on[at] == (DAY if user in owing[0] else DAY + 1)
    for at, user in enumerate(second.reminders.user_id.tolist()):
        assert user not in owing[1]
        assert -3 <= second.reminders.days_past_due[at] <= 0


@pytest.mark.parametrize(
    ("days", "stage"),
    [(-3, Stage.REMINDER), (0, Stage.REMINDER), (1, Stage.AI_VOICE), (3, Stage.AI_VOICE),
     (4, Stage.IN_HOUSE), (30, Stage.IN_HOUSE), (31, Stage.SENIOR_DESK), (60, Stage.SENIOR_DESK),
     (61, Stage.AGENCY), (90, Stage.AGENCY), (91, Stage.MEDIATION), (180, Stage.MEDIATION),
     (181, Stage.CHARGED_OFF)],
)  # fmt: skip
def test_stages_begin_on_the_days_of_the_business(days: int, stage: Stage) -> None:
    assert STAGES.of(days) is stage


def test_a_loan_given_twice_is_refused() -> None:
    with pytest.raises(CaseError, match="twice"):
        LoanArrears.of([16385, 16385], [1, 1], [1, 1], [1, 1])


def test_no_loans_close_every_case() -> None:
    first = end_of_day(LoanArrears.of([16385], [5], [100], [100]), Cases.none(), DAY, STAGES)
    empty = LoanArrears(*(np.zeros(0, np.int64) for _ in range(4)))
    assert end_of_day(empty, first.cases, DAY + 1, STAGES).closed.tolist() == [1]
