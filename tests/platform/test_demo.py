"""The demo's world: who pays when, and a lender made of a finished twin's own sources."""

from __future__ import annotations

from collections import Counter
from datetime import date, timedelta
from typing import Any

import pytest

from usance.base.codes import FundingModel
from usance.base.columns import make
from usance.base.dates import to_day
from usance.base.draws import draw
from usance.base.tables import table
from usance.match.mandates.file import parse_mandates
from usance.platform.demo import world
from usance.platform.demo.lender import lender_of, names
from usance.twin.run.options import named_scenario


def due_days(first: date, count: int) -> list[date]:
    """Monthly anniversaries, clamped to the end of short months, by counting days."""
    found, day = [first], first
    while len(found) < count:
        day += timedelta(days=1)
        ends = (day + timedelta(days=1)).day == 1
        if day.day == first.day or (ends and day.day < first.day):
            found.append(day)
    return found


@pytest.mark.parametrize("first", [date(2024, 1, 31), date(2024, 2, 29), date(2023, 12, 5)])
def test_due_days_are_anniversaries(first: date) -> None:
    assert [world._month_after(first, n) for n in range(14)] == due_days(first, 14)


def test_each_instalment_is_paid_once_or_never() -> None:
    first, last = date(2024, 1, 31), date(2024, 12, 31)
    for loan in range(200):
        paid = [first + timedelta(days=n) for n in range((last - first).days)
                if world._pays_on(loan, first, first + timedelta(days=n))]  # fmt: skip
        per_due = Counter(max(due for due in due_days(first, 13) if due <= day) for day in paid)
        assert set(per_due.values()) <= {1}
        for day in paid:
            due = max(each for each in due_days(first, 13) if each <= day)
            assert (day - due).days == world._lateness(loan, due) <= world.MAX_LATE + 1


def test_most_borrowers_pay_on_the_day() -> None:
    late = [world._lateness(loan, date(2024, 7, 5)) for loan in range(4_000)]
    assert 0.92 < sum(days == 0 for days in late) / len(late) < 0.95
    assert any(days > world.MAX_LATE for days in late)


class TwelveSources:
    """As much of a book as the document of a lender asks for."""

    class manifest:  # noqa: N801
        time_zone, currency = "Asia/Shanghai", "CNY"

    def read(self, name: str) -> Any:
        if name == "sources":
            return self
        days = [to_day(date(2024, 3, 1)), to_day(date(2024, 6, 1)), to_day(date(2024, 4, 30))]
        given = {each: [1, 1, 1] for each in table(name).names}
        return make(
            name,
            **{
                **given,
                "disbursed_on": days,
                "source": [2, 2, 2],
                "principal_minor": [90_000_000, 120_000_000, 60_000_000],
            },
        )

    def to_pylist(self) -> list[dict[str, int]]:
        models = [int(each.model) for each in named_scenario("calm").funding
                  for _ in range(each.sources)]  # fmt: skip
        return [{"source": n, "model": model, "entity": 1, "coupon_ppm": 75_000, "fee_ppm": 30_000,
                 "trigger_days": 60} for n, model in enumerate(models, start=1)]  # fmt: skip


def test_a_lender_keeps_the_sources_of_its_twin() -> None:
    document = lender_of(TwelveSources(), "calm", date(2024, 6, 1))  # type: ignore[arg-type]
    found = parse_mandates(document["mandates"]).mandates
    assert [each.source for each in found] == list(range(1, 13))
    assert {each.coupon_ppm for each in found} == {75_000}
    asked = [each for each in found if document["sources"][each.source]["answers"] == "asked"]
    assert [each.name for each in asked] == [names()["asked"]]
    assert asked[0].eligibility.regions == {names()["asked_region"]}
    assert found[0].model is FundingModel.CAPITAL_HEAVY
    months = [each.budgets.month_minor for each in found[:2]]
    assert months == [20_000_000, 90_000_000]  # half as much again as in a month, March left out
    assert document["principals"]["institution"]["party"] == names()["asked"]


def test_newcomers_of_every_region_draw() -> None:
    chances = [
        draw(world.SEED, 1, day, number) for day in range(739_000, 739_060) for number in range(8)
    ]
    drawing = {world._region(each) for each in chances if world._draws_at_once(each)}
    assert drawing == set(range(1, world.REGIONS + 1))


def test_who_has_given_up_seldom_pays() -> None:
    days = [date(2024, 7, 1) + timedelta(days=each) for each in range(1_000)]
    assert 0 < sum(world._is_cured(16_385, day) for day in days) < 100
