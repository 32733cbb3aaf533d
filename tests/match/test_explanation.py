"""Explanations say what the router sees: its candidates, and each limit that shuts one out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.match.mandates import mandates, source
from tests.match.test_odd_books import requests_of
from usance.match.router.explanation import explain_loan, explain_source
from usance.match.router.router import Router
from usance.match.router.state import ENGINE

# Each book shuts source 1 out after the first loan of 5000.00, and leaves source 2 open.
OPEN = source(source="2", model="ice", coupon=None, fee="2%")
SHUT = {
    "borrower limit": mandates(source(borrower_limit="8000"), OPEN),
    "guarantee leverage": mandates(source(), OPEN, top="platform: {guarantee_headroom: 8000}\n"),
    "microcredit leverage": mandates(
        source(model="on_balance_sheet", microcredit="true"), OPEN,
        top="platform: {microcredit_headroom: 8000}\n",
    ),
    "liquidity": mandates(
        source(platform_share="50%"), OPEN, top="platform: {liquidity: 4000}\n"
    ),
    "most of a model": mandates(
        source(), OPEN,
        top="platform: {ramp: 7000, model_shares: [{model: capital_heavy, most: 30%}]}\n",
    ),
    "total budget": mandates(source(budgets="{total: 8000}"), OPEN),
    "daily budget": mandates(source(budgets="{day: 8000}"), OPEN),
}  # fmt: skip


@pytest.mark.parametrize("limit", SHUT)
def test_a_source_that_a_limit_shuts_out_is_no_candidate(limit: str) -> None:
    book = SHUT[limit]
    requests = requests_of(2)
    requests = replace(requests, loan_id=requests.loan_id // 16_384 + 16_384)
    router = Router(requests, book, ENGINE)
    assert router.run(until=1).column[0] == 0
    asked = [book.mandates[column].source for column, _ in router.ranked(1)]
    why = explain_loan(requests, book, int(requests.loan_id[1]))
    assert [each["source"] for each in why["candidates"]] == asked == [2]
    (reason,) = why["excluded"].values()
    assert reason.startswith(limit)


def test_requests_while_it_is_not_in_force_are_not_eligible_for_a_source() -> None:
    leaves = 'events: [{at: "2024-06-04T00:00:00+08:00", source: 1, event: leaves}]\n'
    book = mandates(source(valid="{from: 2024-06-02, to: 2024-12-31}"), OPEN, top=leaves)
    why = explain_source(requests_of(96), book, 1)["versions"][0]
    assert why["excluded_ppm"] == {"not in force": 500_000}
    assert why["eligible_ppm"] == 500_000


def test_a_source_that_declined_is_not_the_next_best() -> None:
    book = mandates(source(approval_rate="50%"), OPEN)
    requests = requests_of(16)
    told = [explain_loan(requests, book, int(loan)) for loan in requests.loan_id]
    declined = [each for each in told if set(each["asked"]) - {each["source"]}]
    assert declined
    assert all(len(each["declined"]) == len(set(each["asked"]) - {each["source"]}) for each in told)
    unfunded = [each for each in told if not each["source"] and each["asked"]]
    assert all(each["declined"] for each in unfunded)
    for each in told:
        assert not each["next_best"] or each["next_best"]["source"] not in each["asked"]
