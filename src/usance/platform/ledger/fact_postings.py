"""Journals of one loan: the difference of its fact amounts, dated into open periods.

Every command that adds a fact posts what the facts now come to less what they came to before. A
backdated fact and a reversal are the same: the difference shows in each month it reaches, and goes
to that month while it is open, else to the first month after it that is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from usance.base.codes import FactKind
from usance.base.dates import first_of_month, last_of_month, to_month
from usance.books.kernel.fact_amounts import fill_fact_amounts
from usance.books.loans.amounts import AMOUNTS, FACT_AMOUNT_PLACES, FACT_AMOUNTS
from usance.books.loans.changed_terms import position_of
from usance.books.loans.co_funding import parts_of
from usance.books.loans.fact_amounts import (
    BookedState,
    booked_loans,
    fact_amounts,
    start_booked,
    step_booked,
)
from usance.books.posting_templates import CellKey, PostingLine, PostingTemplate, posting_template
from usance.books.rules import load_rules
from usance.loan.columns import FactColumns, TermColumns
from usance.loan.errors import ConventionNotInKernel, FactNotInKernel, KernelRange
from usance.loan.facts import Fact, visible
from usance.loan.stored_rows import terms_of_row
from usance.platform.records.loan_record import LoanRecord
from usance.platform.refusals import PeriodNotOpen
from usance.platform.store.write_set import WriteSet

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from usance.platform.records.user_record import UserRecord

LIVE_JOURNAL = 1 << 52
"""Set in the ids of live journals, which so never meet those of closes."""
FACT_RULES = frozenset(rule.number for rule in load_rules() if rule.amount in FACT_AMOUNTS)
"""Rules whose amounts follow from facts and terms alone: they are posted live."""
NOTHING = (0,) * len(FACT_AMOUNTS)
OPEN = 0
Amounts = tuple[int, ...]


@dataclass(frozen=True)
class Books:
    """Open periods, cells and the fees of institutions, as posting needs them."""

    open_periods: tuple[int, ...]
    cells: Mapping[int, CellKey]
    fee_ppm: int = 0

    def single(self, day: date, moved: Amounts) -> list[Movement]:
        """The movement of facts of one day after which there are no others."""
        month = to_month(day)
        period = self.period_for(month)
        return [Movement(period, day if period == month else first_of_month(period), moved)]

    def period_for(self, month: int) -> int:
        """The month itself while it is open, else the first open one after it."""
        if not self.open_periods:
            raise PeriodNotOpen("no month is open", where="the ledger",
                                fix="Book it when the next month has come")  # fmt: skip
        return next((each for each in self.open_periods if each >= month), self.open_periods[-1])


def by_share(loan: LoanRecord, amounts: Amounts) -> Amounts:
    """The amounts of a loan; of a co-funded one those of each share, one after the other.

    A close splits the same amounts in the same way, so that both post the same to each cell.
    """
    if not loan.shares:
        return amounts
    whole = np.zeros((1, len(AMOUNTS)), np.int64)
    whole[0, list(FACT_AMOUNT_PLACES)] = amounts
    cells, weights = (np.array([*each], np.int64) for each in (loan.shares, loan.shares.values()))
    parts = parts_of(whole, np.zeros(len(cells), np.int64), cells, weights)
    return tuple(parts[:, list(FACT_AMOUNT_PLACES)].ravel().tolist())


def fold_of(
    loan: LoanRecord, facts: Sequence[Fact], day: date, fee_ppm: int = 0
) -> BookedState | None:
    """The fold of a loan up to a day, or none where only the exact form knows its facts."""
    seen, first = visible(list(facts), as_of=day), terms_of_row(loan.first)
    if len(loan.rows) > 1 and any(each.kind is FactKind.TERMS_CHANGED for each in seen):
        return None
    try:
        columns = TermColumns.of([first])
        held = booked_loans([loan.model], [first.upfront_fee_minor], [fee_ppm])
        return step_booked(start_booked(columns, held), FactColumns.of([seen]), day)
    except (ConventionNotInKernel, FactNotInKernel, KernelRange):
        return None  # changed terms and paused interest are known to the exact form alone


def amounts_on(loan: LoanRecord, facts: Sequence[Fact], day: date, fee_ppm: int = 0) -> Amounts:
    """The cumulative fact amounts of a loan, or of each share of it, at the end of a day."""
    return by_share(loan, whole_amounts(loan, facts, day, fee_ppm))


def whole_amounts(loan: LoanRecord, facts: Sequence[Fact], day: date, fee_ppm: int) -> Amounts:
    """The cumulative fact amounts of a loan as a whole at the end of a day."""
    if not facts:
        return NOTHING
    folded = fold_of(loan, facts, day, fee_ppm)
    if folded is not None:
        return tuple(fact_amounts(folded)[0].tolist())
    seen = visible(list(facts), as_of=day)
    return _exact_amounts(loan, seen, day, fee_ppm) if seen else NOTHING


def _exact_amounts(loan: LoanRecord, seen: list[Fact], day: date, fee_ppm: int) -> Amounts:
    """The same amounts as a close reads them off the exact form."""
    at = position_of(loan.terms, seen, loan.model, day, day, fee_ppm=fee_ppm)
    out = np.zeros(len(AMOUNTS), np.int64)
    fill_fact_amounts(at, out)
    return tuple(out[list(FACT_AMOUNT_PLACES)].tolist())


@dataclass(frozen=True)
class Movement:
    """A difference of fact amounts, the month it belongs to, and the day it is dated on."""

    period: int
    effective_on: date
    moved: Amounts
    """Of each share, one after the other, where a loan has several."""


def movements(loan: LoanRecord, books: Books, today: date) -> list[Movement]:
    """Differences that the facts of a command make, by the period they are posted in."""
    if not loan.added:
        return []
    first = min(loan.first_day_of(each) for each in loan.added)
    by_period: dict[int, Amounts] = {}
    dates: dict[int, date] = {}
    nothing = by_share(loan, NOTHING)
    before = after = nothing
    if first > loan.first["disbursed_on"]:
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
        known = by_period.get(period, nothing)
        by_period[period] = tuple(x + y for x, y in zip(known, moved, strict=True))
        own = max(first, first_of_month(month))
        dates.setdefault(period, own if period == month else first_of_month(period))
    return [Movement(period, dates[period], moved)
            for period, moved in by_period.items() if any(moved)]  # fmt: skip


_TEMPLATES: dict[tuple[CellKey, int], PostingTemplate] = {}


def lines_of(
    books: Books, cells: Sequence[int], moved: Amounts, platform: int
) -> list[PostingLine]:
    """Journal lines of a difference, by the template of its cell, or of the cell of each share."""
    found: list[PostingLine] = []
    for place, cell in enumerate(cells):
        key = (books.cells[cell], platform)
        if key not in _TEMPLATES:
            _TEMPLATES[key] = posting_template(*key)
        start = place * len(NOTHING)
        found += _TEMPLATES[key].lines(moved[start : start + len(NOTHING)])
    return found


class Poster(NamedTuple):
    """Who posts, in which command, and the currency and entity of the books it goes to."""

    user: UserRecord
    at: datetime
    command: str
    currency: int
    platform: int


def post(changes: WriteSet, poster: Poster, loan_id: int, cells: Sequence[int], books: Books,
         moved: Sequence[Movement]) -> None:  # fmt: skip
    """Add the journals of a loan's differences to a write set."""
    for each in moved:
        journal = LIVE_JOURNAL | poster.user.next("journals")
        changes.journals.append((journal, poster.at, 0, 0, poster.command, poster.command, 0, "",
                                 "", None))  # fmt: skip
        lines = lines_of(books, cells, each.moved, poster.platform)
        changes.postings += [
            (journal, number, entity, basis, tag, account, each.period, each.effective_on, rule,
             own, loan_id, amount, poster.currency, 0, 0, None)
            for number, (_, entity, basis, tag, account, rule, own, amount)
            in enumerate(lines, start=1)
        ]  # fmt: skip
