"""Month of a loan on schedule that pays late, not at all, or whose notice comes late, compiled.

Nothing was overdue before the instalment that is missed, so what follows is known: at most one
fee, and the payment if it comes within the month. Any other loan is left to `serve_kernel` and
`month_kernel`, and the same test takes it both ways.
"""

from __future__ import annotations

from typing import NamedTuple

from usance.base.arrays import i64
from usance.base.codes import FactKind, Fee
from usance.base.compiled import kernel
from usance.loan.kernel.arrays import Plan
from usance.loan.kernel.plan import due_day, instalment
from usance.loan.kernel.short_paths import (
    charge_late_fee,
    has_no_nil_instalment,
    is_on_schedule,
    pay_instalment,
    pay_late_fee,
    pays_one_instalment,
)
from usance.loan.kernel.state import BALANCE, LEVEL_MINOR
from usance.service.servicing_kernel import Holder, claim_days, fee_ref
from usance.service.servicing_rules import ServicingRules, late_fee
from usance.twin.month.merge_facts_kernel import write_fact
from usance.twin.month.month_arrays import FactBuffer, LoanArrays
from usance.twin.month.on_schedule_kernel import DueDraws
from usance.world.behaviour_kernel import NEVER, BehaviourInputs, at_due, lateness, notice_of

OTHER = -1
"""Days late of a loan that is not told here."""
_PAID, _FEE_CHARGED, _LATE_FEE = int(FactKind.PAID), int(FactKind.FEE_CHARGED), int(Fee.LATE_FEE)


class MissedDue(NamedTuple):
    """Month of a loan that missed its due: days late, principal due, amount past due, facts."""

    days_late: int
    """`NEVER` is any day after the month."""
    principal: int
    past_due: int
    facts: int


@kernel(inline=True)
def newly_delinquent_loan(
    plan: Plan, loans: LoanArrays, row: int, draws: DueDraws, world: BehaviourInputs,
    rules: ServicingRules, facts: FactBuffer, at: int,
) -> MissedDue:  # fmt: skip
    """Carry a loan that misses its due through the month; its facts are written from `at` on.

    `OTHER` days late leave the state as it was.
    """
    states, span, params = loans.states, world.span, world.params
    nth, level = span.month - plan.first_month, states[row, LEVEL_MINOR]
    other = MissedDue(i64(OTHER), i64(0), i64(0), 0)
    if not has_no_nil_instalment(plan, level) or not is_on_schedule(plan, states, row, nth):
        return other
    due, k, loan, hazard = due_day(plan, nth), i64(NEVER), loans.loan[row], loans.hazard[row]
    if hazard >= 0:
        at_its_due = at_due(hazard, nth, plan.instalments, params.early_ppm)
        k = lateness(draws.payment, loan, span.month, at_its_due, params.dues[2], world)
    holder = Holder(i64(loans.model[row]), i64(loans.trigger_days[row]))
    claim, off = claim_days(due, holder, rules)
    if k < 0 or min(claim, off) <= span.last:
        return other
    pays = due + k <= span.last
    provider, booked = notice_of(draws.notice, due + k, params)
    balance = states[row, BALANCE]
    principal, interest, fees = instalment(plan, nth, balance, level)
    amount = principal + interest + fees
    fee_on, fee = late_fee(due, amount, rules)
    if fee_on > min(due + k, span.last):
        fee = i64(0)
    if amount <= 0:
        return other
    if pays and (
        booked > span.last or not pays_one_instalment(plan, nth, balance, amount + fee)
    ):  # fmt: skip
        return other
    begin = at
    if fee > 0:
        at = write_fact(facts, at, loan, fee_on, _FEE_CHARGED, fee, _LATE_FEE, fee_ref(nth), fee_on)
    if pays:
        at = write_fact(
            facts, at, loan, due + k, _PAID, amount + fee, provider, span.month * 256, booked
        )
        pay_instalment(plan, states, row, nth, principal, interest, fees)
        pay_late_fee(states, row, fee)
        return MissedDue(k, principal, i64(0), at - begin)
    charge_late_fee(states, row, fee)
    return MissedDue(i64(NEVER), principal, amount + fee, at - begin)
