"""One loan through the kernel, called from Python: scalars in, one row out."""

from __future__ import annotations

from usance.base.compiled import kernel
from usance.loan.kernel.arrays import I64, State
from usance.loan.kernel.days import fold_facts
from usance.loan.kernel.facts import refuse_amount
from usance.loan.kernel.fold import begin
from usance.loan.kernel.plan import plan_of
from usance.loan.kernel.refusals import OK, OUT_OF_ORDER
from usance.loan.kernel.view import view

Scalars = tuple[int, int, int, int, int, int, int, int, int]
"""principal, rate, coupon, instalments, disbursed day, first due day, flat fee, guarantee fee,
convention code."""


@kernel
def replay_loan(
    terms: Scalars, days: I64, kinds: I64, amounts: I64, args: I64, refs: I64, as_of: int,
    state: State, out: I64,
) -> int:  # fmt: skip
    """Fold the facts and fill the view; refuses facts that are not in canonical order."""
    for at in range(len(days)):
        earlier = (
            at == 0
            or days[at - 1] < days[at]
            or (days[at - 1] == days[at] and kinds[at - 1] < kinds[at])
            or (days[at - 1] == days[at] and kinds[at - 1] == kinds[at] and refs[at - 1] < refs[at])
        )
        refusal = refuse_amount(kinds[at], amounts[at]) if earlier else OUT_OF_ORDER
        if refusal != OK:  # also of facts after the day, as `visible` has it
            return refusal + 16 * at
    code = terms[8] - 1
    plan = plan_of(
        terms[0], terms[1], terms[2], terms[3], terms[4], terms[5], terms[6], terms[7],
        code % 3, code // 3,
    )  # fmt: skip
    refusal = begin(plan, state)
    if refusal != OK:
        return refusal
    facts = (days, days, kinds, amounts, args)
    refusal = fold_facts(plan, state, facts, 0, len(days), -(2**31), as_of)
    if refusal == OK:
        view(plan, state, as_of, out, 0)
    return refusal
