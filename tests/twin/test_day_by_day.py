"""A month on columns comes to what a life day by day comes to, row by row."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from fractions import Fraction
from typing import Any

import pytest

from tests.twin.day_by_day import COMPARED, DayByDay
from tests.twin.runs import faulty, ticking
from usance.base.book import Book
from usance.base.codes import FactKind, FundingModel, RoutingOutcome
from usance.base.dates import last_of_month, to_day
from usance.base.periods import MetricPeriod
from usance.match.reservation.split import split_by_weight
from usance.measure.inputs import Inputs
from usance.measure.metrics import measure
from usance.twin.run.run_context import RunContext
from usance.twin.run.runner import run_scenario
from usance.world.incidents import Incidents
from usance.world.scenario.scenario import (
    CoFundingPair,
    Scenario,
    SourceEvent,
    SourceEventKind,
)

SCALE = Fraction(1, 60)
MONTHS = range(636, 639)
INCIDENTS = Incidents(
    charged_back_ppm=60_000, complaint_upheld_ppm=200_000, asks_for_help_ppm=700_000,
    plan_ppm={"deferral": 200_000, "longer_term": 200_000, "lower_rate": 200_000,
              "interest_pause": 300_000, "re_ageing": 100_000},
)  # fmt: skip
BUCKETS = (500_000, 50_000, 200_000, 50_000, 50_000, 50_000, 100_000)
UNKNOWN = {"decisions": {"latency_us"}, "routing": {"binding_limit"}}
"""What the desk does not say as the router does: how long it took, and which limit was dearest."""


def source_event(
    kind: str, numbers: tuple[int, ...], first: date, last: date, value: int = -1
) -> SourceEvent:
    return SourceEvent(
        SourceEventKind(kind),
        FundingModel.CAPITAL_HEAVY,
        to_day(first),
        to_day(last),
        value,
        numbers,
    )


def lively() -> Scenario:
    """Many requests, little money, late payers, late notices, and institutions that change.

    Two pairs of them lend together.
    """
    given = faulty()
    demand = given.demand
    together = {FundingModel.CAPITAL_HEAVY: (CoFundingPair(2, 4, 333_333),),
                FundingModel.CAPITAL_LIGHT: (CoFundingPair(1, 3, 400_000),)}  # fmt: skip
    changes = (
        source_event("outage", (1, 2), date(2023, 1, 9), date(2023, 1, 25)),
        source_event("approval", (3,), date(2023, 2, 6), date(2023, 3, 12), 300_000),
        source_event("leaves", (4,), date(2023, 2, 10), date(2023, 3, 14)),
        source_event("eligible", (1,), date(2023, 2, 15), date(2023, 3, 10), 200_000),
        source_event("budget", (2,), date(2023, 3, 8), date(2023, 3, 31), 1_500_000),
    )
    return replace(
        given,
        seed=3,
        source_events=changes,
        providers=replace(given.providers, late_notice_ppm=600_000, late_notice_days=12),
        demand=replace(demand, requests={m: 6 * n for m, n in demand.requests.items()}),
        funding=tuple(
            replace(each, head_room_ppm=550_000, co_funding=together.get(each.model, ()))
            for each in given.funding
        ),
        behaviour=replace(
            given.behaviour,
            early_ppm=500_000,
            life_event_ppm=100_000,
            life_event_months=2,
            life_event_hazard_ppm=3_000_000,
        ),
        opening=replace(given.opening, bucket_ppm=BUCKETS),
        incidents=INCIDENTS,
    )


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Book:
    folder = tmp_path_factory.mktemp("twin") / "run"
    return run_scenario(
        lively(), folder, scale=SCALE, first=MONTHS[0], last=MONTHS[-1], workers=1, clock=ticking()
    ).book


def lived(book: Book, *, release_lag: int = 1) -> DayByDay:
    made = DayByDay(RunContext(lively(), SCALE), book, release_lag)
    made.open()
    for month in MONTHS:
        made.live(month)
    return made


@pytest.fixture(scope="module")
def days(book: Book) -> DayByDay:
    return lived(book)


def rows(name: str, given: list[dict[str, Any]]) -> list[list[tuple[str, Any]]]:
    left_out = UNKNOWN.get(name, set())
    return sorted(
        [(column, value or 0) for column, value in sorted(row.items()) if column not in left_out]
        for row in given
    )


def both(name: str, month: int, book: Book, days: DayByDay) -> tuple[list[Any], list[Any]]:
    """The rows of a month as they were lived, and as they are in the book."""
    written = book.read(name, month=month).to_pylist()
    empty = dict.fromkeys(written[0] if written else {}, 0)
    own = [{**empty, **row} for row in days.made.get((name, month), [])]
    return rows(name, own), rows(name, written)


@pytest.mark.parametrize("month", MONTHS)
@pytest.mark.parametrize("name", COMPARED)
def test_a_month_on_columns_is_a_life_day_by_day(
    book: Book, days: DayByDay, name: str, month: int
) -> None:
    own, written = both(name, month, book, days)
    assert own == written
    assert len(written) > 1


def test_money_that_may_be_lent_a_day_later_is_seen(book: Book) -> None:
    late = lived(book, release_lag=2)
    pairs = (both("routing", month, book, late) for month in MONTHS)
    assert any(own != written for own, written in pairs)


def test_what_is_compared_has_everything_in_it(days: DayByDay) -> None:
    """Late notices over a month's end, users late at their moment, every answer and every fact."""
    facts = [row for month in MONTHS for row in days.made["facts", month]]
    kinds = {FactKind(row["kind"]) for row in facts}
    assert kinds == {FactKind.DISBURSED, FactKind.FEE_CHARGED, FactKind.PAID, FactKind.COMPENSATED,
                     FactKind.BOUGHT_OUT, FactKind.CHARGED_OFF, FactKind.RECOVERED,
                     FactKind.CHARGED_BACK, FactKind.WAIVED, FactKind.REFUNDED,
                     FactKind.TERMS_CHANGED, FactKind.INTEREST_PAUSED}  # fmt: skip
    known_later = [row for row in facts if row["booked_at"].month != row["effective_on"].month]
    assert len(known_later) > 5
    outcomes = {row["outcome"] for month in MONTHS for row in days.made["routing", month]}
    assert outcomes == {RoutingOutcome.APPROVED, RoutingOutcome.DECLINED,
                        RoutingOutcome.TIMED_OUT, RoutingOutcome.NO_SOURCE}  # fmt: skip
    decisions = [row for month in MONTHS for row in days.made["decisions", month]]
    assert any(row.get("reason_1") == 151 for row in decisions), "somebody is past due by then"


def test_no_source_has_more_out_than_its_limits_say(book: Book) -> None:
    """Limits are of the mandates in force; the metric finds those of its date."""
    sources = {(row["source"], row["version"]): row for row in book.read("sources").to_pylist()}
    cells = {row["cell"]: row["source"] for row in book.read("cells").to_pylist()}
    parts: dict[int, dict[int, int]] = {}
    for row in book.read("shares").to_pylist():
        parts.setdefault(row["loan_id"], {})[row["source"]] = row["principal_minor"]
    assert len(parts) > 3
    whose = {row["loan_id"]: row["source"] for row in book.read("loans").to_pylist()}
    for month in MONTHS:
        out: dict[int, int] = {}
        for row in book.read("tape", month=month).to_pylist():
            own = parts.get(row["loan_id"], {cells[row["cell"]]: 1})
            for source, owed in split_by_weight(row["principal_minor"], own).items():
                out[source] = out.get(source, 0) + owed
        limits = book.read("limits", month=month).to_pylist()
        most = {row["source"]: row["amount_minor"] for row in limits}  # the last version's
        assert sorted(most) == sorted({source for source, _ in sources})
        # Money that is charged back is owed again, and no limit refuses it.
        for row in book.read("facts", month=month).to_pylist():
            if row["kind"] == FactKind.CHARGED_BACK:
                out[whose[row["loan_id"]]] -= row["amount_minor"]
        assert all(out.get(source, 0) <= minor for source, minor in most.items())
        begins = [sources[row["source"], row["version"]]["valid_from"] for row in limits]
        assert {(each.year - 1970) * 12 + each.month - 1 for each in begins} == {month}
    assert len(book.read("limits", month=MONTHS[1])) > len(book.read("limits", month=MONTHS[0]))
    as_of = last_of_month(MONTHS[-1])
    found, *_ = measure(
        Inputs.of_book(book), ["mandate_utilisation"], as_of=as_of, period=MetricPeriod.of("2023Q1")
    )
    assert found.denominator == sum(most.values())
    assert 0.5 < found.numerator / found.denominator < 1
