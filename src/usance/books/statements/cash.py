"""The cash-flow statement: cash lines by the activity of their rule, tied to the balance sheet.

Cash includes restricted cash, so transfers between them, and between entities, are no flow. Flows
in a foreign currency take the average rate of their close; the effect of exchange rate changes is a
line of its own, and zero if all cash is in the group's currency.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

import numpy as np

from usance.base.codes import Currency, IfrsAdjustment
from usance.base.dates import to_month
from usance.books.chart import load_chart
from usance.books.errors import RuleError
from usance.books.group.exchange_rates import converted_at
from usance.books.group.rules import activities, group_rules_of
from usance.books.rules import Activity
from usance.books.statements.consolidation import GroupBooks
from usance.books.statements.ledger import BEGINNING, Ledger
from usance.books.statements.primary import Row

OPERATING = "Net cash provided by operating activities"
INVESTING = "Net cash used in investing activities"
FINANCING = "Net cash provided by (used in) financing activities"
EFFECT = "Effect of foreign exchange rate changes"
CHANGE = "Net (decrease) increase in cash and cash equivalents"
OPENING_CASH = "Cash, cash equivalents, and restricted cash, beginning of period"
CLOSING_CASH = "Cash, cash equivalents, and restricted cash, end of period"


@dataclass(frozen=True, slots=True)
class CashFlows:
    """The cash flows of a period by activity."""

    operating: int
    investing: int
    financing: int
    effect: int
    opening: int
    closing: int

    @property
    def change(self) -> int:
        """The net change in cash."""
        return self.closing - self.opening

    def rows(self, period: str) -> list[Row]:
        """The statement."""
        lines = [
            (OPERATING, CHANGE, self.operating, False),
            (INVESTING, CHANGE, self.investing, False),
            (FINANCING, CHANGE, self.financing, False),
            (EFFECT, CHANGE, self.effect, False),
            (CHANGE, CLOSING_CASH, self.change, True),
            (OPENING_CASH, CLOSING_CASH, self.opening, False),
            (CLOSING_CASH, "", self.closing, True),
        ]
        return [
            Row("cash_flows", line, parent, period, minor, is_total)
            for line, parent, minor, is_total in lines
        ]


def cash_flows(books: GroupBooks, start: date, end: date) -> CashFlows:
    """The cash flows after one day up to another."""
    flows = dict.fromkeys(Activity, 0)
    moved = _cash(books.ledger, start, end)
    named = activities()
    summed = moved.sums(lambda own: [own.rule, own.period, own.currency])
    for (rule, period, currency), minor in summed.items():
        rate = books.rates.average(Currency(currency), *books.span(period))
        if rule not in named:
            what, fix = f"there is no rule {rule}", "Use the rules the books were closed with"
            raise RuleError(what, where="cash flows", fix=fix)
        flows[named[rule]] += converted_at(minor, rate)
    opening, closing = _held(books, start), _held(books, end)
    operating, investing = flows[Activity.OPERATING], flows[Activity.INVESTING]
    financing = flows[Activity.FINANCING]
    effect = closing - opening - operating - investing - financing
    return CashFlows(operating, investing, financing, effect, opening, closing)


def cash_without_activity(ledger: Ledger) -> dict[Currency, int]:
    """By currency, net cash moved under rules without an activity; there should be none."""
    chart, named = load_chart(), activities()
    silent = [rule for rule, activity in named.items() if activity is Activity.NONE]
    allowed = [rule.number for rule in group_rules_of("currency_exchanged")]
    cash = [account.number for account in chart if account.is_cash]
    rows = np.isin(ledger.account, cash) & np.isin(ledger.rule, silent)
    rows &= ~np.isin(ledger.rule, allowed) & (ledger.period != BEGINNING)
    summed = ledger.take(rows).sums(lambda own: [own.currency])
    return {Currency(currency): minor for (currency,), minor in summed.items()}


def _held(books: GroupBooks, day: date) -> int:
    group = books.at(day)
    return sum(
        group.amount(account.name, IfrsAdjustment.NONE)
        for account in load_chart()
        if account.is_cash
    )


def _cash(ledger: Ledger, start: date, end: date) -> Ledger:
    cash = [account.number for account in load_chart() if account.is_cash]
    moved = ledger.between(to_month(start), to_month(end))
    return moved.take(np.isin(moved.account, cash))
