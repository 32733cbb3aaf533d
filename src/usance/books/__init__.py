"""Books: from loan facts and group facts to exact journals under US GAAP and IFRS.

A period is closed by `usance.books.close.checklist.close`; `ClosedBooks` opens what is closed.
Names are imported when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from usance.base.public_names import public_names

if TYPE_CHECKING:
    from usance.books.chart import Account, Chart, load_chart
    from usance.books.closed_books import ClosedBooks
    from usance.books.errors import (
        ChartError,
        ControlFailed,
        GroupFactError,
        PeriodError,
        RuleError,
        TapeError,
        Unbalanced,
    )
    from usance.books.exports import trial_balance
    from usance.books.integrity import integrity_findings
    from usance.books.periods import ClosePeriod, parse_close_period
    from usance.books.rules import Rule, load_rules
    from usance.books.sample import add_loans, sample_book

__all__ = [
    "Account", "Chart", "ChartError", "ClosePeriod", "ClosedBooks", "ControlFailed",
    "GroupFactError", "PeriodError", "Rule", "RuleError", "TapeError", "Unbalanced", "add_loans",
    "integrity_findings", "load_chart", "load_rules", "parse_close_period", "sample_book",
    "trial_balance",
]  # fmt: skip

_MODULES = {
    "chart": ("Account", "Chart", "load_chart"),
    "closed_books": ("ClosedBooks",),
    "errors": (
        "ChartError", "ControlFailed", "GroupFactError", "PeriodError", "RuleError", "TapeError",
        "Unbalanced",
    ),
    "exports": ("trial_balance",),
    "integrity": ("integrity_findings",),
    "periods": ("ClosePeriod", "parse_close_period"),
    "rules": ("Rule", "load_rules"),
    "sample": ("add_loans", "sample_book"),
}  # fmt: skip

__getattr__, __dir__ = public_names(__name__, _MODULES)
