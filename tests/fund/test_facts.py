"""Facts of a deal in the books: their interest is the deal's, and nothing is left at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from tests.fund.random_deals import deal_inputs
from tests.fund.test_waterfall import deal_of
from usance.base.codes import Currency, parse
from usance.base.errors import UsanceError
from usance.base.stated_fact import StatedFact
from usance.books.group.checks import fact_problems
from usance.books.group.entities import Entities, Entity, Role
from usance.books.group.fact_kinds import GroupFactKind
from usance.books.group.facts import GroupFact, fact
from usance.books.group.funding import deals, funding_amounts
from usance.fund.deal import Deal, Pool, Scenario
from usance.fund.deal_terms import DealTerms, read_terms
from usance.fund.facts import class_deal, deal_facts, schedule_facts
from usance.fund.projection import Projection, project
from usance.fund.sample import sample_deal, sample_path

KNOWN = datetime(2030, 1, 1, tzinfo=UTC)


def in_the_books(run: Projection, *, ended: bool) -> list[GroupFact]:
    state = run.state if ended else None
    return books_facts(deal_facts(run.deal, DealTerms(entity=1), run.distributions, state))


def books_facts(made: Sequence[StatedFact]) -> list[GroupFact]:
    return [
        fact(
            number, each.entity, parse(GroupFactKind, each.kind), each.effective_on, KNOWN,
            each.amount_minor, party=each.party, **each.detail,
        )
        for number, each in enumerate(made, start=1)
    ]  # fmt: skip


def check_tie(deal: Deal, run: Projection) -> int:
    """Interest by the books less what was paid is what the class is due, on every date."""
    known = deals(in_the_books(run, ended=False))
    checked = 0
    for each in deal.classes:
        if not each.balance_minor:  # it lent nothing, and lives on the residual
            continue
        books, paid = known[class_deal(deal, each.name)], 0
        for row in run.distributions:
            paid += row.classes[each.name].interest_minor
            assert books.interest(row.paid_on) - paid == row.classes[each.name].unpaid_minor
            assert books.owed(row.paid_on) == row.classes[each.name].balance_minor
            checked += 1
    return checked


def test_the_books_agree_on_all_class_dates_of_the_worked_deals() -> None:
    deal = sample_deal()
    checked = sum(check_tie(deal, project(deal, Scenario(0, times, 100))) for times in (100, 300))
    assert checked == 72


@settings(max_examples=40)
@given(deal_inputs())
def test_the_books_agree_on_random_deals(given: dict[str, Any]) -> None:
    """By actual days: months of 30 days do not add up over dates on which nothing is repaid."""
    rule = given["day_count"] if given["day_count"].startswith("actual") else "actual/365"
    deal = deal_of({**given, "name": "R1", "day_count": rule})
    check_tie(deal, project(deal))


def test_a_deal_that_ends_short_is_written_down() -> None:
    deal = sample_deal()
    run = project(deal, Scenario(0, 1_700, 100))
    assert run.short_minor("A") > 0
    made = in_the_books(run, ended=True)
    down = [each for each in made if each.kind is GroupFactKind.FUNDING_WRITTEN_DOWN]
    assert sum(each.amount_minor for each in down) == sum(
        run.short_minor(each.name) for each in deal.classes
    )
    for each in deals(made).values():
        assert each.owed(date(2025, 1, 15)) == 0
    assert not list(fact_problems(made, ENTITIES))


ENTITIES = Entities(Currency.CNY, {1: Entity(1, "Group", Role.PARENT, Currency.CNY)})


def test_what_is_repaid_after_a_year_is_non_current() -> None:
    """At closing of a deal of two years, and again half a year later by a newer schedule."""
    sample = sample_deal()
    assert sample.pool.terms is not None
    longer = Pool(sample.pool.balance_minor, replace(sample.pool.terms, months=24))
    deal = replace(sample, periods=24, pool=longer)
    run, terms = project(deal), DealTerms(entity=1)
    made = deal_facts(deal, terms, run.distributions[:6])
    made += schedule_facts(deal, terms, deal.closing_on, run.distributions)
    made += schedule_facts(deal, terms, run.distributions[5].paid_on, run.distributions[6:])
    given = books_facts(made)
    for day, first in ((date(2024, 3, 31), 0), (date(2024, 9, 30), 6)):
        later = {
            each.fact.detail["deal"]: each.minor
            for each in funding_amounts([f for f in given if f.effective_on <= day], ENTITIES, day)
            if each.name == "funding_non_current"
        }
        for name in ("A", "B"):
            expected = sum(
                row.classes[name].principal_minor for row in run.distributions[first:]
                if row.paid_on > date(day.year + 1, day.month, day.day)
            )  # fmt: skip
            assert later[f"PLAN1/{name}"] == expected
    assert sum(later.values()) > 0
    assert not list(fact_problems(given, ENTITIES))


def test_a_schedule_has_an_amount_for_each_day() -> None:
    made = deal_facts(sample_deal(), DealTerms(entity=1), [])
    (wrong, *_) = schedule_facts(sample_deal(), DealTerms(entity=1), date(2024, 1, 1),
                                 project(sample_deal()).distributions)  # fmt: skip
    wrong.detail["amounts"].pop()
    (found,) = fact_problems(books_facts([*made, wrong]), ENTITIES)
    assert "days and" in str(found)


def test_what_the_group_retains_raises_nothing_and_fees_leave_restricted_cash() -> None:
    run = project(sample_deal())
    made = deal_facts(run.deal, DealTerms(entity=1, retained=("S",)), run.distributions)
    assert {each.detail["deal"] for each in made if "deal" in each.detail} == {"PLAN1/A", "PLAN1/B"}
    sums = {kind: sum(each.amount_minor for each in made if each.kind == kind)
            for kind in ("residual_distributed", "cost_incurred", "cost_paid", "deposit_returned")
            }  # fmt: skip
    got = [row.classes["S"] for row in run.distributions]
    assert sums["residual_distributed"] == sum(
        each.interest_minor + each.residual_minor + each.principal_minor for each in got
    )
    trustee = sum(row.fees["trustee"] for row in run.distributions)
    assert sums["cost_incurred"] == sums["cost_paid"] == sums["deposit_returned"] == trustee
    assert not list(fact_problems(books_facts(made), ENTITIES))


def test_a_class_that_is_retained_is_one_of_the_deal(tmp_path: Path) -> None:
    text = sample_path().read_text()
    file = tmp_path / "plan.yaml"
    file.write_text(f"{text}\nretained: [S]\n")
    assert read_terms(file).retained == ("S",)
    file.write_text(f"{text}\nretained: [Z]\n")
    with pytest.raises(UsanceError, match=r"unknown class 'Z'.*Choices: A, B, S"):
        read_terms(file)
