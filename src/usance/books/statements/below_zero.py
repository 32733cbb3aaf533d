"""Balances that cannot be: assets or liabilities below zero on their face, and overdrawn cash.

A line of the balance sheet is looked at as it is printed, under both frameworks; cash by entity and
account, since an overdraft of one company is hidden by the money of another. A failure names the
entity and what moved the balance most.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date

import numpy as np

from usance.base.codes import Currency, IfrsAdjustment
from usance.base.dates import to_month
from usance.base.errors import UsanceError
from usance.base.money import Money
from usance.books.chart import AccountKind, load_chart
from usance.books.errors import ControlFailed
from usance.books.group.fact_kinds import GroupFactKind
from usance.books.group.facts import GroupFact
from usance.books.group.rules import load_group_rules
from usance.books.rules import load_rules
from usance.books.statements.consolidation import Consolidated, GroupBooks
from usance.books.statements.layout import SHEET, SHEET_MATRIX, StatementLine, load_layout
from usance.books.statements.ledger import Ledger

LINES = "no asset or liability is below zero"
CASH = "no entity's cash is below zero"
GIVE_MONEY = "Give it money before it pays: a contribution, a transfer, a dividend, a loan"
"""The way out of overdrawn cash, and of nothing else."""
_FACES = ((SHEET, (IfrsAdjustment.NONE,)), (SHEET_MATRIX, tuple(IfrsAdjustment)))
_SHOWN = (AccountKind.ASSET, AccountKind.LIABILITY)
_MONEY = (
    GroupFactKind.OPENING_BALANCE, GroupFactKind.CAPITAL_CONTRIBUTED, GroupFactKind.FUNDING_RAISED,
)  # fmt: skip
"""Facts that say where the money of a group comes from."""


def lines_below_zero(books: GroupBooks, day: date) -> Iterator[UsanceError]:
    """Printed assets and liabilities below zero, each with the entity that has most of it."""
    group = books.at(day)
    for statement, tags in _FACES:
        for line in load_layout().lines(statement, group.entities.parent.name):
            if line.is_total or not _is_shown(line):
                continue
            minor = sum(sign * group.amount(name, *tags) for name, sign in line.signs.items())
            if minor < 0:
                entity = _behind(group, line, tags)
                accounts = [name for name, sign in line.signs.items() if sign * _held(
                    group, entity, name, tags) < 0]  # fmt: skip
                framework = "US GAAP" if statement == SHEET else "IFRS"
                what = f"{line.line} is {_money(minor, books)} under {framework}"
                yield ControlFailed(
                    f"{what}; {_cause(books.ledger, entity, accounts, to_month(day))}",
                    where=f"entity {entity}, {books.entities[entity].name}",
                    fix="Correct the facts behind it, or the account they are posted to",
                )


def overdrawn_cash(
    books: GroupBooks, facts: Iterable[GroupFact], day: date
) -> Iterator[UsanceError]:
    """Cash accounts of entities below zero; none where no fact says what money there was.

    The books of a portfolio alone know what was lent and not from what.
    """
    if not any(each.kind in _MONEY for each in facts):
        return
    chart, month = load_chart(), to_month(day)
    cash = [account.number for account in chart if account.is_cash]
    ledger = books.ledger.through(month)
    held = ledger.take(np.isin(ledger.account, cash))
    for (entity, number, currency), minor in held.sums(
        lambda own: [own.entity, own.account, own.currency]
    ).items():
        if minor < 0:
            name = chart.by_number[number].name
            what = f"{name} is {Money(minor, Currency(currency).label)}"
            yield ControlFailed(
                f"{what}; {_cause(books.ledger, entity, [name], month)}",
                where=f"entity {entity}, {books.entities[entity].name}",
                fix=GIVE_MONEY,
            )


def _is_shown(line: StatementLine) -> bool:
    """True for lines of assets and liabilities but cash; equity may be below zero."""
    accounts = [load_chart()[name] for name in line.signs]
    return all(each.kind in _SHOWN and not each.is_cash for each in accounts)


def _behind(group: Consolidated, line: StatementLine, tags: tuple[IfrsAdjustment, ...]) -> int:
    """The entity whose part of a line is lowest."""
    parts = {
        entity.number: sum(sign * _held(group, entity.number, name, tags)
                           for name, sign in line.signs.items())
        for entity in group.entities
    }  # fmt: skip
    return min(parts, key=lambda number: (parts[number], number))


def _held(group: Consolidated, entity: int, name: str, tags: tuple[IfrsAdjustment, ...]) -> int:
    return sum(group.columns.get((entity, tag), {}).get(name, 0) for tag in tags)


def _cause(ledger: Ledger, entity: int, accounts: Iterable[str], month: int) -> str:
    """The movement of the latest close that took accounts of an entity down most."""
    chart = load_chart()
    numbers = [chart[name].number for name in accounts]
    signs = np.where([chart[n].kind is AccountKind.ASSET for n in accounts], 1, -1)
    rows = ledger.take(
        (ledger.entity == entity) & np.isin(ledger.account, numbers) & (ledger.period == month)
    )
    moved: dict[int, int] = {}
    for (rule, account), minor in rows.sums(lambda own: [own.rule, own.account]).items():
        moved[rule] = moved.get(rule, 0) + minor * int(signs[numbers.index(account)])
    if not moved:
        return "it began so"
    rule = min(moved, key=lambda number: (moved[number], number))
    names = {each.number: each.amount for each in load_rules()}
    names |= {each.number: each.amount for each in load_group_rules()}
    return f"most of it went by {names.get(rule, str(rule)).replace('_', ' ')} (rule {rule})"


def _money(minor: int, books: GroupBooks) -> Money:
    return Money(minor, books.entities.currency.label)
