"""The waterfall against the worked deals, against a second reading, and its laws."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fund.deal_oracle import run
from tests.fund.random_deals import deal_inputs
from usance.conform.deals import differences, row_values
from usance.fund.deal import Deal, Scenario, Status
from usance.fund.deal_file import parse_deal
from usance.fund.errors import PaymentDateError
from usance.fund.payment_date import pay_date
from usance.fund.projection import PoolRun, project
from usance.fund.results import break_evens, exact_shorts, expected_losses
from usance.fund.state import opening_state, state_of_deal, state_of_dict


def deal_of(given: dict[str, Any]) -> Deal:
    return parse_deal(json.dumps(given), "deal.json")


@settings(max_examples=150)
@given(deal_inputs())
def test_two_readings_agree_on_every_value(given: dict[str, Any]) -> None:
    found, expected = project(deal_of(given)), run(given)
    rows = [row_values(row) for row in found.distributions]
    assert not list(differences(expected["rows"], rows))
    assert (found.collected_minor, found.paid_minor) == (
        expected["collected_minor"], expected["paid_minor"],
    )  # fmt: skip
    for name, short in expected["short"].items():
        assert found.short_minor(name) == short


@settings(max_examples=40)
@given(deal_inputs())
def test_two_readings_agree_under_scenarios(given: dict[str, Any]) -> None:
    deal = deal_of(given)
    for scenario in (*deal.scenarios, Scenario(0, 350, 40)):
        expected = run(given, scenario.default_hundredths, scenario.prepayment_hundredths)
        assert exact_shorts(deal, [scenario]) == [expected["short"]]


@settings(max_examples=80)
@given(deal_inputs())
def test_money_is_conserved_and_nothing_is_below_zero(given: dict[str, Any]) -> None:
    deal = deal_of(given)
    accounts, order, before = sum(deal.accounts.values()), list(Status), 0
    for row in project(deal).distributions:
        assert row.accounts is not None
        assert accounts + row.collected_minor == row.paid_minor + sum(row.accounts.values())
        accounts = sum(row.accounts.values())
        parts = [*row.accounts.values(), *row.fees.values(), row.pool_end_minor, row.bought_minor]
        for paid in row.classes.values():
            parts += [paid.interest_minor, paid.residual_minor, paid.principal_minor,
                      paid.balance_minor, paid.unpaid_minor]  # fmt: skip
        assert min(parts) >= 0
        assert order.index(row.status) >= before
        before = order.index(row.status)


@settings(max_examples=60)
@given(deal_inputs())
def test_resumed_at_any_date_is_the_whole_run(given: dict[str, Any]) -> None:
    deal = deal_of(given)
    state, pool = opening_state(deal), PoolRun(deal, Scenario())
    rows = []
    while state.period < deal.periods and not state.is_called:
        stored = json.loads(json.dumps(state.as_dict()))
        state, row = pay_date(deal, state_of_dict(stored), pool.period())
        pool.buy(row.bought_minor, row.paid_on)
        rows.append(row)
    whole = project(deal)
    assert tuple(rows) == whole.distributions
    assert state == whole.state


WAYS = (
    Scenario(),
    Scenario(0, 250, 40, 60),
    Scenario(0, 100, 100, 100, mdr_ppm=(9_000, 0, 70_000), smm_ppm=(0, 20_000)),
)


@settings(max_examples=60)
@given(deal_inputs(), st.sampled_from(WAYS))
def test_projected_from_a_state_is_the_rest_of_the_whole(
    given: dict[str, Any], scenario: Scenario
) -> None:
    """Also what defaulted before is recovered, and loans bought later have their own age."""
    deal = deal_of(given)
    whole = project(deal, scenario)
    state, pool = opening_state(deal), PoolRun(deal, scenario)
    for row in whole.distributions:
        stored = state_of_deal(json.loads(json.dumps(state.as_dict())), deal)
        rest = project(deal, scenario, state=stored)
        assert rest.distributions == whole.distributions[state.period :]
        assert rest.state == whole.state
        assert sum(each.balance_minor for each in state.cohorts) == state.names["pool_end"]
        state, _ = pay_date(deal, state, pool.period())
        pool.buy(row.bought_minor, row.paid_on)


def test_a_state_of_before_is_one_cohort() -> None:
    deal = deal_of({**SMALL, "periods": 3, "pool": {
        "balance_minor": 9_000, "rate_ppm": 0, "months": 3, "amortisation": "level"}})  # fmt: skip
    pool = PoolRun(deal, Scenario())
    state, _ = pay_date(deal, opening_state(deal), pool.period())
    stored = {name: value for name, value in state.as_dict().items() if name != "cohorts"}
    rest = project(deal, state=state_of_deal(stored, deal))
    assert rest.distributions == project(deal).distributions[1:]
    more = [{**each, "balance_minor": 1} for each in state.as_dict()["cohorts"]]
    with pytest.raises(PaymentDateError, match="its cohorts hold 1, and pool_end is 6000"):
        state_of_deal({**stored, "cohorts": more}, deal)


def test_break_even_is_scanned_not_searched() -> None:
    """A multiple that hurts between two that do not still counts."""
    deal = deal_of(json.loads(json.dumps(SMALL)))
    (senior,) = deal.classes
    ends = {0: 0, 1: 0, 2: 5, 3: 0}

    def shorts(scenarios: Any) -> list[dict[str, int]]:
        return [{"A": ends.get(each.default_hundredths, 9)} for each in scenarios]

    assert break_evens([senior], shorts) == {"A": 1}
    assert break_evens([senior], lambda some: [{"A": 0} for _ in some]) == {"A": 2_000}
    assert break_evens([senior], lambda some: [{"A": 1} for _ in some]) == {"A": -1}
    assert expected_losses([senior], [Scenario(500_000)], lambda _: [{"A": 50}]) == {"A": 250_000}
    assert expected_losses([senior], [], lambda _: []) == {}


SMALL = {
    "closing_on": "2024-01-01", "first_period": "2024-01", "periods": 2, "pay_day": 31,
    "day_count": "30/360", "status": "amortising",
    "pool": {"balance_minor": 100, "flows": [[1, 50, 0, 0], [1, 50, 0, 0]]},
    "classes": [{"name": "A", "balance_minor": 100, "rate_ppm": 0}],
    "waterfall": {"amortising": [{"principal": ["A"]}, {"residual": "A"}]},
}  # fmt: skip


def test_worked_deals(shared: Path) -> None:
    from usance.conform.deals import check_deals

    report = check_deals(shared / "cases/deals.json")
    assert [str(each) for result in report.results for each in result.differences] == []
    assert [(result.id, result.values, result.passed) for result in report.results] == [
        ("base", 401, True),
        ("stress", 399, True),
    ]
