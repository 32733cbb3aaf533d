"""Journals of one loan: the difference of its fact amounts, dated into open periods.

Every command that adds a fact posts what the facts now come to less what they came to before. A
backdated fact and a reversal are the same: the difference shows in each month it reaches, and goes
to that month while it is open, else to the first month after it that is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING

import numpy as np

from usance.base.codes import FactKind
from usance.base.dates import first_of_month, last_of_month, to_month
from usance.books.kernel.fact_amounts import fill_fact_amounts
from usance.books.loans.amounts import AMOUNTS, FACT_AMOUNT_PLACES, FACT_AMOUNTS
from usance.books.loans.fact_amounts import booked_loans, fact_amounts, start_booked, step_booked
from usance.books.loans.positions import CHARGE_OFF, FIELDS, NO_EVENT, PAYOUT
from usance.books.loans.positions import POSITION as P
from usance.books.posting_templates import CellKey, PostingLine, PostingTemplate, posting_template
from usance.loan.columns import FactColumns, TermColumns
from usance.loan.errors import ConventionNotInKernel, FactNotInKernel, KernelRange
from usance.loan.facts import Fact, visible
from usance.loan.loan import replay
from usance.platform.loan_record import LoanRecord
from usance.platform.store.write_set import WriteSet

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    import asyncpg

    from usance.platform.lender import Lender
    from usance.platform.user_record import UserRecord

LIVE_JOURNAL = 1 << 52
"""Set in the ids of live journals, which so never meet those of closes."""
NOTHING = (0,) * len(FACT_AMOUNTS)
OPEN = 0
Amounts = tuple[int, ...]


@dataclass(frozen=True)
class Books:
    """Open periods, cells and the fees of institutions, as posting needs them."""

    open_periods: tuple[int, ...]
    cells: Mapping[int, CellKey]
    fee_ppm: int = 0

    def period_for(self, month: int) -> int:
        """The month itself while it is open, else the first open one after it."""
        return next((each for each in self.open_periods if each >= month), self.open_periods[-1])


async def read_books(transaction: asyncpg.Connection, cell: int, fee_ppm: int = 0) -> Books:
    """The open periods and one cell, with the fee that its institution pays of a loan."""
    periods = await transaction.fetch(
        "select period from usance.periods where state = 0 order by period"
    )
    row = await transaction.fetchrow("select * from usance.cells where cell = $1", cell)
    key = CellKey(row["cell"], row["model"], row["entity"], bool(row["related"]),
                  row["fund_cash"], row["payout_cash"])  # fmt: skip
    return Books(tuple(each["period"] for each in periods), {cell: key}, fee_ppm)


def amounts_on(loan: LoanRecord, facts: Sequence[Fact], day: date, fee_ppm: int = 0) -> Amounts:
    """The cumulative fact amounts of a loan at the end of a day."""
    seen = visible(list(facts), as_of=day)
    if not seen:
        return NOTHING
    first = loan.terms[0]
    if len(loan.rows) == 1 or all(each.kind is not FactKind.TERMS_CHANGED for each in seen):
        try:
            columns = TermColumns.of([first])
            held = booked_loans([loan.model], [first.upfront_fee_minor], [fee_ppm])
            stepped = step_booked(start_booked(columns, held), FactColumns.of([seen]), day)
            return tuple(fact_amounts(stepped)[0].tolist())
        except (ConventionNotInKernel, FactNotInKernel, KernelRange):
            pass  # changed terms and paused interest are known to the exact form alone
    return _exact_amounts(loan, seen, day, fee_ppm)


def _exact_amounts(loan: LoanRecord, seen: list[Fact], day: date, fee_ppm: int) -> Amounts:
    """The same amounts from the exact form, read off its views."""
    view = replay(loan.terms, seen, day, form="exact").view()
    ends = (FactKind.CHARGED_OFF, FactKind.COMPENSATED)
    at_end = next((n for n, each in enumerate(seen) if each.kind in ends), None)
    event, before = NO_EVENT, view
    if at_end is not None:
        event = CHARGE_OFF if seen[at_end].kind is FactKind.CHARGED_OFF else PAYOUT
        before = replay(loan.terms, seen[: at_end + 1], seen[at_end].effective_on,
                        form="exact").view()  # fmt: skip
    at, out = np.zeros(len(FIELDS), np.int64), np.zeros(len(AMOUNTS), np.int64)
    terms = loan.terms[-1]
    for n in range(5):
        at[P.paid_principal + n], at[P.before_principal + n] = view.paid[n], before.paid[n]
    at[P.event], at[P.model], at[P.fee_ppm] = event, int(loan.model), fee_ppm
    at[P.upfront], at[P.principal] = loan.terms[0].upfront_fee_minor, loan.first["principal_minor"]
    at[P.waived_principal], at[P.waived_guarantee] = view.waived[0], before.waived[2]
    at[P.guarantee], at[P.overpaid] = terms.guarantee_fee_minor, view.overpaid
    at[P.compensated], at[P.is_settled] = view.compensated, int(view.principal_outstanding == 0)
    fill_fact_amounts(at, out)
    return tuple(out[list(FACT_AMOUNT_PLACES)].tolist())


@dataclass(frozen=True)
class Movement:
    """A difference of fact amounts, the month it belongs to, and the day it is dated on."""

    period: int
    effective_on: date
    moved: Amounts


def movements(loan: LoanRecord, books: Books, today: date) -> list[Movement]:
    """Differences that the facts of a command make, by the period they are posted in."""
    if not loan.added:
        return []
    first = min(loan.first_day_of(each) for each in loan.added)
    by_period: dict[int, Amounts] = {}
    dates: dict[int, date] = {}
    before = after = NOTHING
    if first > loan.terms[0].disbursed_on:
        eve = first_of_month(to_month(first)) - timedelta(days=1)
        before = amounts_on(loan, loan.facts, eve, books.fee_ppm)
        after = amounts_on(loan, loan.all_facts, eve, books.fee_ppm)
    for month in range(to_month(first), to_month(today) + 1):
        end = min(last_of_month(month), today)
        was = amounts_on(loan, loan.facts, end, books.fee_ppm)
        is_now = amounts_on(loan, loan.all_facts, end, books.fee_ppm)
        moved = tuple((b - a) - (d - c) for a, b, c, d in
                      zip(after, is_now, before, was, strict=True))  # fmt: skip
        before, after = was, is_now
        period = books.period_for(month)
        known = by_period.get(period, NOTHING)
        by_period[period] = tuple(x + y for x, y in zip(known, moved, strict=True))
        own = max(first, first_of_month(month))
        dates.setdefault(period, own if period == month else first_of_month(period))
    return [Movement(period, dates[period], moved)
            for period, moved in by_period.items() if any(moved)]  # fmt: skip


_TEMPLATES: dict[tuple[CellKey, int], PostingTemplate] = {}


def lines_of(books: Books, cell: int, moved: Amounts, platform: int) -> list[PostingLine]:
    """Journal lines of a difference, by the template of its cell."""
    key = (books.cells[cell], platform)
    if key not in _TEMPLATES:
        _TEMPLATES[key] = posting_template(*key)
    return _TEMPLATES[key].lines(moved)


def post(
    changes: WriteSet, user: UserRecord, loan: LoanRecord, books: Books, lender: Lender,
    at: datetime, today: date, command: str,
) -> Amounts:  # fmt: skip
    """Add the journals of a loan's new facts to a write set; the amounts the ledger then holds."""
    for each in movements(loan, books, today):
        journal = LIVE_JOURNAL | user.next("journals")
        changes.add(
            "journals", journal_id=journal, booked_at=at, close_no=0, kind=0, actor=command,
            text=command, reverses=0, hash="", previous_hash="",
        )  # fmt: skip
        lines = lines_of(books, loan.cell, each.moved, lender.platform_entity)
        for number, line in enumerate(lines, start=1):
            changes.add(
                "postings", journal_id=journal, line=number, entity=line.entity, basis=line.basis,
                tag=line.tag, account=line.account, period=each.period,
                effective_on=each.effective_on, rule=line.rule, cell=line.cell,
                loan_id=loan.loan_id, amount_minor=line.amount_minor,
                currency=int(lender.currency),
            )  # fmt: skip
    return amounts_on(loan, loan.all_facts, today, books.fee_ppm)
