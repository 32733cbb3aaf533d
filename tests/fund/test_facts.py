"""Facts of a deal in the books: their interest is the deal's, and nothing is left at the end."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

from hypothesis import given, settings

from tests.fund.random_deals import deal_inputs
from tests.fund.test_waterfall import deal_of
from usance.base.codes import Currency, parse
from usance.books.group.checks import fact_problems
from usance.books.group.entities import Entities, Entity, Role
from usance.books.group.fact_kinds import GroupFactKind
from usance.books.group.facts import GroupFact, fact
from usance.books.group.funding import deals
from usance.fund.deal import Deal, Scenario
from usance.fund.deal_terms import DealTerms
from usance.fund.facts import class_deal, current_part_minor, deal_facts
from usance.fund.projection import Projection, project
from usance.fund.sample import sample_deal

KNOWN = datetime(2030, 1, 1, tzinfo=UTC)


def in_the_books(run: Projection, *, ended: bool) -> list[GroupFact]:
    state = run.state if ended else None
    made = deal_facts(run.deal, DealTerms(entity=1), run.distributions, state)
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


def test_the_current_part_follows_the_projection() -> None:
    run = project(sample_deal())
    balance = run.distributions[3].classes["A"].balance_minor
    to_come = run.distributions[4:]
    assert current_part_minor(to_come, "A", balance, date(2024, 6, 15)) == 896_442_755
    assert current_part_minor(to_come, "A", balance, date(2025, 6, 15)) == balance
