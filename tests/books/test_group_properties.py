"""Properties of any facts of a group, in any currencies, over any closes."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from datetime import date, timedelta

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.books.group_books import ENDS, GROUP, KNOWN, LATER, OPENED, PLATFORM, books_by, closed
from tests.books.group_strategies import days, group_histories
from usance.base.codes import Currency, IfrsAdjustment
from usance.books.chart import load_chart
from usance.books.group.entities import Entities
from usance.books.group.exchange_rates import Rates
from usance.books.group.fact_kinds import GroupFactKind
from usance.books.group.facts import GroupFact, fact, facts_of_table, table_of_facts, visible_facts
from usance.books.group.lines import GroupLines
from usance.books.group.posting import group_lines
from usance.books.statements.below_zero import CASH, LINES
from usance.books.statements.cash import cash_flows
from usance.books.statements.closing_entries import closing_ledger
from usance.books.statements.consolidation import GroupBooks
from usance.books.statements.controls import group_controls
from usance.books.statements.ledger import Ledger

YEAR = ENDS[-1]

BELOW = (LINES, CASH)
"""Any facts may take a balance below zero; what stands against it is tested by itself."""


def same(one: GroupLines, other: GroupLines) -> bool:
    return list(one) == list(other)


@given(group_histories(), days())
@settings(max_examples=60)
def test_every_rule_balances_for_each_fact_entity_and_currency(
    facts: list[GroupFact], day: date
) -> None:
    sums: dict[tuple[int, ...], int] = defaultdict(int)
    for line in books_by(facts, day):
        sums[line.rule, line.fact_id, line.entity, line.tag, line.currency] += line.amount
    assert not any(sums.values())


@given(group_histories(), st.randoms(use_true_random=False))
@settings(max_examples=25)
def test_order_of_facts_and_entities_does_not_matter(
    facts: list[GroupFact], chance: object
) -> None:
    mixed, numbers = list(facts), list(GROUP.by_number)
    chance.shuffle(mixed)  # type: ignore[attr-defined]
    chance.shuffle(numbers)  # type: ignore[attr-defined]
    turned = Entities(GROUP.currency, {n: GROUP[n] for n in numbers}, GROUP.related)
    assert same(books_by(facts, YEAR), books_by(mixed, YEAR, turned))
    one, other = closed(facts), closed(mixed, entities=turned)
    assert one.ledger.balances() == other.ledger.balances()
    assert one.at(YEAR).totals == other.at(YEAR).totals


@given(group_histories())
@settings(max_examples=25)
def test_facts_reversed_leave_nothing(facts: list[GroupFact]) -> None:
    undone = [
        fact(10_000 + each.fact_id, each.entity, GroupFactKind.REVERSED, each.effective_on, KNOWN,
             fact=each.fact_id)
        for each in facts
    ]  # fmt: skip
    assert len(books_by([*facts, *undone], YEAR)) == 0


@given(group_histories())
@settings(max_examples=25)
def test_closes_add_up_to_one(facts: list[GroupFact]) -> None:
    moved, before = GroupLines.of(()), GroupLines.of(())
    for day in ENDS:
        now = books_by(facts, day)
        moved, before = moved + (now - before), now
    assert len(moved - books_by(facts, YEAR)) == 0


@given(group_histories())
@settings(max_examples=25)
def test_facts_survive_their_table(facts: list[GroupFact]) -> None:
    again = facts_of_table(table_of_facts(facts))
    assert again == facts
    assert [each.detail for each in again] == [each.detail for each in facts]


@given(group_histories())
@settings(max_examples=30)
def test_every_control_holds_at_every_close(facts: list[GroupFact]) -> None:
    books = closed(facts)
    for start, end in zip((OPENED, *ENDS), ENDS, strict=False):
        found = group_controls(books, visible_facts(facts, end, LATER), start, end)
        assert {name: some for name, some in found.items() if some and name not in BELOW} == {}


@given(group_histories())
@settings(max_examples=25)
def test_the_group_is_the_sum_of_its_entities_less_what_is_inside(facts: list[GroupFact]) -> None:
    """Against a plain sum over lines, for balances that take the rate of the day."""
    chart = load_chart()
    books = closed(facts)
    group = books.at(YEAR)
    plain: dict[tuple[str, int, int], int] = defaultdict(int)
    for key, minor in books.ledger.balances().items():
        if key.tag == IfrsAdjustment.NONE:
            plain[chart.by_number[key.account].name, key.entity, key.currency] += minor
    for name in ("cash", "restricted_cash", "accrued", "property", "trust_investors"):
        expected = sum(
            _worth(minor, currency) for (each, _, currency), minor in plain.items() if each == name
        )
        assert group.amount(name) == expected
    for name in ("within_group", "subsidiaries", "group_dividends"):
        assert group.amount(name) == 0
    for total in group.totals.values():
        assert sum(total.values()) == 0


def _worth(minor: int, currency: int) -> int:
    """By hand: 7.05 and 0.88 at the end of the year, half away from zero."""
    rate = {Currency.CNY: 100, Currency.USD: 705, Currency.HKD: 88}[Currency(currency)]
    size = (abs(minor) * rate * 2 + 100) // 200
    return size if minor >= 0 else -size


@given(group_histories(), st.integers(1, 10**6))
@settings(max_examples=15)
def test_a_line_changed_by_hand_is_found(facts: list[GroupFact], minor: int) -> None:
    books = closed(facts)
    amount = books.ledger.amount.copy()
    amount[0] += minor
    broken = GroupBooks(replace(books.ledger, amount=amount), GROUP, books.rates)
    found = group_controls(broken, facts, OPENED, ENDS[0])
    assert found["trial balance = 0"]


def test_cash_moved_without_an_activity_is_found() -> None:
    chart = load_chart()
    row = np.array([0], np.int64)
    parts = [
        Ledger(row + PLATFORM, row, row, row + chart[name].number, row, row + rule, row + 650,
               row + 19_800, row + minor)
        for name, rule, minor in (("cash", 815, 5), ("accrued", 815, -5))
    ]  # fmt: skip
    books = GroupBooks(Ledger.joined(parts), GROUP, closed([]).rates)
    found = group_controls(books, [], date(2024, 2, 29), date(2024, 3, 31))
    assert [str(each.what) for each in found["cash flows tie to the balance sheet"]] == [
        "0.05 CNY of cash moved under no activity",
        "flows leave 5 of the change in cash unexplained",
    ]
    assert cash_flows(books, date(2024, 2, 29), date(2024, 3, 31)).operating == 0


@given(group_histories(), st.lists(st.integers(0, 3), min_size=60, max_size=60))
@settings(max_examples=20)
def test_facts_known_late_fall_into_the_open_close(
    facts: list[GroupFact], lateness: list[int]
) -> None:
    """Costs and settlements booked quarters after they were true: the last close has them all."""
    late = [
        replace(each, booked_at=KNOWN + lateness[n % 60] * timedelta(days=91))
        if each.kind
        in (
            GroupFactKind.COST_INCURRED,
            GroupFactKind.COST_PAID,
            GroupFactKind.GROUP_TRANSFER,
            GroupFactKind.BANK_INTEREST,
            GroupFactKind.EXCHANGE_RATE,
        )
        and each.effective_on > date(2023, 6, 1)
        else each
        for n, each in enumerate(facts)
    ]
    ledger, before = Ledger.joined([]), GroupLines.of(())
    for number, day in enumerate(ENDS):
        known_at = KNOWN + number * timedelta(days=91)
        now = group_lines(late, GROUP, day, known_at)
        seen = visible_facts(late, day, known_at)
        rates = Rates.of(seen, GROUP.currency)
        ledger = Ledger.joined([ledger, Ledger.of_group(now - before, day)])
        added, _ = closing_ledger(ledger, seen, GROUP, rates, day)
        ledger, before = Ledger.joined([ledger, added]), now
        found = group_controls(GroupBooks(ledger, GROUP, rates), seen, OPENED, day)
        assert {name: some for name, some in found.items() if some and name not in BELOW} == {}
    assert list(before) == list(group_lines(facts, GROUP, YEAR, LATER))
