"""Notes: equity, tax, per share and unrecognised awards, each tied to the statements."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.books.group_books import (
    ENDS,
    GROUP,
    LATER,
    LENDING,
    OPENED,
    OVERSEAS,
    PARENT,
    PLATFORM,
    Facts,
    books_by,
    closed,
    with_rates,
)
from usance.base.codes import Currency, IfrsAdjustment
from usance.base.errors import UsanceError
from usance.base.packs import CountryPack
from usance.base.parameters import trace
from usance.books.group.fact_kinds import GroupFactKind as K
from usance.books.group.facts import visible_facts
from usance.books.statements.consolidation import Consolidated, GroupBooks
from usance.books.statements.controls import group_controls
from usance.books.statements.notes import ShareRow, note_controls, note_rows, unrecognised_by_year
from usance.books.statements.primary import Row, movement, operations
from usance.capital.awards import Award, Grant, Holding, Tranche, UnitChange, UnitKind
from usance.capital.share_based_compensation import US_GAAP, unrecognised

MARCH, JUNE = ENDS[0], ENDS[1]
USD = {"currency": Currency.USD}


def company() -> Facts:
    """A group that earns 1,000.00 and 300.01 at two rates of tax, with shares and an award."""
    facts = with_rates()
    opening = [{"account": "cash", "amount": 5}, {"account": "paid_in_capital", "amount": -5}]
    facts.say(PLATFORM, K.OPENING_BALANCE, OPENED, lines=opening)
    facts.say(PLATFORM, K.SUNDRY, date(2024, 2, 1), 1_000_00)
    facts.say(LENDING, K.SUNDRY, date(2024, 2, 1), 300_01)
    facts.say(LENDING, K.PERMANENT_DIFFERENCE, date(2024, 2, 1), 20_00, reason="fines")
    facts.say(PARENT, K.SHARES_ISSUED, OPENED, 0, quantity=1_000, **USD)
    facts.say(
        PARENT, K.GRANT, date(2024, 1, 1), name="G", award="option", fair_value="3.66",
        exercise_price="5", tranches=[{"on": "2025-01-01", "holders": 5, "units_each": 20}], **USD,
    )  # fmt: skip
    return facts


def priced(price: str = "10") -> Facts:
    facts = company()
    facts.say(PARENT, K.SHARE_PRICE, MARCH, price=price, first="2024-01-01", last=str(MARCH), **USD)
    return facts


def rows_of(facts: Facts, before: date = OPENED, day: date = MARCH) -> list[Row | ShareRow]:
    books = closed(facts.facts, [end for end in ENDS if end <= day])
    return note_rows(books, visible_facts(facts.facts, day, LATER), before, day, "2024Q1")


def statement(rows: list[Row | ShareRow], name: str) -> dict[tuple[str, str], int]:
    return {
        (row.parent, row.line): row.amount_minor
        for row in rows
        if isinstance(row, Row) and row.statement == name
    }


def shares(rows: list[Row | ShareRow]) -> dict[tuple[str, str], Decimal]:
    return {(row.unit, row.line): row.value for row in rows if isinstance(row, ShareRow)}


def test_the_changes_in_equity_add_up() -> None:
    rows = statement(rows_of(company()), "changes_in_equity")
    lines = {parent for parent, _ in rows}
    assert {"Paid-in capital", "Retained earnings", "Treasury shares"} <= lines
    for line in lines:
        own = {label: minor for (parent, label), minor in rows.items() if parent == line}
        assert own.pop("closing") == sum(own.values())
    assert rows["Paid-in capital", "Share-based compensation"] > 0


def test_tax_is_explained_in_the_currency_of_the_group() -> None:
    rows = statement(rows_of(company()), "tax_reconciliation")
    pay = 3_66 * 100 * 90 // 366  # dollars of share-based compensation: 90 of 366 days
    average = Fraction(7 * 40 + Fraction("7.1") * 51, 91)
    # What the parent costs is worth what a dollar was on average, and is taxed nowhere.
    parent = round(pay * average)
    total = rows["", "Income taxes expense"]
    standard = rows["Income taxes expense", "Tax at the standard rate"]
    assert standard == pytest.approx(-(1_300_01 - parent) * 0.25, abs=1)
    own = rows["Income taxes expense", "Entities with rates of their own"]
    assert own == pytest.approx(100_00 - parent * 0.25, abs=1)
    assert sum(rows.values()) - total == total


def test_the_tax_note_is_of_the_period_and_signed_as_the_statement() -> None:
    """A quarter's note explains the quarter's tax, not that of the year so far."""
    facts = company()
    facts.say(PLATFORM, K.SUNDRY, date(2024, 5, 1), 400_00)
    books = closed(facts.facts, [end for end in ENDS if end <= JUNE])
    seen = visible_facts(facts.facts, JUNE, LATER)
    found = note_rows(books, seen, MARCH, JUNE, "2024Q2")
    rows = [row for row in found if isinstance(row, Row) and row.statement == "tax_reconciliation"]
    assert {row.period for row in rows} == {"2024Q2"}
    (total,) = [row.amount_minor for row in rows if row.is_total]
    (shown,) = [
        row.amount_minor
        for row in operations(movement(books.at(MARCH), books.at(JUNE)), "2024Q2")
        if row.line == "Income taxes expense"
    ]
    assert total == shown < 0
    assert sum(row.amount_minor for row in rows) == 2 * total


def test_the_tax_note_reads_the_vat_of_its_own_market() -> None:
    """Where lending is exempt, no value-added tax is taken out of a difference."""
    dutch = CountryPack.load("nl").parameters
    books = closed(company().facts, [MARCH])
    with trace() as reads:
        note_rows(books, visible_facts(company().facts, MARCH, LATER), OPENED, MARCH, "2024Q1",
                  parameters=dutch)  # fmt: skip
    assert {read.value.integer for read in reads if read.name == "tax.vat"} == {0}


def test_income_per_share_and_per_ads() -> None:
    rows = rows_of(priced())
    found = shares(rows)
    assert found["shares", "Basic"] == 1_000
    # 100 options at 5 dollars; of their 366 dollars nothing was open before the grant, 276 after.
    open_cost = Fraction(0 + 276, 2)
    added = 100 - (500 + open_cost) / 10
    assert found["shares", "Diluted"] == round(1_000 + added)
    income = statement(rows, "changes_in_equity")["Retained earnings", "Net income"]
    assert found["per_share", "Basic"] == round(Decimal(income) / 100 / 1_000, 2)
    assert found["per_ads", "Basic"] == 2 * found["per_share", "Basic"]


def test_what_the_facts_do_not_tell_is_left_out() -> None:
    assert not shares(rows_of(company()))  # an award, and no price
    assert not shares(rows_of(priced(), MARCH, JUNE))  # a price of another period
    nothing = rows_of(Facts())
    assert {row.statement for row in nothing} == {"changes_in_equity"}
    plain = with_rates()
    plain.say(PARENT, K.SHARES_ISSUED, OPENED, 0, quantity=10, **USD)
    assert shares(rows_of(plain))["shares", "Diluted"] == 10  # no award, so no price is needed


def test_awards_to_come_by_year() -> None:
    rows = statement(rows_of(company()), "awards_to_come")
    cost = {2024: Fraction(3_66 * 100 * 275, 366), 2025: Fraction(3_66 * 100, 366)}
    worth = {year: round(round(each) * Fraction("7.1")) for year, each in cost.items()}
    parent = "Share-based compensation still to be recognised"
    assert rows == {
        (parent, "2024"): worth[2024], (parent, "2025"): worth[2025],
        ("", parent): sum(worth.values()),
    }  # fmt: skip


@given(
    st.lists(st.tuples(st.integers(0, 500), st.integers(1, 1_000)), min_size=1, max_size=3,
             unique_by=lambda each: each[0]),
    st.integers(0, 600), st.integers(0, 400),
)  # fmt: skip
@settings(max_examples=30)
def test_costs_day_by_day_are_all_that_is_open(
    vesting: list[tuple[int, int]], elapsed: int, left_after: int
) -> None:
    start = date(2024, 1, 1)
    tranches = tuple(Tranche(date.fromordinal(start.toordinal() + span), units)
                     for span, units in sorted(vesting))  # fmt: skip
    grant = Grant("G", Award.RESTRICTED, start, "USD", Decimal("3.31"), tranches)
    left = UnitChange(UnitKind.FORFEITED, "G", date.fromordinal(start.toordinal() + left_after), 1)
    held = Holding(grant, (left,) if left_after < max(span for span, _ in vesting) else ())
    day = date.fromordinal(start.toordinal() + elapsed)
    assert sum(unrecognised_by_year(held, day).values()) == unrecognised(held, US_GAAP, day)


def test_every_note_ties() -> None:
    facts = priced()
    books = closed(facts.facts, ENDS[:1])
    found = note_controls(books, visible_facts(facts.facts, MARCH, LATER), OPENED, MARCH)
    assert len(found) == 4
    assert not any(found.values())


def test_a_foreign_entity_may_open_within_the_year() -> None:
    """Its rates begin with it: nothing asks for one of the evening before the year."""
    facts, opened = Facts(), date(2024, 5, 31)
    facts.say(PARENT, K.EXCHANGE_RATE, opened, currency=Currency.HKD, rate="0.90")
    facts.say(PARENT, K.EXCHANGE_RATE, JUNE, currency=Currency.HKD, rate="0.92")
    lines = [{"account": "cash", "amount": 50}, {"account": "paid_in_capital", "amount": -50}]
    facts.say(PLATFORM, K.OPENING_BALANCE, OPENED, lines=lines)
    facts.say(OVERSEAS, K.OPENING_BALANCE, opened, lines=lines, currency=Currency.HKD)
    facts.say(OVERSEAS, K.SUNDRY, date(2024, 6, 10), 10_00, currency=Currency.HKD)
    books = closed(facts.facts, [MARCH, JUNE])
    known = visible_facts(facts.facts, JUNE, LATER)
    assert not any(note_controls(books, known, OPENED, JUNE).values())
    assert not any(group_controls(books, known, MARCH, JUNE).values())
    rows = note_rows(books, known, MARCH, JUNE, "2024Q2")
    assert statement(rows, "tax_reconciliation")
    held = books.at(MARCH).columns[OVERSEAS, IfrsAdjustment.NONE]
    assert (held["cash"], held["paid_in_capital"]) == (45_00, -45_00)
    assert not held["other_comprehensive"]


def test_notes_that_do_not_tie_are_found() -> None:
    """Balances that are not those of their lines."""
    facts = priced()
    books = closed(facts.facts, ENDS[:1])
    seen = visible_facts(facts.facts, MARCH, LATER)

    class Forgetful(GroupBooks):
        """Books with 7 cents too much in one account."""

        def at(self, day: date) -> Consolidated:
            found = super().at(day)
            columns = {key: dict(column) for key, column in found.columns.items()}
            if day == MARCH:
                columns[PLATFORM, IfrsAdjustment.NONE]["retained_earnings"] = 7
            return replace(found, columns=columns)

    broken = Forgetful(books.ledger, GROUP, books.rates)
    found = note_controls(broken, seen, OPENED, MARCH)
    (problem,) = found["equity: opening + movements = closing"]
    assert "-7 is unexplained" in str(problem)


@pytest.mark.parametrize(
    ("detail", "expected"),
    [
        ({"price": "10", "first": "2024-03-31", "last": "2024-01-01", **USD}, "Exchange them"),
        ({"price": "0", "first": "2024-01-01", "last": "2024-03-31", **USD}, "the price is zero"),
        ({"price": "10", "first": "2024-01-01", "last": "2024-03-31"}, "awards are in USD"),
    ],
)
def test_a_price_that_cannot_be_used_is_refused(detail: dict[str, Any], expected: str) -> None:
    facts = company()
    facts.say(PARENT, K.SHARE_PRICE, MARCH, **detail)
    with pytest.raises(UsanceError) as caught:
        books_by(facts.facts, MARCH)
    assert expected in str(caught.value)
    assert f"group fact {len(facts.facts)}" in str(caught.value)
