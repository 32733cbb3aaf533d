"""The roll-forward of equity: each line from one day to another, by reason."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from usance.base.codes import IfrsAdjustment
from usance.base.dates import to_month
from usance.books.chart import AccountKind, load_chart
from usance.books.group.rules import load_group_rules
from usance.books.statements.consolidation import Consolidated, GroupBooks
from usance.books.statements.primary import Row, balance, equity, movement
from usance.books.statements.roll_forwards import Movement, RollForward

INCOME = "Net income"
TRANSLATION = "Other comprehensive income"
OTHER = "Other movements"
_REASONS = {
    "share_based_compensation": "Share-based compensation",
    "share_based_compensation_difference": "Share-based compensation",
    "dividend_declared": "Dividends",
    "shares_repurchased": "Repurchase of shares",
    "dividend_recorded": "Dividends",
    "treasury_cost": "Retirement and reissue of shares",
    "shares_reissued": "Retirement and reissue of shares",
    "shares_issued": "Issue of shares",
    "units_changed": "Issue of shares",
    "non_controlling_contribution": "Noncontrolling interests",
    "non_controlling_distribution": "Noncontrolling interests",
    "acquisition": "Noncontrolling interests",
    "non_controlling_income": INCOME,
}


def equity_roll_forwards(
    books: GroupBooks, start: date, end: date, *tags: IfrsAdjustment
) -> dict[str, RollForward]:
    """Every line of equity from the end of one day to the end of another."""
    chosen = tags or (IfrsAdjustment.NONE,)
    first, last = books.at(start), books.at(end)
    moved: dict[tuple[str, str], int] = {}
    for line, reason, minor in _movements(books, first, last, chosen):
        moved[line, reason] = moved.get((line, reason), 0) + minor
    opening, closing = equity(balance(first, *chosen)), equity(balance(last, *chosen))
    return {
        line: RollForward(
            line, opening[line],
            tuple(Movement(why, minor) for (of, why), minor in sorted(moved.items())
                  if of == line and minor),
            closing[line],
        )
        for line in closing
    }  # fmt: skip


def equity_rows(rolls: dict[str, RollForward], period: str) -> list[Row]:
    """The statement of changes in equity."""
    return [
        Row("changes_in_equity", label, line, period, minor, is_total)
        for line, roll in rolls.items()
        for label, minor, is_total in roll.lines()
    ]


def _movements(
    books: GroupBooks, first: Consolidated, last: Consolidated, tags: tuple[IfrsAdjustment, ...]
) -> Iterator[tuple[str, str, int]]:
    chart = load_chart()
    reasons = {rule.number: _REASONS.get(rule.amount, OTHER) for rule in load_group_rules()}
    translation = movement(first, last, *tags)("other_comprehensive")
    lines = books.ledger.between(to_month(first.day), to_month(last.day))
    for (_, tag, rule), name, minor in books.translated(lines, last.day):
        account = chart[name]
        if tag not in tags:
            continue
        if not account.kind.on_balance_sheet:
            yield "Retained earnings", INCOME, -minor
        elif account.kind is AccountKind.EQUITY and not account.within_group:
            yield account.line, reasons.get(rule, OTHER), -minor
            translation -= minor if name == "other_comprehensive" else 0
    # The rest is the difference of translation.
    yield TRANSLATION, TRANSLATION, -translation
