"""The demo's treasury: facts of the group that a month's end states, once."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

from tests.platform.applicants import borrower, drawn
from tests.platform.sandbox import Sandbox
from tests.platform.test_business_day import DUE, advance, pay
from usance.books.group.fact_kinds import GroupFactKind
from usance.platform.demo.treasury import end_month, is_month_end

FUND = {"deal": "T1", "lender": "trust_investors", "rate": "4.2%", "day_count": "30/360 monthly"}
"""Terms on which the fund of the sandbox's own loans has raised money."""
ENTITY = 2


def state(sandbox: Sandbox, kind: GroupFactKind, amount: int, day: str, detail: Any) -> None:
    body = {"entity": ENTITY, "kind": int(kind), "amount_minor": amount, "currency": "CNY",
            "effective_on": day, "detail": detail}  # fmt: skip
    sandbox.do("system", "group_fact.state", body)


def stated(sandbox: Sandbox, day: date) -> list[tuple[str, int]]:
    rows = sandbox.sql(
        "finance", "select json_agg(json_build_array(kind, amount_minor) order by fact_id) "
        f"from usance.group_facts where effective_on = '{day}'",
    )  # fmt: skip
    return [(GroupFactKind(kind).label, amount) for kind, amount in json.loads(rows or "[]")]


def test_the_last_days_of_months_are_known() -> None:
    assert [day for day in range(1, 30) if is_month_end(date(2024, 2, day))] == [29]
    assert is_month_end(date(2024, 12, 31))


def test_a_month_states_its_overheads_and_raises_what_was_lent(sandbox: Sandbox) -> None:
    state(sandbox, GroupFactKind.FUNDING_RAISED, 900_000, "2024-07-01", FUND)
    state(sandbox, GroupFactKind.COST_INCURRED, 80_000, "2024-07-20", {"function": "marketing"})
    state(sandbox, GroupFactKind.COST_PAID, 80_000, "2024-07-31", {})
    loan = str(drawn(sandbox, borrower(sandbox, region=8)).answer["loan"])  # its own, in July
    advance(sandbox, "2024-08-01")
    pay(sandbox, loan, DUE, "2024-08-01")
    drawn(sandbox, borrower(sandbox, "berta", region=8), 300_000)
    advance(sandbox, "2024-08-31")
    day = date(2024, 8, 31)
    assert sandbox.within(lambda platform: end_month(platform, day)) == 3
    raised = 300_000 - DUE  # what August lent less what it collected
    wanted = [("cost_incurred", 80_000), ("cost_paid", 80_000), ("funding_raised", raised)]
    assert stated(sandbox, day) == wanted
    sandbox.within(lambda platform: end_month(platform, day))  # a world that was cut off does again
    assert stated(sandbox, day) == wanted


def test_a_fund_that_collects_more_than_it_lends_raises_nothing(sandbox: Sandbox) -> None:
    state(sandbox, GroupFactKind.FUNDING_RAISED, 900_000, "2024-07-01", FUND)
    loan = str(drawn(sandbox, borrower(sandbox, region=8)).answer["loan"])
    advance(sandbox, "2024-08-01")
    pay(sandbox, loan, DUE, "2024-08-01")
    assert sandbox.within(lambda platform: end_month(platform, date(2024, 8, 31))) == 0
