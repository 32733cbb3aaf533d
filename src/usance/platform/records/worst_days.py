"""The most days past due that each borrower paid at, from facts: a counter that decisions rest on.

A receipt counts as its loan stood on its day and as was known when it was booked; what is reversed
later has been all the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

import numpy as np
import pyarrow as pa

from usance.base.arrays import I64
from usance.base.codes import FactKind
from usance.base.columns import arrays
from usance.base.ids import PER_USER
from usance.loan.batch import replay_columns
from usance.loan.columns import FactColumns
from usance.loan.visible_facts import term_columns, visible_rows
from usance.platform.records.loan_record import LoanRecord

RECEIPTS = (FactKind.PAID, FactKind.RECOVERED)
READINGS_AT_ONCE = 100_000
_TICK = timedelta(microseconds=1)


def late_receipts(loans: pa.Table, facts: pa.Table) -> Iterator[tuple[I64, I64]]:
    """Borrowers and days past due of receipts after the day, of loans that the kernel knows.

    Loans have one version of terms each, in the order of their ids as the facts are.
    """
    terms, given = arrays(loans), arrays(facts)
    ids, owner = terms["loan_id"], given["loan_id"]
    ends = np.searchsorted(owner, np.append(ids, np.iinfo(np.int64).max)).astype(np.int64)
    row = np.searchsorted(ids, owner)
    is_late = given["effective_on"] > terms["first_due_on"][row]
    asked = np.flatnonzero(is_late & np.isin(given["kind"], [int(each) for each in RECEIPTS]))
    for start in range(0, len(asked), READINGS_AT_ONCE):
        at = asked[start : start + READINGS_AT_ONCE]
        loan = row[at]
        known = _known_before(given, at, ends[loan], ends[loan + 1], ids[loan])
        views = replay_columns(term_columns(loans.take(pa.array(loan))), known,
                               np.ascontiguousarray(given["effective_on"][at]))  # fmt: skip
        days = views.column("days_past_due")
        some = days > 0
        yield ids[loan[some]] // PER_USER, days[some]


def _known_before(given: dict[str, I64], at: I64, first: I64, end: I64, ids: I64) -> FactColumns:
    """The facts of the loan of each receipt that stood when it was booked."""
    counts = end - first
    place = np.repeat(first - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
    which = np.repeat(np.arange(len(at)), counts)
    known = given["booked_at"][place] < given["booked_at"][at][which]
    place, sizes = place[known], np.bincount(which[known], minlength=len(at))
    columns = [np.ascontiguousarray(given[name][place])
               for name in ("effective_on", "kind", "amount_minor", "arg")]  # fmt: skip
    made = FactColumns(np.concatenate(([0], np.cumsum(sizes))), *columns)
    return visible_rows(made, np.ascontiguousarray(given["ref"][place]), ids)


def late_receipts_of(loan: LoanRecord) -> Iterator[int]:
    """Days past due of the receipts of one loan, in whichever form knows it."""
    for each in loan.facts:
        if each.kind in RECEIPTS and each.effective_on > loan.first["first_due_on"]:
            yield loan.at(each.effective_on, each.booked_at - _TICK).view().days_past_due


class WorstDays(dict[int, int]):
    """The most days past due by borrower; whoever never was is not in it."""

    def note(self, users: I64 | Sequence[int], days: I64 | Sequence[int]) -> None:
        """Take receipts in."""
        for user, late in zip(np.asarray(users).tolist(), np.asarray(days).tolist(), strict=True):
            if late > self.get(user, 0):
                self[user] = late
