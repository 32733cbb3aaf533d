"""Collections of a real period: what the loans of a deal did between two days, by replay.

Everything a borrower pays but penalties enters the deal. A loan that goes past `default_days` (the
day of the buy-out in a trust) defaults with what it then owes, once and for ever; what it pays
afterwards is recovered. Principal that is waived is lost like a default.

>>> from usance.base.codes import FactKind
>>> from usance.loan import Fact, FactColumns, TermColumns, Terms
>>> terms = Terms(
...     principal_minor=120_000, rate_ppm=120_000, instalments=12,
...     disbursed_on=date(2024, 1, 1), first_due_on=date(2024, 2, 1),
... )
>>> facts = [Fact(FactKind.DISBURSED, date(2024, 1, 1), 120_000, ref=1),
...          Fact(FactKind.PAID, date(2024, 2, 1), 10_662, ref=2)]
>>> held = DealLoans(TermColumns.of([terms]), FactColumns.of([facts]))
>>> january = held.period(date(2024, 1, 31), date(2024, 2, 29))
>>> flows = january.collections.flows
>>> flows.interest_minor, flows.principal_minor, january.collections.pool_end_minor
(1200, 9462, 110538)
>>> later = held.period(date(2024, 2, 29), date(2024, 6, 30), january.defaulted)
>>> later.collections.flows.defaulted_minor, later.collections.pool_end_minor
(110538, 0)
"""  # fmt: skip

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

import numpy as np

from usance.base.arrays import I64, Bools
from usance.fund.deal import MonthFlows
from usance.fund.payment_date import Collections
from usance.loan.batch import Views, replay_columns
from usance.loan.columns import FactColumns, TermColumns

DEFAULT_DAYS = 90
"""Days past due after which a loan of a deal counts as defaulted [A, `spec/funding.md` 3]."""


@dataclass(frozen=True, eq=False)
class LoanPeriod:
    """A period of a deal's loans."""

    collections: Collections
    defaulted: Bools
    """Loans that have defaulted by its end."""
    buy_out_minor: I64
    """Paid by the platform for each loan that it takes out or back."""
    performing_minor: I64
    """Principal of each loan that performs at its end."""
    fallen_minor: I64
    """Principal with which each loan defaulted in it."""
    fallen_days: I64
    """Days at its end since each of those went past due for too long."""


@dataclass(frozen=True, eq=False)
class Taken:
    """Loans that are not, or no longer, the deal's for another reason than their arrears."""

    left: Bools
    """Gone before the period."""
    claimed: Bools
    """Bought out in the period, as a fact of the loan says."""
    back: Bools
    """Going back at its end."""

    @classmethod
    def none(cls, count: int) -> Taken:
        """None of so many loans."""
        no = np.zeros(count, np.bool_)
        return cls(no, no, no)


@dataclass(frozen=True, eq=False)
class DealLoans:
    """The loans of a deal with all their facts."""

    terms: TermColumns
    facts: FactColumns
    default_days: int = DEFAULT_DAYS

    def period(self, after: date, until: date, defaulted: Bools | None = None) -> LoanPeriod:
        """Collections after a day and up to another; `defaulted` are loans that had before."""
        before, now = (replay_columns(self.terms, self.facts, day) for day in (after, until))
        gone = np.zeros(len(self.terms), np.bool_) if defaulted is None else defaulted
        return period_between(before, now, gone, self.default_days)


def period_between(
    before: Views, now: Views, gone: Bools, default_days: int = DEFAULT_DAYS, *,
    buys_out: bool = False, taken: Taken | None = None,
) -> LoanPeriod:  # fmt: skip
    """Collections between two views of the same loans; `gone` are those defaulted before.

    When `before` is what was known then and `now` what is known now, what came late or was
    reversed since is among them. Where the platform buys out what is past due, it pays principal
    and interest due at once, as a recovery, and what comes of the loan afterwards is its own. A
    loan that goes back is paid at par and the interest accrued, as if its borrower had settled it.
    """
    taken = taken or Taken.none(len(gone))
    own = ~gone & ~taken.left
    over = now.column("days_past_due") - default_days
    falls = own & ~taken.back & ((over > 0) | (taken.claimed & buys_out))
    principal = _paid(now, ("paid_principal",)) - _paid(before, ("paid_principal",))
    parts = ("paid_interest", "paid_guarantee_fee", "paid_service_fee")
    income = _paid(now, parts) - _paid(before, parts)
    waived = _paid(now, ("waived_principal",)) - _paid(before, ("waived_principal",))
    owed = now.column("principal_outstanding")
    fallen = np.where(falls, owed, 0)
    lost = int(fallen.sum()) + int(waived[own].sum())
    accrued = now.column("accrued_interest")
    buy_out = np.where(falls & buys_out, owed + now.column("past_due_interest"), 0)
    late = 0 if buys_out else int((income + principal)[gone & ~taken.left].sum())
    flows = MonthFlows(
        int(income[own].sum() + accrued[taken.back].sum()),
        int(principal[own].sum() + owed[taken.back].sum()),
        lost, late + int(buy_out.sum()),
    )  # fmt: skip
    performing = np.where(own & ~falls & ~taken.back, owed, 0)
    buy_out += np.where(taken.back, owed + accrued, 0)
    collections = Collections(flows, int(performing.sum()))
    days = np.maximum(over - 1, 0)
    return LoanPeriod(collections, gone | falls, buy_out, performing, fallen, days)


def _paid(views: Views, names: tuple[str, ...]) -> I64:
    found: I64 = np.sum([views.column(name) for name in names], axis=0)
    return found
