"""Closing entries after all others: VAT paid over, income tax, non-controlling interests.

Each is a cumulative amount made from the balances; the close posts its difference to what is
posted already. They come in this order, since each looks at the ones before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date

import numpy as np

from usance.base.codes import Currency, IfrsAdjustment
from usance.base.dates import first_of_month, from_day, last_of_month, to_day, to_month
from usance.base.money import MILLION, half_up
from usance.books.chart import load_chart
from usance.books.group.entities import Entities
from usance.books.group.exchange_rates import Rates
from usance.books.group.fact_kinds import GroupFactKind
from usance.books.group.facts import GroupFact
from usance.books.group.lines import GroupLines, Line
from usance.books.group.rules import basis_of, group_rules_of
from usance.books.group.tax import TaxYear
from usance.books.statements.ledger import BEGINNING, Ledger, own_balances

TAXES = ("current_tax", "deferred_tax_asset", "deferred_tax_liability")
_PAID_ON = 15
"""VAT is paid on this day of the month after its period."""


def vat_paid(ledger: Ledger, entities: Entities, rates: Rates, day: date) -> GroupLines:
    """VAT paid to date: all that was payable at the last period end that fell due."""
    due = [period for period in (BEGINNING, *ledger.periods()) if _due_on(ledger, period) <= day]
    if not due:
        return GroupLines.of(())
    rules = _numbers("vat_paid")
    owed = own_balances(ledger.through(max(due)).without(rules), entities, rates, day)
    paid = own_balances(ledger.take(np.isin(ledger.rule, rules)), entities, rates, day)

    def lines() -> Iterator[Line]:
        for (entity, tag), balances in owed.items():
            if tag == IfrsAdjustment.NONE:
                before = paid.get((entity, tag), {}).get("other_tax_payable", 0)
                minor = max(-balances.get("other_tax_payable", 0), before)
                yield from _lines("vat_paid", entity, entities, minor, day)

    return GroupLines.of(lines())


def tax_years(
    ledger: Ledger, facts: Iterable[GroupFact], entities: Entities, rates: Rates, day: date
) -> list[TaxYear]:
    """Every entity's tax year to date; `ledger` holds everything but this close's tax."""
    given = list(facts)
    start = to_month(date(day.year, 1, 1)) - 1
    rules = [
        *(number for name in TAXES for number in _numbers(name)),
        *_numbers("non_controlling_income"),
    ]
    plain = ledger.without(rules)
    now = own_balances(plain, entities, rates, day)
    opening = last_of_month(start)
    before = own_balances(plain.through(start), entities, rates, opening)
    opening_balances = own_balances(plain.through(BEGINNING), entities, rates, day)
    current = ledger.through(start)
    current = current.take(np.isin(current.rule, _numbers("current_tax")))
    charged = own_balances(current, entities, rates, opening)
    return [
        TaxYear(
            entity,
            now.get((entity.number, IfrsAdjustment.NONE), {}),
            before.get((entity.number, IfrsAdjustment.NONE), {}),
            opening_balances.get((entity.number, IfrsAdjustment.NONE), {}),
            permanent_minor(given, entity.number, date(day.year, 1, 1), day),
            permanent_minor(given, entity.number, date.min, opening),
            charged.get((entity.number, IfrsAdjustment.NONE), {}).get("income_tax", 0),
        )
        for entity in entities
    ]


def permanent_minor(facts: Iterable[GroupFact], entity: int, first: date, last: date) -> int:
    """Permanent differences stated by facts of some days."""
    return sum(
        each.amount_minor
        for each in facts
        if each.kind is GroupFactKind.PERMANENT_DIFFERENCE
        and each.entity == entity
        and first <= each.effective_on <= last
    )


def tax_lines(years: Iterable[TaxYear], entities: Entities, day: date) -> GroupLines:
    """Current and deferred tax, cumulative."""
    return GroupLines.of(
        line
        for year in years
        for name, minor in year.amounts().items()
        for line in _lines(name, year.entity.number, entities, minor, day)
    )


def non_controlling_lines(
    ledger: Ledger, entities: Entities, rates: Rates, day: date
) -> GroupLines:
    """Income attributable to non-controlling interests, under each framework."""
    chart, rules = load_chart(), _numbers("non_controlling_income")

    def lines() -> Iterator[Line]:
        balances = own_balances(ledger.without(rules), entities, rates, day)
        for (entity, tag), held in balances.items():
            earned = -sum(m for name, m in held.items() if not chart[name].kind.on_balance_sheet)
            minor = half_up(earned * entities.non_controlling_ppm(entity), MILLION)
            yield from _lines(
                "non_controlling_income", entity, entities, minor, day, IfrsAdjustment(tag)
            )

    return GroupLines.of(lines())


def posted(ledger: Ledger, names: Iterable[str]) -> GroupLines:
    """Amounts posted by earlier closes, to be subtracted from the cumulative ones."""
    rules = [number for name in names for number in _numbers(name)]
    kept = ledger.take(np.isin(ledger.rule, rules))
    zeros = np.zeros(len(kept), np.int64)
    return GroupLines.of(
        map(
            Line._make,
            zip(
                kept.rule.tolist(), kept.entity.tolist(), kept.basis.tolist(), kept.tag.tolist(),
                kept.account.tolist(), kept.currency.tolist(), zeros.tolist(), zeros.tolist(),
                kept.day.tolist(), kept.amount.tolist(), strict=True,
            ),
        )
    )  # fmt: skip


def closing_ledger(
    ledger: Ledger, facts: Iterable[GroupFact], entities: Entities, rates: Rates, day: date
) -> tuple[Ledger, list[TaxYear]]:
    """Closing entries of a close after loans and facts, and the tax years behind them.

    `ledger` holds all earlier closes and this one's lines of loans and of the group.
    """
    vat = _moved(ledger, vat_paid(ledger, entities, rates, day), ["vat_paid"], day)
    years = tax_years(Ledger.joined([ledger, vat]), facts, entities, rates, day)
    tax = _moved(ledger, tax_lines(years, entities, day), TAXES, day)
    so_far = Ledger.joined([ledger, vat, tax])
    non_controlling = non_controlling_lines(so_far, entities, rates, day)
    return Ledger.joined(
        [vat, tax, _moved(ledger, non_controlling, ["non_controlling_income"], day)]
    ), years


def _moved(ledger: Ledger, now: GroupLines, names: Iterable[str], day: date) -> Ledger:
    return Ledger.of_group(now - posted(ledger, names), day)


def _due_on(ledger: Ledger, period: int) -> date:
    if period == BEGINNING:
        opening = ledger.take(ledger.period == BEGINNING)
        if not len(opening):
            return date.max
        period = to_month(from_day(int(opening.day.max())))
    return first_of_month(period + 1).replace(day=_PAID_ON)


def _numbers(name: str) -> list[int]:
    return [rule.number for rule in group_rules_of(name)]


def _lines(
    name: str,
    entity: int,
    entities: Entities,
    minor: int,
    day: date,
    tag: IfrsAdjustment = IfrsAdjustment.NONE,
) -> Iterator[Line]:
    """An amount made from balances, under its rule, in the entity's own currency."""
    chart, own = load_chart(), Currency(entities[entity].currency)
    for rule in group_rules_of(name):
        for account, _, sign in rule.sides:
            yield Line(rule.number, entity, int(basis_of(tag)), int(tag), chart[account].number,
                       int(own), 0, 0, to_day(day), sign * minor)  # fmt: skip
