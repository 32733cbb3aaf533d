"""Which loans are over: nothing that a later close could find changed, but for a new fact."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import I64
from usance.base.compiled import kernel
from usance.books.loans import positions as p

_PARTS = len(p.PARTS)


@kernel
def over_rows(at: I64, over: NDArray[np.bool_]) -> None:
    """Mark loans that are paid to the end, without payout or charge-off, and all of it cleared."""
    for row in range(len(at)):
        over[row] = (
            at[row, p.IS_SETTLED] == 1
            and at[row, p.EVENT] == p.NO_EVENT
            and at[row, p.OVERPAID] == at[row, p.CLEARED_OVERPAID]
        )
        for part in range(_PARTS):
            if at[row, p.PAID + part] != at[row, p.CLEARED + part]:
                over[row] = False
