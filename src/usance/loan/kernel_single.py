"""One loan through the kernel, called from Python: scalars in, one row out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from usance.base.compiled import kernel
from usance.loan.kernel_days import fold_facts
from usance.loan.kernel_facts import scheduled
from usance.loan.kernel_fold import State, begin
from usance.loan.kernel_plan import plan_of
from usance.loan.kernel_refusals import OK
from usance.loan.kernel_view import view

Scalars = tuple[int, int, int, int, int, int, int, int, int]
"""principal, rate, coupon, instalments, disbursed day, first due day, flat fee, guarantee fee,
convention code."""


@kernel
def replay_loan(
    terms: Scalars, offsets: NDArray[np.int64], days: NDArray[np.int32], kinds: NDArray[np.int8],
    amounts: NDArray[np.int64], args: NDArray[np.int64], as_of: int, state: State,
    out: NDArray[np.int64],
) -> int:  # fmt: skip
    """Fold the facts and fill the view; the state and its work space then hold the schedule."""
    code = terms[8] - 1
    plan = plan_of(
        terms[0], terms[1], terms[2], terms[3], terms[4], terms[5], terms[6], terms[7],
        code % 3, code // 3,
    )  # fmt: skip
    refusal = begin(plan, state)
    if refusal != OK:
        return refusal
    facts = (offsets, days, kinds, amounts, args)
    refusal = fold_facts(plan, state, facts, 0, len(days), -(2**31), as_of)
    if refusal == OK:
        view(plan, state, as_of, out, 0)
    return refusal
