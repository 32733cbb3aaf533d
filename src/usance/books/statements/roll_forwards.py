"""Roll-forwards: opening balance, movements and closing balance, as the notes print them.

>>> stand_ready = RollForward(
...     "Guarantee liabilities-stand ready",
...     4_120_346,
...     (Movement("additions", 4_926_567), Movement("released", -5_097_312)),
...     3_949_601,
... )
>>> stand_ready.difference
0
>>> list(stand_ready.lines())[-1]
('closing', 3949601, True)

That of equity has each line from one day to another, by reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

import numpy as np

from usance.base.codes import IfrsAdjustment
from usance.base.dates import to_month
from usance.base.errors import UsanceError
from usance.books.chart import AccountKind, load_chart
from usance.books.errors import ControlFailed
from usance.books.group.rules import load_group_rules
from usance.books.rules import load_rules
from usance.books.statements.consolidation import Consolidated, GroupBooks
from usance.books.statements.ledger import Ledger
from usance.books.statements.primary import Row, balance, equity, movement

REASONS = {
    "guarantee_issued": "additions",
    "guarantee_cancelled": "cancelled",
    "guarantee_released": "released",
    "guarantee_received": "received",
    "contingent_provision": "provision",
    "paid_out": "payouts",
    "recovered_claim": "recoveries",
    "receivable_provision": "provision",
    "receivable_written_off": "written off",
    "recovered_guarantee": "recoveries",
    "contract_provision": "provision",
    "contract_written_off": "written off",
    "recovered_service": "recoveries",
    "facilitation_earned": "earned",
    "servicing_earned": "earned",
    "referral_fee": "earned",
    "service_received": "received",
    "contract_liability": "shown as contract liability",
    "loan_provision": "provision",
    "principal_written_off": "written off",
    "interest_written_off": "written off",
    "fee_written_off": "written off",
    "recovered_loan": "recoveries",
    "disbursed": "originated",
    "principal_received": "received",
    "interest_earned": "earned",
    "interest_received": "received",
    "fee_earned": "earned",
    "upfront_fee": "withheld",
    "fee_instalments_received": "received",
    "to_institution": "collected",
    "cleared_institution": "passed on",
    "overpaid": "over-paid",
}
"""Names of movements in the notes; others go by the name of their amount."""

ACCOUNTS = {
    "Guarantee liabilities-stand ready": (("stand_ready",), -1),
    "Guarantee liabilities-contingent": (("contingent",), -1),
    "Allowance for loans receivable": (("loan_allowance",), -1),
    "Allowance for financial assets receivable": (("financial_allowance",), -1),
    "Allowance for contract assets": (("contract_allowance",), -1),
    "Loans receivable, principal": (("loans", "loans_non_current"), 1),
    "Accrued interest": (("accrued_interest",), 1),
    "Unearned fees": (("unearned_fee",), -1),
    "Financial assets receivable, gross": (
        ("financial_receivable", "financial_receivable_non_current"), 1,
    ),
    "Contract assets, gross": (("contract_assets", "contract_assets_non_current"), 1),
    "Accounts receivable, gross": (("accounts_receivable",), 1),
    "Payable to institutions": (("payable_institutions",), -1),
    "Payable to investors of the consolidated trusts": (
        ("trust_investors", "trust_investors_non_current"), -1,
    ),
    "Other tax payable": (("other_tax_payable",), -1),
}  # fmt: skip


class Movement(NamedTuple):
    """The reason of a movement, and its amount."""

    name: str
    minor: int


@dataclass(frozen=True, slots=True)
class RollForward:
    """A balance from one day to another."""

    name: str
    opening: int
    movements: tuple[Movement, ...]
    closing: int

    @property
    def difference(self) -> int:
        """The unexplained difference; it should be zero."""
        return self.closing - self.opening - sum(each.minor for each in self.movements)

    def problems(self) -> Iterator[UsanceError]:
        """The difference, if there is one."""
        if self.difference:
            what = f"{self.difference} is unexplained between opening and closing"
            yield ControlFailed(what, where=self.name, fix="Find the movement that is missing")

    def lines(self) -> Iterator[tuple[str, int, bool]]:
        """Label, amount, and whether it is a balance."""
        yield "opening", self.opening, True
        for each in self.movements:
            yield each.name, each.minor, False
        yield "closing", self.closing, True


def roll_forward(
    name: str, ledger: Ledger, accounts: Iterable[str], reasons: Mapping[int, str],
    first_month: int, last_month: int, *, sign: int = 1,
) -> RollForward:  # fmt: skip
    """Accounts of one currency over some months, movements named by rule (`reasons`)."""
    chart = load_chart()
    own = ledger.take(np.isin(ledger.account, [chart[each].number for each in accounts]))
    before, until = own.through(first_month - 1), own.through(last_month)
    moved: dict[str, int] = {}
    inside = until.take(until.period >= first_month)
    for (rule,), minor in inside.sums(lambda book: [book.rule]).items():
        label = reasons.get(rule, f"rule {rule}")
        moved[label] = moved.get(label, 0) + sign * minor
    return RollForward(
        name,
        sign * int(before.amount.sum()),
        tuple(Movement(label, minor) for label, minor in sorted(moved.items()) if minor),
        sign * int(until.amount.sum()),
    )


def roll_forwards(
    ledger: Ledger, first_month: int, last_month: int, *, currency: int
) -> list[RollForward]:
    """Every roll-forward of some months under US GAAP, of the amounts in one currency."""
    chart = load_chart()
    assert all(name in chart.accounts for names, _ in ACCOUNTS.values() for name in names)
    own = ledger.take((ledger.tag == 0) & (ledger.currency == currency))
    named = {rule.number: rule.amount for rule in load_rules()}
    named |= {rule.number: rule.amount for rule in load_group_rules()}
    reasons = {
        rule: REASONS.get(amount, amount.replace("_", " ")) for rule, amount in named.items()
    }
    return [
        roll_forward(name, own, accounts, reasons, first_month, last_month, sign=sign)
        for name, (accounts, sign) in ACCOUNTS.items()
    ]


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
