"""Rows of the tape and of states at a month's end, from loans that were just folded."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from usance.base.codes import Status
from usance.base.columns import make
from usance.base.tables import table
from usance.twin.month.loan_month import Folded
from usance.twin.month.month_arrays import MonthEnd
from usance.twin.month.open_loans import OpenLoans
from usance.world.population import month_days


def tape_rows(before: OpenLoans, ends: MonthEnd, month: int) -> pa.Table:
    """One row for each loan; `before` holds the loans a month earlier."""
    return make(
        "tape", month=np.full(len(before), month, np.int16), loan_id=before["loan_id"],
        mob=month - before["cohort"], bucket_prev=before["bucket"],
        principal_prev_minor=before["owed_minor"], cohort=before["cohort"], cell=before["cell"],
        **ends._asdict(),
    )  # fmt: skip


def state_table(loans: OpenLoans, month: int) -> pa.Table:
    """The declared table of states at a month's end."""
    spec = table("state")
    _, last = month_days(month)
    slots = {name: loans.states[:, n] for n, name in enumerate(spec.names[2:])}
    through = np.full(len(loans), last, np.int32)
    return make("state", loan_id=loans["loan_id"], through=through, **slots)


def folded_loans(folded: Folded) -> OpenLoans:
    """Folded loans with their month's end, ready to be the month before the next."""
    return with_month_end(folded.loans, folded.ends)


def with_month_end(loans: OpenLoans, ends: MonthEnd) -> OpenLoans:
    """Loans with days past due, bucket and principal at a month's end."""
    columns = {
        **loans.columns, "bucket": ends.bucket, "dpd": ends.dpd, "owed_minor": ends.principal_minor,
    }  # fmt: skip
    return OpenLoans(columns, loans.states, loans.watches)


def is_closed(ends: MonthEnd) -> NDArray[np.bool_]:
    """Loans that are closed: their last row of zeros is written."""
    return np.asarray(ends.status == Status.CLOSED)
