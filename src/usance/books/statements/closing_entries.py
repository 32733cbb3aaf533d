"""Closing entries after all others: VAT paid over, income tax, non-controlling interests.

Each is a cumulative amount made from the balances; the close posts its difference to what is
posted already. They come in this order, since each looks at the ones before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from typing import NamedTuple

import numpy as np

from usance.base.codes import Currency, IfrsAdjustment
from usance.base.dates import first_of_month, from_day, to_day, to_month
from usance.base.money import MILLION, half_up
from usance.base.parameters import Parameters
from usance.books.chart import load_chart
from usance.books.group.entities import Entities, Role
from usance.books.group.exchange_rates import Rates
from usance.books.group.facts import GroupFact
from usance.books.group.lines import GroupLines, Line
from usance.books.group.rules import basis_of, group_rules_of
from usance.books.group.tax import TaxYear
from usance.books.statements.ledger import BEGINNING, Ledger, own_balances
from usance.books.statements.tax_years import TAXES, tax_years

VAT = ("vat_paid", "vat_paid_by_trust")
_PAID_ON = 15
"""VAT is paid on this day of the month after its period."""


class Turned(NamedTuple):
    """An amount moved to the other side of the balance sheet, for accounts with these signs."""

    name: str
    accounts: Mapping[str, int]
    tag: IfrsAdjustment = IfrsAdjustment.NONE


TURNED = (
    Turned("overpaid_vat", {"other_tax_payable": 1}),
    Turned("overpaid_income_tax", {"income_tax_payable": 1}),
    Turned("ifrs_overpaid_vat", {"other_tax_payable": 1}, IfrsAdjustment.EIR),
    Turned("ifrs_deferred_tax_turned", {"deferred_tax_asset": -1, "deferred_tax_liability": 1},
           IfrsAdjustment.ECL),
)  # fmt: skip
"""A balance times its sign is above zero where it stands on the wrong side."""


def vat_paid(ledger: Ledger, entities: Entities, rates: Rates, day: date) -> GroupLines:
    """VAT paid to date: all that was payable at the last period end that fell due."""
    due = [period for period in (BEGINNING, *ledger.periods()) if _due_on(ledger, period) <= day]
    if not due:
        return GroupLines.of(())
    rules = [number for name in VAT for number in _numbers(name)]
    charged = ledger.through(max(due)).without([*rules, *_turning()])
    owed = own_balances(charged, entities, rates, day)
    paid = own_balances(ledger.take(np.isin(ledger.rule, rules)), entities, rates, day)

    def lines() -> Iterator[Line]:
        for (entity, tag), balances in owed.items():
            if tag == IfrsAdjustment.NONE:
                before = paid.get((entity, tag), {}).get("other_tax_payable", 0)
                minor = max(-balances.get("other_tax_payable", 0), before)
                trust = entities[entity].role is Role.TRUST
                yield from amount_lines(VAT[trust], entity, entities, minor, day)

    return GroupLines.of(lines())


def tax_lines(years: Iterable[TaxYear], entities: Entities, day: date) -> GroupLines:
    """Current and deferred tax, cumulative."""
    return GroupLines.of(
        line
        for year in years
        for name, minor in year.amounts().items()
        for line in amount_lines(name, year.entity.number, entities, minor, day)
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
            yield from amount_lines(
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
    ledger: Ledger, facts: Iterable[GroupFact], entities: Entities, rates: Rates, day: date,
    parameters: Parameters | None = None,
) -> tuple[Ledger, list[TaxYear]]:  # fmt: skip
    """Closing entries of a close after loans and facts, and the tax years behind them.

    `ledger` holds all earlier closes and this one's lines of loans and of the group.
    """
    vat = _moved(ledger, vat_paid(ledger, entities, rates, day), VAT, day)
    years = tax_years(Ledger.joined([ledger, vat]), facts, entities, rates, day, parameters)
    tax = _moved(ledger, tax_lines(years, entities, day), TAXES, day)
    so_far = Ledger.joined([ledger, vat, tax])
    names = [turned.name for turned in TURNED]
    turned = _moved(ledger, turned_tax(so_far, entities, rates, day), names, day)
    shares = non_controlling_lines(so_far, entities, rates, day)
    non_controlling = _moved(ledger, shares, ["non_controlling_income"], day)
    return Ledger.joined([vat, tax, turned, non_controlling]), years


def turned_tax(ledger: Ledger, entities: Entities, rates: Rates, day: date) -> GroupLines:
    """Tax that stands on the other side, since none is below zero on its face."""
    plain = ledger.without(_turning())
    balances = own_balances(plain, entities, rates, day)

    def held(entity: int, account: str, *, every_tag: bool) -> int:
        return sum(
            found.get(account, 0)
            for (own, tag), found in balances.items()
            if own == entity and (every_tag or tag == IfrsAdjustment.NONE)
        )

    def lines() -> Iterator[Line]:
        done: dict[tuple[int, str], int] = {}
        for entity in sorted({own for own, _ in balances}):
            for turned in TURNED:
                every_tag = turned.tag is not IfrsAdjustment.NONE
                below = 0
                for account, sign in turned.accounts.items():
                    minor = sign * held(entity, account, every_tag=every_tag)
                    below += max(0, minor - done.get((entity, account), 0))
                    done[entity, account] = done.get((entity, account), 0) + below
                yield from amount_lines(turned.name, entity, entities, below, day, turned.tag)

    return GroupLines.of(lines())


def _moved(ledger: Ledger, now: GroupLines, names: Iterable[str], day: date) -> Ledger:
    return Ledger.of_group(now - posted(ledger, names), day)


def _due_on(ledger: Ledger, period: int) -> date:
    if period == BEGINNING:
        opening = ledger.take(ledger.period == BEGINNING)
        if not len(opening):
            return date.max
        period = to_month(from_day(int(opening.day.max())))
    return first_of_month(period + 1).replace(day=_PAID_ON)


def _turning() -> list[int]:
    return [number for turned in TURNED for number in _numbers(turned.name)]


def _numbers(name: str) -> list[int]:
    return [rule.number for rule in group_rules_of(name)]


def amount_lines(
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
