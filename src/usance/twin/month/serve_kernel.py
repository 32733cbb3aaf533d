"""A month in the life of existing loans, compiled: what borrowers pay and what falls due by rule.

The world decides when and what a borrower means to pay; the amount is what the loan's state says
on that day. A payment whose notice comes after the month's end is told, but not known yet: it does
not touch the state, and the rules act as if nothing had been paid.
"""

from __future__ import annotations

import numpy as np

from usance.base.arrays import I8, I16, I32, I64, U64, i64
from usance.base.codes import FactKind
from usance.base.compiled import kernel
from usance.loan.kernel.arrays import FactArrays, Plan, State, TermArrays
from usance.loan.kernel.batch import plan_at
from usance.loan.kernel.days import BEFORE_FIRST_FACT, fold_facts
from usance.loan.kernel.facts import refuse_amount, transfer_claim
from usance.loan.kernel.fold import (
    COVERED,
    IS_CHARGED_OFF,
    IS_RECOVERY,
    META,
    PENALTY_OPEN,
    SLOTS,
    due_to_date,
    settlement,
)
from usance.loan.kernel.plan import COUNT, MONTH, divide_half_up, due_day
from usance.loan.kernel.refusals import OK
from usance.service.servicing_kernel import NEVER, due_of_loan, open_instalment
from usance.twin.month.merge_facts_kernel import Told, write_fact
from usance.world.behaviour_kernel import (
    BY_NOTICE,
    BY_PAYMENT,
    EARLY_PPM,
    PAYS_DUE,
    PAYS_ONE,
    SETTLES,
    SHARE_PPM,
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
    """What a borrower pays who means to pay something on a day; 0 if there is nothing to pay."""
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
    """What a fee or a claim does to a loan; nothing if it will be refused."""
    if refuse_amount(kind, amount) != OK:
        return
    if kind == _FEE_CHARGED:
        state[PENALTY_OPEN] += amount
    else:
        transfer_claim(state, kind, amount)


@kernel(inline=True)
def told(state: State, due: I64, found: int, loan: int, facts: Told, at: int) -> int:
    """Facts of service are written, booked on their day, and known at once.

    One that is refused is written all the same: whoever folds it says so.
    """
    for n in range(found):
        act_by_rule(state, due[n, 1], due[n, 2])
        at = write_fact(facts, at, loan, due[n, 0], due[n, 1], due[n, 2], due[n, 3], due[n, 4],
                        due[n, 0])  # fmt: skip
    return at


@kernel(inline=True)
def serve_loan(
    plan: Plan, state: State, loan: int, model: int, trigger: int, hazard: int, paying: np.uint64,
    month: int, first: int, last: int, rules: I64, begun: U64, knobs: I64, days: I16, due: I64,
    pay: I64, facts: Told, arrays: FactArrays, at: int,
) -> int:  # fmt: skip
    """The facts of one loan in one month, in their order; the place after them."""
    oldest, left = open_instalment(plan, state)
    oldest_day = due_day(plan, oldest) if oldest < plan[COUNT] else i64(NEVER)
    nth = month - plan[MONTH]
    due_on = due_day(plan, nth) if 0 <= nth < plan[COUNT] else i64(-1)
    meta, early = state[META], knobs[2, EARLY_PPM]
    count = decide(
        begun, paying, loan, at_due(hazard, oldest, plan[COUNT], early),
        at_due(hazard, nth, plan[COUNT], early), oldest_day, due_on, meta & IS_RECOVERY != 0,
        meta & IS_CHARGED_OFF != 0, month, first, last, knobs, days, pay,
    )  # fmt: skip
    fees_after = claims_after = first - 1
    is_clear = oldest_day > last  # nothing can fall due by rule any more this month
    for n in range(count):
        day = pay[n, 0]
        if oldest_day < day:  # else nothing is overdue before the payment
            # A claim of the day ranks after a payment and before a recovery.
            by = day if state[META] & IS_RECOVERY else day - 1
            found = due_of_loan(
                plan, state, oldest, left, model, trigger, rules, fees_after, day, claims_after, by,
                due,
            )  # fmt: skip
            at = told(state, due, found, loan, facts, at)
            if by < day and state[META] & IS_RECOVERY:  # so it has become one
                found = due_of_loan(
                    plan, state, oldest, left, model, trigger, rules, day, day, by, day, due
                )
                at, by = told(state, due, found, loan, facts, at), day
            fees_after, claims_after = day, by
        amount = amount_of(plan, state, day, pay[n, 1], knobs[2, SHARE_PPM])
        if amount <= 0:
            continue
        drawn = draw_from(begun[BY_NOTICE], loan, month * 256 + n)
        provider, booked = notice_of(drawn, day, knobs[2])
        kind = _RECOVERED if state[META] & IS_RECOVERY else _PAID
        at = write_fact(facts, at, loan, day, kind, amount, provider, month * 256 + n, booked)
        if booked > last:
            is_clear = False
            break
        # All that is due is paid, and the month's own due is not still to come.
        is_clear = kind == _PAID and pay[n, 1] in (PAYS_DUE, SETTLES) and due_on <= day
        if not is_clear:
            fold_facts(plan, state, state[SLOTS:], arrays, at - 1, at, BEFORE_FIRST_FACT, NEVER)
            oldest, left = open_instalment(plan, state)
    if is_clear:
        return at
    found = due_of_loan(
        plan, state, oldest, left, model, trigger, rules, fees_after, last, claims_after, last, due
    )
    return told(state, due, found, loan, facts, at)


@kernel
def serve_rows(
    start: int, stop: int, state: State, due: I64, pay: I64, terms: TermArrays, states: I64,
    loan: I64, model: I8, trigger: I16, hazard: I32, month: int, first: int, last: int,
    rules: I64, begun: U64, knobs: I64, days: I16, facts: Told, offsets: I64,
) -> int:  # fmt: skip
    """The facts of some loans; how many there are."""
    arrays = (offsets, facts[0], facts[1], facts[2], facts[3])
    at = 0
    for row in range(start, stop):
        for slot in range(SLOTS):
            state[slot] = states[row, slot]
        paying = draw_from(begun[BY_PAYMENT], loan[row], month * 256)
        at = serve_loan(
            plan_at(terms, row), state, loan[row], model[row], trigger[row], hazard[row], paying,
            month, first, last, rules, begun, knobs, days, due, pay, facts, arrays, at,
        )  # fmt: skip
    return at
