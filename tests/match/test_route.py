"""The kernel beside a slow router, on random mandates with every kind of limit."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.match.oracle import SlowGreedy
from usance.base.codes import FundingModel, Product
from usance.base.dates import to_day
from usance.match.backtest.streams import StreamKind, make_stream
from usance.match.errors import ReleaseError
from usance.match.mandates.limits import LimitKind
from usance.match.mandates.mandate import (
    Budgets,
    ConcentrationLimit,
    Eligibility,
    Guarantee,
    Mandate,
    Mandates,
    Measure,
    ModelShare,
    Platform,
    Structure,
)
from usance.match.router.audit import audit
from usance.match.router.releases import NO_RELEASES, Releases, releases_of
from usance.match.router.request_rows import _code_of
from usance.match.router.requests import Requests, from_columns
from usance.match.router.router import Router, route
from usance.match.router.routing_table import routing_table
from usance.match.router.state import ENGINE, GREEDY, MIRROR, POLICIES
from usance.twin.month.routing import POLICY as TWIN

few = st.integers(1, 3)


def some(values: range) -> st.SearchStrategy[frozenset[int]]:
    """A set of values, often empty (which means all)."""
    return st.frozensets(st.sampled_from(list(values)), max_size=4)


@st.composite
def a_mandate(draw: st.DrawFn, source: int) -> Mandate:
    model = draw(st.sampled_from(FundingModel))
    money = st.one_of(st.just(-1), st.integers(100_000, 3_000_000))
    least = draw(st.sampled_from([1, 200_000]))
    own = Eligibility(
        min_amount_minor=least,
        max_amount_minor=draw(st.sampled_from([600_000, 2_000_000_000])),
        borrower_minor=draw(st.one_of(st.just(-1), st.integers(200_000, 900_000))),
        months=draw(some(range(1, 13))),
        products=frozenset(Product(p) for p in draw(some(range(3)))),
        regions=draw(some(range(1, 4))),
        grades=draw(some(range(1, 5))),
        channels=draw(some(range(3))),
        needs=draw(st.sampled_from([frozenset(), frozenset({"repeat"})])),
        refuses=draw(st.sampled_from([frozenset(), frozenset({"owner"})])),
        blacklist=draw(some(range(1, 9))),
        cut_off=draw(st.sampled_from([86_400, 64_800])),
    )
    mix = draw(
        st.lists(
            st.sampled_from(
                [
                    ConcentrationLimit(Measure.REGION, 400_000, 1),
                    ConcentrationLimit(Measure.GRADE, 500_000, 2),
                    ConcentrationLimit(Measure.PRODUCT, 600_000, 1),
                    ConcentrationLimit(Measure.EXPECTED_LOSS, 45_000),
                    ConcentrationLimit(Measure.AVERAGE_RATE_MAX, 200_000),
                    ConcentrationLimit(Measure.AVERAGE_RATE_MIN, 180_000),
                ]
            ),
            max_size=2,
            unique_by=lambda each: each.measure,
        )
    )
    return Mandate(
        source=source,
        valid_from=date(2024, 6, 1),
        valid_to=date(2024, 6, draw(few) + 1),
        approved_by=("one", "two"),
        model=model,
        coupon_ppm=draw(st.integers(40_000, 90_000)),
        fee_ppm=draw(st.integers(10_000, 40_000)),
        co_share_ppm=draw(st.sampled_from([0, 300_000])),
        approval_ppm=draw(st.sampled_from([1_000_000, 500_000])),
        microcredit=draw(st.booleans()),
        guarantee=Guarantee(
            draw(st.sampled_from([0, 5])) if model is FundingModel.CAPITAL_HEAVY else 0
        ),
        eligibility=own,
        concentration_limits=tuple(mix),
        budgets=Budgets(draw(money), draw(money), draw(money)),
    )


@st.composite
def a_book(draw: st.DrawFn) -> Mandates:
    room = st.one_of(st.just(-1), st.integers(500_000, 4_000_000))
    shares = st.sampled_from([(), (ModelShare(FundingModel.ICE, 0, 400_000),)])
    platform = Platform(
        guarantee_minor=draw(room), microcredit_minor=draw(room), liquidity_minor=draw(room),
        model_shares=draw(shares),
    )  # fmt: skip
    rows = tuple(draw(a_mandate(source)) for source in range(1, draw(st.integers(1, 5)) + 1))
    return Mandates(rows, platform=platform, attributes=("repeat", "owner"))


@st.composite
def a_stream(draw: st.DrawFn) -> Requests:
    count = draw(st.integers(1, 25))

    def column(lowest: int, highest: int) -> list[int]:
        return draw(st.lists(st.integers(lowest, highest), min_size=count, max_size=count))

    gaps, users = column(1, 20_000), column(1, 8)
    start = 1_717_171_200  # 2024-06-01 in China
    return from_columns(
        requested_at=(start + np.cumsum(gaps)) * 1_000_000,
        loan_id=[user * 16_384 + row + 1 for row, user in enumerate(users)],
        product=column(0, 2), amount_minor=[n * 1_000 for n in column(50, 900)],
        months=column(1, 14), rate_ppm=[n * 1_000 for n in column(80, 240)],
        grade=column(1, 4), region=column(1, 4), channel=column(0, 3), attributes=column(0, 3),
    )  # fmt: skip


@settings(max_examples=80)
@given(a_book(), a_stream())
def test_the_kernel_does_what_the_slow_router_does(book: Mandates, stream: Requests) -> None:
    wanted = SlowGreedy(book, stream, seed=3).run()
    result = route(stream, book, GREEDY, seed=3)
    assert result.column.tolist() == wanted
    assert not audit(result, book).violations


CameBack = list[tuple[date, int, int]]


@st.composite
def a_revolving_book(draw: st.DrawFn) -> tuple[Mandates, CameBack]:
    """Every total is small, most revolve until one of the days, and principal comes back."""
    book = draw(a_book())
    until = st.sampled_from([None, date(2024, 6, 1), date(2024, 6, 2), date(2024, 6, 9)])
    rows = tuple(
        replace(
            each, valid_to=date(2024, 6, 4), structure=Structure(revolving_until=draw(until)),
            budgets=Budgets(total_minor=draw(st.integers(0, 900_000))), concentration_limits=(),
        )
        for each in book.mandates
    )  # fmt: skip
    day = st.dates(date(2024, 6, 1), date(2024, 6, 5))
    a_row = st.tuples(day, st.integers(1, 6), st.integers(0, 700_000))
    return replace(book, mandates=rows), draw(st.lists(a_row, max_size=12))


def released_rows(came_back: CameBack) -> Releases:
    return releases_of(
        day=[to_day(day) for day, _, _ in came_back],
        source=[source for _, source, _ in came_back],
        principal_minor=[principal for _, _, principal in came_back],
    )


@settings(max_examples=60)
@given(a_revolving_book(), a_stream())
def test_principal_that_comes_back_is_lent_again(
    given_book: tuple[Mandates, CameBack], stream: Requests
) -> None:
    book, came_back = given_book
    wanted = SlowGreedy(book, stream, seed=3, came_back=came_back).run()
    result = route(stream, book, GREEDY, seed=3, releases=released_rows(came_back))
    assert result.column.tolist() == wanted
    for policy in POLICIES[2:]:
        result = route(stream, book, policy, releases=released_rows(came_back))
        assert not audit(result, book).violations


def test_what_comes_back_is_seen_by_router_and_audit(small) -> None:  # type: ignore[no-untyped-def]
    requests, mandates, demand = small
    revolving = Structure(revolving_until=date(2024, 12, 31))
    quarter = tuple(
        replace(
            each, structure=revolving, minimum_take=None,
            budgets=Budgets(total_minor=each.budgets.total_minor // 4),
        )
        for each in mandates.mandates
    )  # fmt: skip
    book = replace(mandates, mandates=quarter)
    tenth = [(each.source, each.budgets.total_minor // 10) for each in quarter]
    days = [to_day(date(2024, 6, day)) for day in range(2, 31)]
    releases = releases_of(
        day=[day for day in days for _ in tenth],
        source=[source for _ in days for source, _ in tenth],
        principal_minor=[principal for _ in days for _, principal in tenth],
    )
    result = route(requests, book, ENGINE, demand=demand, releases=releases)
    assert not audit(result, book).violations
    assert result.margin_minor > route(requests, book, ENGINE, demand=demand).margin_minor * 2
    result.releases = NO_RELEASES
    assert audit(result, book).violations


def test_a_release_beyond_every_budget_is_refused() -> None:
    for amount in (10**13, -(10**13)):
        with pytest.raises(ReleaseError, match=f"source 7 releases {amount} on 2024-06-01"):
            releases_of(day=[to_day(date(2024, 6, 1))], source=[7], principal_minor=[amount])


@settings(max_examples=25)
@given(a_book(), a_stream(), st.sampled_from([MIRROR, *POLICIES[2:4]]))
def test_no_rule_breaks_a_limit(book: Mandates, stream: Requests, policy: object) -> None:
    found = audit(route(stream, book, policy), book)  # type: ignore[arg-type]
    assert not found.violations
    assert not found.concentration_breaches


@pytest.fixture(scope="module")
def small() -> tuple[Requests, Mandates, object]:
    made = make_stream(StreamKind.SEASONAL, seed=2, requests=3_000, sources=24, segments=60)
    return made.requests, made.mandates, made.demand


def test_the_engine_keeps_every_limit_and_the_audit_can_see_one_broken(small) -> None:  # type: ignore[no-untyped-def]
    requests, mandates, demand = small
    result = route(requests, mandates, ENGINE, demand=demand)
    assert not audit(result, mandates).violations
    assert not audit(result, mandates).concentration_breaches
    halved = tuple(
        replace(each, budgets=replace(each.budgets, total_minor=each.budgets.total_minor // 2))
        for each in mandates.mandates
    )
    assert audit(result, replace(mandates, mandates=halved)).violations


def test_a_run_in_two_parts_is_the_run_in_one(small) -> None:  # type: ignore[no-untyped-def]
    requests, mandates, demand = small
    whole = route(requests, mandates, ENGINE, demand=demand)
    parts = Router(requests, mandates, ENGINE, demand=demand)
    parts.run(until=1_234)
    again = parts.run()
    assert (whole.column == again.column).all()
    assert (whole.state.limits.price == again.state.limits.price).all()


def test_the_routing_table_tells_every_attempt(small) -> None:  # type: ignore[no-untyped-def]
    requests, mandates, _ = small
    result = route(requests, mandates, GREEDY)
    rows = routing_table(result)
    outcome = np.array(rows.column("outcome"))
    assert (outcome == 1).sum() == (result.column >= 0).sum()
    nowhere = (result.decisions.outcome == 0).sum()
    assert (outcome == 5).sum() == nowhere
    assert rows.num_rows == np.maximum(np.abs(result.decisions.outcome), 1).sum()
    approved = {
        (loan, source)
        for loan, source, how in zip(
            rows.column("loan_id").to_pylist(), rows.column("source").to_pylist(), outcome,
            strict=True,
        )
        if how == 1
    }  # fmt: skip
    wanted = {
        (int(loan), mandates.mandates[column].source)
        for loan, column in zip(requests.loan_id, result.column, strict=True)
        if column >= 0
    }
    assert approved == wanted


def test_the_binding_limit_is_the_one_of_that_moment() -> None:
    """A day with room for two loans and a total for seven: first the day is full, then all is."""
    from tests.match.mandates import mandates, source
    from usance.match.mandates.limits import list_limits

    book = mandates(source(budgets="{day: 10000, total: 35000}", borrower_limit="5000"))
    numbers = {limit.kind: limit.number for limit in list_limits(book)}
    hours = np.arange(20) * 6
    requests = from_columns(
        requested_at=(1_717_171_200 + hours * 3_600) * 1_000_000,
        loan_id=[16_384 * (1 if row in (0, 4) else row + 2) + row + 1 for row in range(20)],
        product=[1] * 20, amount_minor=[500_000] * 20, months=[12] * 20, rate_ppm=[240_000] * 20,
        grade=[3] * 20, region=[1] * 20, channel=[1] * 20,
    )  # fmt: skip
    rows = routing_table(route(requests, book, GREEDY)).to_pylist()
    placed = [row["outcome"] == 1 for row in rows]
    # The fifth request is the first borrower again, who has had all that one may have.
    assert placed == [True, True, False, False, False, True, True, False,
                      True, True, False, False, True] + [False] * 7  # fmt: skip
    binding = [row["binding_limit"] for row in rows]
    day, total = numbers[LimitKind.DAY], numbers[LimitKind.TOTAL]
    assert binding[2:4] == [day, day]
    assert binding[4] == numbers[LimitKind.BORROWER]
    assert binding[7] == binding[10] == day
    assert set(binding[13:]) == {total}
    assert not any(number for number, yes in zip(binding, placed, strict=True) if yes)


def test_the_engine_names_the_budget_whose_price_it_paid(small) -> None:  # type: ignore[no-untyped-def]
    from usance.match.mandates.limits import list_limits

    requests, mandates, demand = small
    result = route(requests, mandates, ENGINE, demand=demand)
    rows = routing_table(result)
    limits = {each.number: each for each in list_limits(mandates)}
    source = [each.source for each in mandates.mandates]
    named = [row for row in rows.to_pylist() if row["binding_limit"] and row["source"]]
    assert len(named) > 500
    assert all(source[limits[row["binding_limit"]].column] == row["source"] for row in named)
    kinds = {limits[row["binding_limit"]].kind for row in named}
    assert {LimitKind.TOTAL, LimitKind.DAY} <= kinds


def test_answers_do_not_depend_on_the_order_of_asking(small) -> None:  # type: ignore[no-untyped-def]
    """What an institution says about a loan is the same whoever was asked before."""
    requests, mandates, _ = small
    said: dict[tuple[int, int], set[bool]] = {}
    for policy in (GREEDY, *POLICIES[2:4]):
        result = route(requests, mandates, policy)
        for row, asked in enumerate(result.decisions.asked):
            for column in asked[asked >= 0]:
                yes = bool(result.column[row] == column)
                said.setdefault((row, int(column)), set()).add(yes)
    assert all(len(each) == 1 for each in said.values())


def test_a_plan_on_the_way_is_of_no_more_kinds_of_demand_than_the_policy_says() -> None:
    made = make_stream(StreamKind.STEADY, seed=3, requests=12_000, sources=6, segments=9_000)
    result = {
        policy.segments: route(made.requests, made.mandates, policy, seed=3)
        for policy in (ENGINE, TWIN)
    }
    most = {bound: max(plan.segments for plan in each.plans) for bound, each in result.items()}
    assert 2_000 < most[ENGINE.segments] <= ENGINE.segments, "else the twin's bound is not reached"
    assert most[TWIN.segments] <= TWIN.segments == 2_000


def test_one_number_stands_for_the_parts_of_a_row() -> None:
    """Rows with equal parts share a number, numbers rise as rows do, however wide the parts are."""
    chance = np.random.default_rng(7)
    for _ in range(60):
        size = int(chance.integers(0, 50))
        parts = np.stack(
            [chance.integers(-3, chance.choice([2, 5, 2**40, 2**61]), size) for _ in range(9)]
        )
        code = _code_of(parts)
        expected = np.unique(parts, axis=1, return_index=True, return_inverse=True)[1:]
        found = np.unique(code, return_index=True, return_inverse=True)[1:]
        assert all(np.array_equal(a.ravel(), b) for a, b in zip(expected, found, strict=True))
