"""Institutions that fall silent, leave or change their minds, as mandates and events tell it."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.world.test_scenario_file import CALM, refusals, written
from usance.base.codes import FundingModel
from usance.base.dates import parse_month, to_day
from usance.base.rates import PPM
from usance.match.mandates.mandate import EventKind, Mandates
from usance.twin.month.mandates import mandates_of
from usance.world.institutions import Institutions
from usance.world.scenario.file import read_scenario
from usance.world.scenario.scenario import FOR_GOOD, Scenario, SourceEvent, SourceEventKind

OCTOBER, NOVEMBER, DECEMBER = (parse_month(f"2023-{n}") for n in (10, 11, 12))


def source_event(
    kind: str, first: date, last: date | None, value: int = -1, *numbers: int
) -> SourceEvent:
    end = FOR_GOOD if last is None else to_day(last)
    return SourceEvent(
        SourceEventKind(kind), FundingModel.CAPITAL_HEAVY, to_day(first), end, value, numbers
    )


@pytest.fixture(scope="module")
def calm() -> Scenario:
    return read_scenario("calm")


def mandates(scenario: Scenario, month: int, *changes: SourceEvent) -> Mandates:
    institutions = Institutions(replace(scenario, source_events=changes), Fraction(1))
    return mandates_of(institutions, month, {})


def told(found: Mandates) -> list[tuple[int, int, EventKind, int]]:
    return [(each.at.day, each.source, each.kind, each.value) for each in found.events]


def test_without_events_a_mandate_lasts_its_month(calm: Scenario) -> None:
    found = mandates(calm, OCTOBER)
    assert found.events == ()
    assert {(each.valid_from.day, each.valid_to.day, each.version)
            for each in found.mandates} == {(1, 31, 11)}  # fmt: skip


def test_an_outage_is_an_approval_of_nothing_and_ends(calm: Scenario) -> None:
    down = source_event("outage", date(2023, 10, 9), date(2023, 11, 3), -1, 2)
    rates = EventKind.APPROVAL_RATE
    assert told(mandates(calm, OCTOBER, down)) == [(9, 2, rates, 0)]
    assert told(mandates(calm, NOVEMBER, down)) == [(1, 2, rates, 0), (4, 2, rates, 920_000)]
    assert told(mandates(calm, DECEMBER, down)) == []
    assert all(each.approval_ppm == 920_000 for each in mandates(calm, NOVEMBER, down).mandates[:4])
    silent = Institutions(replace(calm, source_events=(down,)), Fraction(1)).events.silent
    days = np.array([to_day(date(2023, 10, n)) for n in (8, 9, 9)])
    assert silent(np.array([2, 2, 3]), days).tolist() == [False, True, False]


def test_another_rate_is_felt_at_once_and_stated_a_month_later(calm: Scenario) -> None:
    colder = source_event("approval", date(2023, 10, 16), date(2023, 11, 20), 300_000, 1)
    rates = EventKind.APPROVAL_RATE
    for month, stated, events in (
        (OCTOBER, 920_000, [(16, 1, rates, 300_000)]),
        (NOVEMBER, 300_000, [(21, 1, rates, 920_000)]),
        (DECEMBER, 920_000, []),
    ):
        found = mandates(calm, month, colder)
        assert found.mandates[0].approval_ppm == stated
        assert told(found) == events


def test_who_leaves_is_gone_until_the_day_of_return(calm: Scenario) -> None:
    gone = source_event("leaves", date(2023, 10, 20), date(2023, 12, 5), -1, 4)
    assert told(mandates(calm, OCTOBER, gone)) == [(20, 4, EventKind.LEAVES, 0)]
    assert told(mandates(calm, NOVEMBER, gone)) == [(1, 4, EventKind.LEAVES, 0)]
    assert told(mandates(calm, DECEMBER, gone)) == [
        (1, 4, EventKind.LEAVES, 0), (6, 4, EventKind.RETURNS, 0),
    ]  # fmt: skip
    for_good = source_event("leaves", date(2023, 10, 20), None, -1, 4)
    assert told(mandates(calm, DECEMBER, for_good)) == [(1, 4, EventKind.LEAVES, 0)]


def test_a_mandate_that_changes_has_two_versions(calm: Scenario) -> None:
    whole = mandates(calm, NOVEMBER).mandates[0]
    changes = (
        source_event("budget", date(2023, 11, 11), None, 500_000, 1),
        source_event("eligible", date(2023, 11, 21), None, 100_000, 1),
    )
    first, second, third = mandates(calm, NOVEMBER, *changes).of_source(1)
    days = [(each.version, each.valid_from.day, each.valid_to.day)
            for each in (first, second, third)]  # fmt: skip
    assert days == [(12, 1, 10), (13, 11, 20), (14, 21, 30)]
    assert mandates(calm, DECEMBER, *changes).of_source(1)[0].version == 15
    assert mandates(calm, DECEMBER, *changes).of_source(2)[0].version == 13
    assert first.budgets.total_minor == whole.budgets.total_minor // 3
    assert abs(second.budgets.total_minor - first.budgets.total_minor // 2) <= 1
    assert first.eligibility == second.eligibility == whole.eligibility
    assert third.eligibility.regions < whole.eligibility.regions
    assert third.eligibility.grades <= whole.eligibility.grades


DAYS = st.integers(to_day(date(2023, 9, 25)), to_day(date(2023, 12, 31)))


@given(st.lists(st.tuples(st.sampled_from(["outage", "leaves", "approval"]), DAYS, DAYS),
                min_size=1, max_size=3, unique_by=lambda each: each[0]))  # fmt: skip
def test_events_come_to_what_holds_on_each_day(
    calm: Scenario, drawn: list[tuple[str, int, int]]
) -> None:
    """Played one after the other, a month's events leave each day as the scenario says."""
    changes = [
        SourceEvent(SourceEventKind(kind), FundingModel.CAPITAL_HEAVY, min(a, b), max(a, b),
                    400_000 if kind == "approval" else -1, (3,))
        for kind, a, b in drawn
    ]  # fmt: skip
    by_kind = {each.kind.value: each for each in changes}

    def holds(kind: str, day: int) -> bool:
        return kind in by_kind and by_kind[kind].first_day <= day <= by_kind[kind].last_day

    for month in (OCTOBER, NOVEMBER):
        found = mandates(calm, month, *changes)
        rate, is_there = found.of_source(3)[0].approval_ppm, True
        first = to_day(found.mandates[0].valid_from)
        for day in range(first, to_day(found.mandates[-1].valid_to) + 1):
            for event in found.events:
                if to_day(event.at.date()) == day:
                    assert event.source == 3
                    if event.kind is EventKind.APPROVAL_RATE:
                        rate = event.value
                    else:
                        is_there = event.kind is EventKind.RETURNS
            answers = 400_000 if holds("approval", day) else 920_000
            assert rate == (0 if holds("outage", day) else answers)
            assert is_there == (not holds("leaves", day))


def test_the_freeze_has_an_outage_a_departure_and_changes_of_heart() -> None:
    freeze = read_scenario("funding-freeze")
    assert {each.kind for each in freeze.source_events} == {
        "outage",
        "leaves",
        "approval",
        "eligible",
    }
    leaver = next(each for each in freeze.source_events if each.kind == "leaves")
    assert leaver.last_day == FOR_GOOD
    assert all(each.value_ppm < PPM for each in freeze.source_events)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("{kind: strike, model: ice, from: 2023-02-01}", "unknown source event 'strike'"),
        ("{kind: outage, model: ice, from: 2023-02-30}", "2023-02-30"),
        ("{kind: outage, model: ice, from: 2023-02-05, to: 2023-02-01}", "ends before it begins"),
        ("{kind: outage, model: ice, from: 2025-02-05}", "not within the scenario's months"),
        ("{kind: outage, model: ice, numbers: [3], from: 2023-02-05}", "ice has 2 institutions"),
        ("{kind: outage, model: ice, from: 2023-02-05, value: 5%}", "outage has no value"),
        ("{kind: budget, model: ice, from: 2023-02-05}", "value is missing"),
        ("{kind: approval, model: ice, from: 2023-02-05, value: 120%}", "above 100%"),
        ("{kind: outage, from: 2023-02-05}", "model is missing"),
    ],
)
def test_what_cannot_be_is_named_with_its_line(tmp_path: Path, entry: str, said: str) -> None:
    text = f"{CALM}\ninstitutions:\n  - {entry}\n"
    (found,) = refusals(written(tmp_path, text))
    assert said in found
    assert f"line {len(text.splitlines())}" in found


def test_two_of_a_kind_at_one_time_are_refused(tmp_path: Path) -> None:
    text = f"""{CALM}
institutions:
  - {{kind: approval, model: ice, from: 2023-02-01, to: 2023-04-30, value: 50%}}
  - {{kind: approval, model: ice, numbers: [2], from: 2023-04-30, value: 60%}}
  - {{kind: outage, model: ice, from: 2023-02-01}}
"""
    (found,) = refusals(written(tmp_path, text))
    assert "institutions[2]" in found
    assert "meets entry 1" in found
