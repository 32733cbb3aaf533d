"""The kernel's entry for one loan: scalars in, one row of the view out.

Each array that crosses over costs a tenth of the whole call, so facts come in one piece; days come
as Python counts them, which saves an addition in Python for each.
"""

from __future__ import annotations

import numpy as np

from usance.base.arrays import I64
from usance.base.codes import FactKind
from usance.base.compiled import kernel
from usance.base.dates import EPOCH
from usance.base.refusals import pack_refusal
from usance.loan.bounds import MAX_KERNEL_INSTALMENTS
from usance.loan.kernel.arrays import FactArrays
from usance.loan.kernel.facts import refuse_amount
from usance.loan.kernel.fold import BEFORE_FIRST_FACT, fold_facts
from usance.loan.kernel.plan import plan_of
from usance.loan.kernel.refusals import NOT_IN_KERNEL, OK, OUT_OF_ORDER
from usance.loan.kernel.state import SLOTS, initialise
from usance.loan.kernel.view import view

Scalars = tuple[int, int, int, int, int, int, int, int, int]
"""principal, rate, coupon, instalments, disbursed day, first due day, flat fee, guarantee fee,
convention code."""

_REVERSED = int(FactKind.REVERSED)


def loan_workspace() -> I64:
    """Memory for a loan's state, followed by its schedule."""
    return np.empty(SLOTS + 4 * (MAX_KERNEL_INSTALMENTS + 1), np.int64)


@kernel(inline=True)
def refuse_fact(days: I64, kinds: I64, amounts: I64, refs: I64, at: int) -> int:
    """The refusal of a fact for its order, its amount, or being a reversal; else `OK`."""
    if kinds[at] == _REVERSED:  # counts whatever its own day, so it must not be passed over
        return NOT_IN_KERNEL
    if at > 0:
        before, rank = days[at - 1], kinds[at - 1]
        in_order = before < days[at] or (
            before == days[at]
            and (rank < kinds[at] or (rank == kinds[at] and refs[at - 1] < refs[at]))
        )
        if not in_order:
            return OUT_OF_ORDER
    return refuse_amount(kinds[at], amounts[at])


@kernel
def replay_loan(terms: Scalars, given: I64, as_of: int, room: I64, out: I64) -> int:
    """Fold the facts and fill the view; refuses facts that are not in canonical order.

    `given` has the day, kind, amount, arg and ref of all facts, one after the other.
    """
    n = len(given) // 5
    days, kinds, amounts, args, refs = (
        given[:n], given[n : 2 * n], given[2 * n : 3 * n], given[3 * n : 4 * n], given[4 * n :],
    )  # fmt: skip
    for at in range(n):
        refusal = refuse_fact(days, kinds, amounts, refs, at)
        if refusal != OK:  # also of facts after the day, as `visible` has it
            return pack_refusal(refusal, at)
    for at in range(n):
        days[at] -= EPOCH
    code, day, state = terms[8] - 1, as_of - EPOCH, room[:SLOTS]
    plan = plan_of(
        terms[0], terms[1], terms[2], terms[3], terms[4] - EPOCH, terms[5] - EPOCH, terms[6],
        terms[7], code % 3, code // 3,
    )  # fmt: skip
    refusal = initialise(plan, state)
    if refusal != OK:
        return refusal
    facts = FactArrays(days, days, kinds, amounts, args)
    refusal = fold_facts(plan, state, room[SLOTS:], facts, 0, n, BEFORE_FIRST_FACT, day)
    if refusal == OK:
        view(plan, state, day, out, 0)
    return refusal
