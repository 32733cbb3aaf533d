"""Control totals of the group's books: each returns every failure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date

import numpy as np

from usance.base.codes import Currency, IfrsAdjustment
from usance.base.dates import to_month
from usance.base.errors import UsanceError
from usance.base.money import Money
from usance.books.chart import load_chart
from usance.books.errors import ControlFailed
from usance.books.group.fact_kinds import GroupFactKind
from usance.books.group.facts import GroupFact
from usance.books.statements.below_zero import CASH, LINES, lines_below_zero, overdrawn_cash
from usance.books.statements.cash import cash_flows, cash_without_activity
from usance.books.statements.consolidation import (
    GroupBooks,
    intercompany_differences,
    trial_balance,
)
from usance.books.statements.ifrs_reconciliation import matrix_problems
from usance.books.statements.notes import note_controls
from usance.books.statements.primary import Row, balance_sheet

SETTLEMENTS = {
    GroupFactKind.PROVIDER_SETTLEMENT: (
        "providers_institution", "providers_principal", "providers_interest", "providers_fees",
        "providers_recovery",
    ),
    GroupFactKind.INSTITUTION_SETTLEMENT: ("payable_institutions",),
}  # fmt: skip
"""Settlement facts, each with the accounts its cash comes from or goes to."""


def group_controls(
    books: GroupBooks, facts: Iterable[GroupFact], start: date, end: date
) -> dict[str, list[UsanceError]]:
    """Every control by name, with its failures; `facts` are those visible at the close."""
    given = list(facts)
    return {
        "trial balance = 0": list(_trial(books)),
        "balances within the group cancel": list(_inside(books)),
        "assets = liabilities + equity": list(_sheets(books, end)),
        "cash per bank = cash per ledger": list(bank_problems(books, given, end)),
        "settlements per party = settlements per ledger": list(
            settlement_problems(books, given, end)
        ),
        "cash flows tie to the balance sheet": list(_flows(books, start, end)),
        "both frameworks: opening + movement = closing": list(matrix_problems(books, start, end)),
        LINES: list(lines_below_zero(books, end)),
        CASH: list(overdrawn_cash(books, given, end)),
        **note_controls(books, given, start, end),
    }


def bank_problems(
    books: GroupBooks, facts: Iterable[GroupFact], day: date
) -> Iterator[UsanceError]:
    """Differences between bank statements of a day and the ledger."""
    chart = load_chart()
    seen = books.ledger.through(to_month(day))
    held = seen.sums(lambda own: [own.entity, own.account, own.currency])
    stated: dict[tuple[int, int, int], int] = {}
    for each in facts:
        if each.kind is GroupFactKind.BANK_BALANCE and each.effective_on == day:
            key = each.entity, chart[each.detail["account"]].number, int(each.currency)
            stated[key] = stated.get(key, 0) + each.amount_minor
    for (entity, number, currency), minor in sorted(stated.items()):
        gap = minor - held.get((entity, number, currency), 0)
        if gap:
            name, code = chart.by_number[number].name, Currency(currency).label
            what = f"banks hold {Money(gap, code)} more than the ledger"
            fix = "Find what is booked on one side alone"
            yield ControlFailed(what, where=f"entity {entity}, {name}", fix=fix)


def settlement_problems(
    books: GroupBooks, facts: Iterable[GroupFact], day: date
) -> Iterator[UsanceError]:
    """Differences between settlements stated by providers and institutions and the ledger.

    Facts say what each party settled in the months of the ledger; a book that has no such facts is
    not compared.
    """
    given = [each for each in facts if each.kind in SETTLEMENTS]
    chart = load_chart()
    cash = [account.number for account in chart if account.is_cash]
    for kind, names in SETTLEMENTS.items():
        settled = [each for each in given if each.kind is kind]
        if not settled:
            continue
        rules = _rules_between(books, [chart[name].number for name in names], cash)
        seen = books.ledger.through(to_month(day))
        moved = seen.take(np.isin(seen.rule, rules) & np.isin(seen.account, cash))
        ledger = abs(int(moved.amount.sum()))
        stated = sum(each.amount_minor for each in settled)
        if stated != ledger:
            what = f"parties say {stated}, the ledger {ledger}"
            fix = "Compare by day; a settlement is missing or booked twice"
            yield ControlFailed(what, where=kind.label, fix=fix)


def _rules_between(books: GroupBooks, accounts: list[int], cash: list[int]) -> list[int]:
    """Rules that move cash to or from some accounts."""
    ledger = books.ledger
    own = set(np.unique(ledger.rule[np.isin(ledger.account, accounts)]).tolist())
    paid = set(np.unique(ledger.rule[np.isin(ledger.account, cash)]).tolist())
    return sorted(own & paid)


def _trial(books: GroupBooks) -> Iterator[UsanceError]:
    for (entity, tag, currency), minor in trial_balance(books.ledger).items():
        where = f"entity {entity}, {IfrsAdjustment(tag).label}"
        what = f"the trial balance is {Money(minor, Currency(currency).label)}, not zero"
        yield ControlFailed(what, where=where, fix="Find the journal that does not balance")


def _inside(books: GroupBooks) -> Iterator[UsanceError]:
    for each in intercompany_differences(books.ledger):
        what = f"{Money(each.minor, each.currency.label)} does not cancel"
        where = f"{each.account}, {each.tag.label}"
        yield ControlFailed(what, where=where, fix="Find the entry that has one side alone")


def _sheets(books: GroupBooks, day: date) -> Iterator[UsanceError]:
    group = books.at(day)
    for (entity, tag), column in group.columns.items():
        if sum(column.values()):
            what = f"assets and claims differ by {sum(column.values())}"
            yield ControlFailed(what, where=f"entity {entity}, {tag.label}", fix="See its lines")
        if books.entities[entity].currency is books.entities.currency:
            booked = books.ledger.balances()
            number = load_chart()["other_comprehensive"].number
            own = sum(m for k, m in booked.items()
                      if (k.entity, k.tag, k.account) == (entity, tag, number))  # fmt: skip
            if column.get("other_comprehensive", 0) != own:
                what = "an entity in the group's currency has a difference of translation"
                yield ControlFailed(what, where=f"entity {entity}", fix="Post exchange results")
    totals: dict[str, int] = {row.line: row.amount_minor for row in _totals(balance_sheet(group))}
    if totals["TOTAL ASSETS"] != totals["TOTAL LIABILITIES AND EQUITY"]:
        what = f"{totals['TOTAL ASSETS']} against {totals['TOTAL LIABILITIES AND EQUITY']}"
        yield ControlFailed(what, where="balance sheet", fix="See the trial balance")


def _totals(rows: Iterable[Row]) -> list[Row]:
    return [row for row in rows if row.is_total and not row.parent]


def _flows(books: GroupBooks, start: date, end: date) -> Iterator[UsanceError]:
    for currency, minor in cash_without_activity(books.ledger).items():
        what = f"{Money(minor, currency.label)} of cash moved under no activity"
        yield ControlFailed(what, where="cash flows", fix="Give the entry an activity")
    flows = cash_flows(books, start, end)
    cash = [account.number for account in load_chart() if account.is_cash]
    used = set(np.unique(books.ledger.currency[np.isin(books.ledger.account, cash)]).tolist())
    if flows.effect and used <= {int(books.entities.currency)}:
        what = f"flows leave {flows.effect} of the change in cash unexplained"
        yield ControlFailed(what, where=f"cash flows to {end}", fix="Find the rule behind it")
