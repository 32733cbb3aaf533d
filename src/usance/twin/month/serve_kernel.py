"""A month of existing loans, compiled: borrowers' payments and servicing events.

The world decides when and what a borrower intends to pay; the amount is what the loan's state says
on that day. A payment whose notice comes after the month's end is written, but not known yet: it
does not touch the state, and the rules act as if nothing had been paid.
"""

from __future__ import annotations

import numpy as np

from usance.base.arrays import I64, i64
from usance.base.codes import FactKind
from usance.base.compiled import kernel
from usance.loan.kernel.arrays import FactArrays, Plan, State
from usance.loan.kernel.batch import plan_at
from usance.loan.kernel.facts import refuse_amount, transfer_claim
from usance.loan.kernel.fold import BEFORE_FIRST_FACT, fold_facts
from usance.loan.kernel.plan import divide_half_up, due_day
from usance.loan.kernel.refusals import OK
from usance.loan.kernel.state import (
    COVERED,
    IS_CHARGED_OFF,
    IS_RECOVERY,
    META,
    PENALTY_OPEN,
    SLOTS,
    due_to_date,
    settlement,
)
from usance.service.servicing_kernel import (
    AMOUNT,
    ARG,
    DAY,
    KIND,
    NEVER,
    REF,
    Days,
    Holder,
    OpenInstalment,
    events_of_loan,
    open_instalment,
)
from usance.service.servicing_rules import ServicingRules
from usance.twin.month.merge_facts_kernel import write_fact
from usance.twin.month.month_arrays import FactBuffer, LoanArrays, WorkSpace
from usance.world.behaviour_kernel import (
    PAYS_DUE,
    PAYS_ONE,
    SETTLES,
    BehaviourInputs,
    DueStatus,
    at_due,
    decide,
    notice_of,
)
from usance.world.draw_kernel import draw_from

MAX_FACTS = 10
"""Facts of one loan in one month: two payments, two fees for each span, two claims."""

_PAID, _RECOVERED = int(FactKind.PAID), int(FactKind.RECOVERED)
_FEE_CHARGED = int(FactKind.FEE_CHARGED)


@kernel(inline=True)
def amount_of(plan: Plan, state: State, day: int, how: int, share_ppm: int) -> int:
    """Amount of an intended payment on a day; 0 if there is nothing to pay."""
    if how == PAYS_DUE:
        due = due_to_date(plan, state, day)
        left = i64(0)
        for c in range(4):
            left += max(0, due[c] - state[COVERED + c])
        return left + state[PENALTY_OPEN] if left > 0 else left
    if how == SETTLES:
        return settlement(plan, state, day)
    if how == PAYS_ONE:
        return open_instalment(plan, state)[1]
    return divide_half_up(settlement(plan, state, day) * share_ppm, 1_000_000)


@kernel(inline=True)
def act_by_rule(state: State, kind: int, amount: int) -> None:
    """Apply a fee or a claim to a state; nothing if it will be refused."""
    if refuse_amount(kind, amount) != OK:
        return
    if kind == _FEE_CHARGED:
        state[PENALTY_OPEN] += amount
    else:
        transfer_claim(state, kind, amount)


@kernel(inline=True)
def apply_events(
    state: State, events: I64, count: int, loan: int, facts: FactBuffer, at: int
) -> int:
    """Write servicing events as facts, booked on their day, and apply them to the state.

    One that is refused is written all the same: the fold names it.
    """
    for n in range(count):
        act_by_rule(state, events[n, KIND], events[n, AMOUNT])
        at = write_fact(
            facts, at, loan, events[n, DAY], events[n, KIND], events[n, AMOUNT], events[n, ARG],
            events[n, REF], events[n, DAY],
        )  # fmt: skip
    return at


@kernel(inline=True)
def serve_loan(
    plan: Plan, loans: LoanArrays, row: int, drawn: np.uint64, world: BehaviourInputs,
    rules: ServicingRules, work: WorkSpace, facts: FactBuffer, at: int,
) -> int:  # fmt: skip
    """Write the facts of one loan in one month, in their order; the place after them.

    `drawn` is the draw of the month's own due. The state of the work space takes the facts in.
    """
    state, events, pay = work.state, work.events, work.payments
    span, params, loan = world.span, world.params, loans.loan[row]
    for slot in range(SLOTS):
        state[slot] = loans.states[row, slot]
    arrays = FactArrays(work.offsets, facts.day, facts.kind, facts.amount, facts.arg)
    holder = Holder(i64(loans.model[row]), i64(loans.trigger_days[row]))
    oldest, unpaid = open_instalment(plan, state)
    oldest_day = due_day(plan, oldest) if oldest < plan.instalments else i64(NEVER)
    nth, hazard = span.month - plan.first_month, i64(loans.hazard[row])
    due_on = due_day(plan, nth) if 0 <= nth < plan.instalments else i64(-1)
    status = DueStatus(
        at_due(hazard, oldest, plan.instalments, params.early_ppm), oldest_day,
        at_due(hazard, nth, plan.instalments, params.early_ppm), due_on,
        state[META] & IS_RECOVERY != 0, state[META] & IS_CHARGED_OFF != 0,
    )  # fmt: skip
    count = decide(drawn, loan, status, world, pay)
    fees_after = claims_after = span.first - 1
    is_clear = oldest_day > span.last  # nothing can fall due by rule any more this month
    for n in range(count):
        day = pay[n, 0]
        if oldest_day < day:  # else nothing is overdue before the payment
            # A claim of the day ranks after a payment and before a recovery.
            by = day if state[META] & IS_RECOVERY else day - 1
            found = events_of_loan(
                plan, state, OpenInstalment(oldest, unpaid), holder, rules, Days(fees_after, day),
                Days(claims_after, by), events,
            )  # fmt: skip
            at = apply_events(state, events, found, loan, facts, at)
            if by < day and state[META] & IS_RECOVERY:  # so it has become one
                found = events_of_loan(
                    plan, state, OpenInstalment(oldest, unpaid), holder, rules, Days(day, day),
                    Days(by, day), events,
                )  # fmt: skip
                at, by = apply_events(state, events, found, loan, facts, at), day
            fees_after, claims_after = day, by
        amount = amount_of(plan, state, day, pay[n, 1], params.recovered_share_ppm)
        if amount <= 0:
            continue
        drawn_notice = draw_from(world.prefix.notice, loan, span.month * 256 + n)
        provider, booked = notice_of(drawn_notice, day, params)
        kind = _RECOVERED if state[META] & IS_RECOVERY else _PAID
        at = write_fact(facts, at, loan, day, kind, amount, provider, span.month * 256 + n, booked)
        if booked > span.last:
            is_clear = False
            break
        # All that is due is paid, and the month's own due is not still to come.
        is_clear = kind == _PAID and pay[n, 1] in (PAYS_DUE, SETTLES) and due_on <= day
        if not is_clear:
            fold_facts(plan, state, state[SLOTS:], arrays, at - 1, at, BEFORE_FIRST_FACT, NEVER)
            oldest, unpaid = open_instalment(plan, state)
    if is_clear:
        return at
    found = events_of_loan(
        plan, state, OpenInstalment(oldest, unpaid), holder, rules, Days(fees_after, span.last),
        Days(claims_after, span.last), events,
    )  # fmt: skip
    return apply_events(state, events, found, loan, facts, at)


@kernel
def serve_rows(
    start: int, stop: int, loans: LoanArrays, world: BehaviourInputs, rules: ServicingRules,
    work: WorkSpace, facts: FactBuffer,
) -> int:  # fmt: skip
    """Write the facts of some loans; how many there are."""
    at = 0
    for row in range(start, stop):
        drawn = draw_from(world.prefix.payment, loans.loan[row], world.span.month * 256)
        at = serve_loan(
            plan_at(loans.terms, row), loans, row, drawn, world, rules, work, facts, at
        )  # fmt: skip
    return at
