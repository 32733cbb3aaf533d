"""A deal as a source: its budget while it revolves, nothing after a trigger."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from usance.base.formulas import parse_formula
from usance.fund.deal import Status
from usance.fund.deal_terms import DealTerms, PoolLimit
from usance.fund.errors import DealError
from usance.fund.mandate import (
    average_cost_ppm,
    deal_mandate,
    funding_cost_ppm,
    mandate_text,
    with_deal,
)
from usance.fund.sample import sample_deal
from usance.fund.state import opening_state
from usance.match.mandates.file import parse_mandates
from usance.match.mandates.mandate import NO_LIMIT, Measure

TERMS = DealTerms(
    source=9,
    eligibility={"short": parse_formula("months_left <= 12"), "fine": parse_formula("dpd == 0")},
    limits=(PoolLimit("region", 250_000, 3), PoolLimit("max_pd_ppm", 60_000),
            PoolLimit("max_months", 18)),
    borrower_minor=20_000_000,
)  # fmt: skip


def test_a_revolving_deal_offers_what_it_lacks() -> None:
    deal = replace(sample_deal(), status=Status.REVOLVING)
    state = opening_state(deal)
    state.names["pool_end"] = 9_000_000_000
    made = deal_mandate(deal, TERMS, state, date(2024, 12, 31))
    assert made.budgets.total_minor == 1_000_000_000
    assert made.eligibility.months == frozenset(range(1, 13))
    assert made.eligibility.borrower_minor == 20_000_000
    assert [(limit.measure, limit.member) for limit in made.concentration_limits] == [
        (Measure.REGION, 3)
    ]
    state.status = Status.ACCELERATED
    assert deal_mandate(deal, TERMS, state, date(2024, 12, 31)).budgets.total_minor == 0


def test_cost_of_funding() -> None:
    deal = sample_deal()
    state = opening_state(deal)
    # 80 m at 3.2 % and 12 m at 4.5 % over 100 m, and fees of 1.05 % a year.
    assert funding_cost_ppm(deal, state) == 31_000 + 10_500
    assert average_cost_ppm([(deal, state)]) == 33_696


def test_the_mandate_is_one_that_matching_reads() -> None:
    deal = replace(sample_deal(), status=Status.REVOLVING)
    state = opening_state(deal)
    state.names["pool_end"] = 9_000_000_000
    terms = replace(TERMS, approved_by=("risk", "treasury"))
    made = deal_mandate(deal, terms, state, date(2024, 12, 31))
    (read,) = parse_mandates(mandate_text(made, terms)).mandates
    assert read == replace(made, approved_by=("risk", "treasury"))
    with pytest.raises(DealError, match="names no source"):
        mandate_text(replace(made, source=0), terms)


def test_what_a_deal_may_lend_it_may_lend_until_its_next_date() -> None:
    """A plan spreads a budget over the days a version is valid: here those to the next date."""
    source = ("sources: [{source: 9, name: PLAN, entity: 1, model: on_balance_sheet, coupon: 3%, "
              "approved_by: [a, b], valid: {from: 2024-01-01, to: 2099-12-31}}]")  # fmt: skip
    own = "sources: [{source: 9, budgets: {total: 6000.00}}]"
    text = with_deal(source, own, date(2024, 7, 2), date(2024, 8, 15))
    assert told(text) == [
        ("2024-01-01", "2024-07-01", NO_LIMIT),
        ("2024-07-02", "2024-08-14", 600_000),
        ("2024-08-15", "2099-12-31", 0),
    ]
    later = with_deal(text, own.replace("6000", "70"), date(2024, 8, 15), date(2024, 9, 15))
    assert told(later)[2:] == [
        ("2024-08-15", "2024-09-14", 7_000), ("2024-09-15", "2099-12-31", 0)
    ]  # fmt: skip
    ended = with_deal(later, own.replace("6000", "0"), date(2024, 9, 15), date(2024, 10, 15))
    assert told(ended)[3:] == [("2024-09-15", "2099-12-31", 0)]


def told(text: str) -> list[tuple[str, str, int]]:
    return [
        (each.valid_from.isoformat(), each.valid_to.isoformat(), each.budgets.total_minor)
        for each in parse_mandates(text).mandates
    ]
