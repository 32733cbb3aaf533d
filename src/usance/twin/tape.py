"""Rows of the tape and of states at a month's end, from loans that were just folded."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from usance.base.codes import Status
from usance.base.columns import make
from usance.base.tables import table
from usance.measure.tape_of_book import bucket
from usance.twin import month_kernel as m
from usance.twin.open_loans import OpenLoans
from usance.twin.serving import Folded
from usance.world.population import month_days

_MOST = int(np.iinfo(np.int16).max)


def tape_rows(before: OpenLoans, folded: Folded, month: int) -> pa.Table:
    """One row for each loan; `before` holds where they stood a month earlier."""
    ends = folded.ends
    dpd, status, owed = ends[:, m.DPD], ends[:, m.STATUS], ends[:, m.PRINCIPAL]
    late = (dpd > 0) | (status == Status.CHARGED_OFF)
    worst = np.where(late, ends[:, m.WORST], 0)
    cohort = before["cohort"]
    return make(
        "tape", month=np.full(len(before), month), loan_id=before["loan_id"], mob=month - cohort,
        dpd=np.minimum(dpd, _MOST), bucket=bucket(dpd, status), bucket_prev=before["bucket"],
        status=status, principal_minor=owed, principal_prev_minor=before["owed_minor"],
        past_due_minor=ends[:, m.PAST_DUE], net30_minor=np.where(worst > 30, owed, 0),
        net180_minor=np.where(worst > 180, owed, 0), prepaid_minor=ends[:, m.PREPAID],
        recovered_minor=ends[:, m.RECOVERED_NOW], cohort=cohort, cell=before["cell"],
    )  # fmt: skip


def state_table(loans: OpenLoans, month: int) -> pa.Table:
    """The declared table of states at a month's end."""
    spec = table("state")
    _, last = month_days(month)
    slots = {name: loans.states[:, n] for n, name in enumerate(spec.names[2:])}
    through = np.full(len(loans), last, np.int32)
    return make("state", loan_id=loans["loan_id"], through=through, **slots)


def stood(folded: Folded) -> OpenLoans:
    """The folded loans with where they stand, ready to be the month before the next."""
    ends = folded.ends
    dpd, status = ends[:, m.DPD], ends[:, m.STATUS]
    columns = {
        **folded.loans.columns,
        "worst": np.minimum(ends[:, m.WORST], _MOST).astype(np.int16),
        "bucket": bucket(dpd, status).astype(np.int8),
        "dpd": np.minimum(dpd, _MOST).astype(np.int16),
        "owed_minor": np.ascontiguousarray(ends[:, m.PRINCIPAL]),
    }
    return OpenLoans(columns, folded.loans.states, folded.loans.watches)


def is_closed(folded: Folded) -> NDArray[np.bool_]:
    """Which loans are over: their last row of zeros is written."""
    return np.asarray(folded.ends[:, m.STATUS] == Status.CLOSED)
