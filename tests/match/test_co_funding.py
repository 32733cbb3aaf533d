"""Sources that lend together: parts, routing beside a slow router, limits, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.match.mandates import document, mandates, source
from tests.match.oracle import SlowGreedy
from tests.match.test_route import a_book, a_stream
from usance.base.codes import RoutingOutcome
from usance.base.errors import UsanceError
from usance.base.rates import PPM
from usance.match.mandates.co_funding import CoFunding, partner_part_minor
from usance.match.mandates.file import parse_mandates
from usance.match.mandates.mandate import Budgets, Mandates
from usance.match.reservation.limit_names import LimitRequest, limits_of
from usance.match.reservation.split import co_fund
from usance.match.router.audit import audit
from usance.match.router.explanation import explain_loan
from usance.match.router.rank_kernel import partner_part
from usance.match.router.requests import Requests, from_columns
from usance.match.router.router import Router, route
from usance.match.router.routing_table import routing_table
from usance.match.router.state import GREEDY, POLICIES

LEAST = 300_000
TOGETHER = "{partner: 2, share: 40%}"


@given(
    st.integers(1, 2_000_000_000), st.integers(LEAST, PPM - 1), st.sampled_from([0, LEAST]),
    st.booleans(),
)  # fmt: skip
def test_a_part_is_that_of_the_exact_split(
    amount: int, share: int, least: int, first: bool
) -> None:
    lead, partner = (2, 1) if first else (1, 2)
    wanted = co_fund(amount, {lead: PPM - share, partner: share}, partners={partner},
                     minimum_ppm=least)  # fmt: skip
    assert partner_part_minor(amount, share, least, first) == wanted[partner]
    column = partner_part_minor(np.array([amount, 1]), share, least, first)
    assert column.tolist() == [wanted[partner], partner_part_minor(1, share, least, first)]


@st.composite
def a_shared_book(draw: st.DrawFn) -> Mandates:
    """Some mandates whose loans another funds with them."""
    book = draw(a_book())
    rows = list(book.mandates)
    for lead in range(0, len(rows) - 1, 2):
        partner = lead + 1
        own = rows[partner].eligibility
        rows[partner] = replace(
            rows[partner], co_share_ppm=0, concentration_limits=(), model=rows[lead].model,
            eligibility=replace(own, borrower_minor=-1), guarantee=rows[lead].guarantee,
        )  # fmt: skip
        share = draw(st.sampled_from([300_000, 333_333, 500_000, 900_000]))
        one, other = (lead, partner) if draw(st.booleans()) else (partner, lead)
        if one == partner:  # the partner may stand before its lead
            rows[lead], rows[partner] = (
                replace(rows[partner], source=rows[lead].source),
                replace(rows[lead], source=rows[partner].source),
            )
        together = CoFunding(rows[other].source, share, LEAST)
        rows[one] = replace(rows[one], co_share_ppm=0, co_funding=together)
    return replace(book, mandates=tuple(rows))


@settings(max_examples=80)
@given(a_shared_book(), a_stream())
def test_the_kernel_shares_loans_as_the_slow_router_does(book: Mandates, stream: Requests) -> None:
    wanted = SlowGreedy(book, stream, seed=3).run()
    result = route(stream, book, GREEDY, seed=3)
    assert result.column.tolist() == wanted
    assert not audit(result, book).violations
    for policy in POLICIES[2:]:
        assert not audit(route(stream, book, policy), book).violations


def stream_of(amounts: list[int], day: int = 0) -> Requests:
    """Requests of an hour each, by users of their own."""
    rows = np.arange(len(amounts))
    return from_columns(
        requested_at=(1_717_171_200 + day * 86_400 + rows * 3_600) * 1_000_000,
        loan_id=16_384 * (rows + 1) + 1, product=rows * 0 + 1, amount_minor=amounts,
        months=rows * 0 + 12, rate_ppm=rows * 0 + 240_000, grade=rows * 0 + 3,
        region=rows * 0 + 1, channel=rows * 0 + 1,
    )  # fmt: skip


def pair(lead: str = "{}", partner: str = "{}", **changes: str) -> Mandates:
    """A lead and its partner, which lends nothing alone: it takes loans of this lead's size."""
    return mandates(
        source(budgets=lead, co_funding=TOGETHER, **changes),
        source(source="2", budgets=partner, coupon="23%", **changes),
    )


def test_each_part_comes_out_of_its_own_budgets_or_none_does() -> None:
    book = pair(lead="{total: 30000}", partner="{total: 10000}")
    requests = stream_of([1_000_000] * 4)
    result = Router(requests, book, GREEDY).run()
    # 40 % of 10,000.00 each: after two loans the partner has 2,000.00 left.
    assert result.column.tolist() == [0, 0, -1, -1]
    assert result.state.total.tolist() == [1_800_000, 200_000]
    rows = routing_table(result).to_pylist()
    assert rows[2]["outcome"] == RoutingOutcome.NO_SOURCE
    assert rows[2]["binding_limit"] == 2, "the partner's total budget"
    assert not audit(result, book).violations
    smaller = [replace(each, budgets=Budgets(total_minor=799_999)) if each.source == 2 else each
               for each in book.mandates]  # fmt: skip
    found = audit(result, replace(book, mandates=tuple(smaller))).violations
    assert any("total budget" in each for each in found), found


def test_a_reservation_draws_on_the_budgets_of_both() -> None:
    book = pair(lead="{day: 50000}", partner="{day: 20000, total: 90000}")
    request = LimitRequest(1, 1_000_001, date(2024, 6, 3), 1, 1, 3, 240_000)
    found = {each.name: (each.amount, each.ceiling) for each in limits_of(book, 0, request)}
    assert found == {
        "1/day/all/2024-06-03": (600_001, 5_000_000),
        "2/total/all/2024-01-01": (400_000, 9_000_000),
        "2/day/all/2024-06-03": (400_000, 2_000_000),
    }
    part = partner_part(Router(stream_of([1_000_001]), book, GREEDY).rows, 0,
                        Router(stream_of([1_000_001]), book, GREEDY).columns, 0)  # fmt: skip
    assert part == 400_000


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"valid": "{from: 2024-07-01, to: 2024-12-31}"}, "partner 2: not in force"),
        ({"regions": "[5]"}, "partner 2: region"),
        ({"budgets": "{total: 1000}"}, "partner 2: budgets"),
    ],
)
def test_no_loan_is_offered_that_the_partner_cannot_share(
    change: dict[str, str], reason: str
) -> None:
    book = mandates(
        source(co_funding=TOGETHER), source(source="2", coupon="23%", **change)
    )  # fmt: skip
    requests = stream_of([1_000_000])
    assert route(requests, book, GREEDY).column.tolist() == [-1]
    told = explain_loan(requests, book, int(requests.loan_id[0]))
    assert reason in str(told)


def test_both_have_to_approve() -> None:
    book = mandates(
        source(co_funding=TOGETHER, approval_rate="50%"),
        source(source="2", coupon="23%", approval_rate="50%"),
    )
    requests = stream_of([1_000_000] * 400)
    yes = int((route(requests, book, GREEDY).column >= 0).sum())
    assert 70 < yes < 130  # a quarter


@pytest.mark.parametrize(
    ("lead", "partner", "said"),
    [
        ({"co_funding": "{partner: 3, share: 40%}"}, {}, "partner 3 is unknown. Name one of 2"),
        ({"co_funding": "{partner: 1, share: 40%}"}, {}, "its own partner"),
        ({"co_funding": "{partner: 2, share: 100%}"}, {}, "the partner lends 100%"),
        ({"co_funding": "{partner: 2, share: 140%}"}, {}, "140%"),
        ({"co_funding": "{partner: 2, share: 20%}"}, {}, "below the least share of 30%"),
        ({"co_funding": "{partner: 2}"}, {}, "share is missing"),
        ({"co_funding": TOGETHER, "platform_share": "30%"}, {}, "the platform and a partner"),
        ({"co_funding": TOGETHER}, {"currency": "USD"}, "currency"),
        ({"co_funding": TOGETHER}, {"model": "ice", "fee": "2%"}, "is ice, this one capital_heavy"),
        ({"co_funding": TOGETHER}, {"guarantee": "{trigger_days: 90}"}, "another guarantor"),
        ({"co_funding": TOGETHER}, {"settlement_lag": "3"}, "settled on other days"),
        ({"co_funding": TOGETHER}, {"structure": "{capital: 100}"}, "lends from a structure"),
        ({"co_funding": TOGETHER}, {"platform_share": "30%"}, "shares its own loans"),
        ({"co_funding": TOGETHER}, {"co_funding": "{partner: 1, share: 40%}"}, "shares its own"),
        ({"co_funding": TOGETHER}, {"borrower_limit": "100000"}, "limits on borrowers"),
        ({"co_funding": TOGETHER}, {"valid": "{from: 2025-01-01, to: 2025-12-31}"}, "no mandate"),
    ],
)  # fmt: skip
def test_what_cannot_lend_together_is_named(
    lead: dict[str, str], partner: dict[str, str], said: str
) -> None:
    text = document(source(**lead), source(source="2", **partner))
    with pytest.raises((UsanceError, ExceptionGroup)) as error:
        parse_mandates(text, where="m.yaml")
    told = [str(each) for each in getattr(error.value, "exceptions", [error.value])]
    assert any(said in each and "line" in each for each in told), told
