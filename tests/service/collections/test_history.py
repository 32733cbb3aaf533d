"""Training rows look no further than their evening, and train a calibrated C-score."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from usance.service import Attempts, CaseDays, Events, training_rows

events = st.lists(st.tuples(st.integers(1, 3), st.integers(0, 60)), max_size=15)


def case_days(rows: list[tuple[int, int]]) -> CaseDays:
    users, days = ([row[at] for row in sorted(set(rows))] for at in (0, 1))
    return CaseDays.of(
        user_id=users, day=days, days_past_due=[5] * len(days), past_due_minor=[1] * len(days),
        principal_minor=[2] * len(days), loans=[1] * len(days),
    )  # fmt: skip


@given(events, events, events)
def test_rows_are_those_of_plain_python(  # type: ignore[no-untyped-def]
    evenings, paid, tried
) -> None:
    days = case_days(evenings)
    payments = Events.of(user_id=[u for u, _ in paid], day=[d for _, d in paid],
                         amount=[1] * len(paid))  # fmt: skip
    attempts = Attempts.of(user_id=[u for u, _ in tried], day=[d for _, d in tried],
                           channel=[4] * len(tried),
                           connected=[d % 2 for _, d in tried])  # fmt: skip
    rows = training_rows(days, payments, attempts, "unpaid", known_until=50)
    kept = [(u, d) for u, d in sorted(set(evenings)) if d + 10 <= 50]
    assert list(zip(rows["user_id"].tolist(), rows["day"].tolist(), strict=True)) == kept
    for at, (user, day) in enumerate(kept):
        own = [d for u, d in paid if u == user]
        assert rows["unpaid"][at] == (not any(day < d <= day + 10 for d in own))
        assert rows["payments_90_days"][at] == sum(day - 90 < d <= day for d in own)
        last = max((d for d in own if d <= day), default=None)
        assert rows["days_since_payment"][at] == (999 if last is None else day - last)
        calls = [d for u, d in tried if u == user]
        assert rows["attempts_7_days"][at] == sum(day - 7 < d <= day for d in calls)
        assert rows["connected_30_days"][at] == sum(day - 30 < d <= day and d % 2 for d in calls)


@given(events, events)
def test_an_attempt_is_judged_by_the_evening_before(evenings, tried) -> None:  # type: ignore[no-untyped-def]
    days = case_days(evenings)
    attempts = Attempts.of(user_id=[u for u, _ in tried], day=[d for _, d in tried],
                           channel=[4] * len(tried),
                           connected=[d % 2 for _, d in tried])  # fmt: skip
    nothing = Events.of(user_id=[], day=[], amount=[])
    rows = training_rows(days, nothing, attempts, "missed", known_until=99, channel=4)
    known = [(u, d) for u, d in sorted(tried) if any(v == u and e <= d for v, e in evenings)]
    assert len(rows["missed"]) == len(known)
    for at, (user, day) in enumerate(known):
        assert rows["day"][at] == day - 1
        assert rows["missed"][at] == 1 - day % 2
        assert rows["attempts_7_days"][at] == sum(u == user and day - 8 < d < day for u, d in tried)


@pytest.mark.slow
def test_a_c_score_trained_on_these_rows_is_calibrated() -> None:
    """Payment falls with days past due and rises after a payment: the model says how much."""
    import pyarrow as pa

    from usance.assess.applicant_file import Table
    from usance.assess.training.recipe import Recipe
    from usance.assess.training.train import fit_table

    random = np.random.default_rng(5)
    users = np.arange(1, 701)
    late = random.integers(1, 60, len(users))
    chance = 1 / (1 + np.exp(-(0.8 - late / 20)))
    pays = random.random(len(users)) < chance
    days = CaseDays.of(
        user_id=users, day=np.full(len(users), 100), days_past_due=late,
        past_due_minor=random.integers(1_000, 90_000, len(users)),
        principal_minor=random.integers(90_000, 900_000, len(users)), loans=[1] * len(users),
    )  # fmt: skip
    payments = Events.of(user_id=users[pays], day=np.full(pays.sum(), 104), amount=users[pays])
    rows = training_rows(days, payments, Attempts.none(), "unpaid", known_until=110)
    columns = {name: pa.array(column) for name, column in rows.items()}
    table = Table("history", columns, len(users))
    model = fit_table(table, Recipe("unpaid", identity="user_id", excluded=("day",)), threads=1)
    held = model.info["held_out"][model.kind]
    assert held["auc"] > 0.6
    assert held["ece10"] < 0.1
