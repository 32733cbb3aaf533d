"""What falls due by rule on one loan while nobody pays, compiled.

A fee is charged on the day after an instalment's grace, to whoever had not paid it the evening
before; the institution is compensated, the trust's loan bought out and the loan charged off on the
day their days past due are passed, if that day brought no payment either. Fees end with the first
of these claims, so a loan's due facts stand in canonical order by themselves.
"""

from __future__ import annotations

import numpy as np

from usance.base.arrays import I8, I16, I32, I64, i64
from usance.base.codes import FactKind, Fee, FundingModel
from usance.base.compiled import kernel
from usance.loan.bounds import MAX_KERNEL_INSTALMENTS
from usance.loan.kernel.arrays import Plan, State, TermArrays
from usance.loan.kernel.batch import plan_at
from usance.loan.kernel.fold import (
    BALANCE,
    COVERED,
    FEES,
    INTEREST_BEFORE,
    IS_BOUGHT_OUT,
    IS_CHARGED_OFF,
    IS_DISBURSED,
    IS_RECOVERY,
    IS_SETTLED,
    LEVEL_MINOR,
    LOW_32,
    META,
    PAID_MASK,
    SLOTS,
    due_to_date,
)
from usance.loan.kernel.plan import COUNT, P, divide_half_up, due_day, guaranteed, instalment

NEVER = 2**31 - 1
"""A day after all others."""
MAX = MAX_KERNEL_INSTALMENTS + 2
"""Facts that can fall due on one loan at once."""
REF = 1 << 40
"""References of service's own facts begin here, so that none meets a payment's."""

GRACE, FEE_PPM, OFF_DAYS = range(3)
"""The places of the rules."""

_FEE_CHARGED, _LATE_FEE = int(FactKind.FEE_CHARGED), int(Fee.LATE_FEE)
_COMPENSATED, _BOUGHT_OUT = int(FactKind.COMPENSATED), int(FactKind.BOUGHT_OUT)
_CHARGED_OFF = int(FactKind.CHARGED_OFF)
_HEAVY, _OWN = int(FundingModel.CAPITAL_HEAVY), int(FundingModel.ON_BALANCE_SHEET)


def scratch() -> I64:
    """Room for the due facts of one loan: rows of day, kind, amount, arg and reference."""
    return np.empty((MAX, 5), np.int64)


@kernel
def open_instalment(plan: Plan, state: State) -> tuple[int, int]:
    """The oldest instalment with something unpaid, and how much; `COUNT` and 0 if there is none."""
    if state[META] & IS_SETTLED:
        return plan[COUNT], 0
    k = state[META] & PAID_MASK
    balance, interest_so_far = state[BALANCE], state[INTEREST_BEFORE]
    fees, fees_so_far = state[FEES] >> 32, state[FEES] & LOW_32
    while k < plan[COUNT]:
        before = guaranteed(plan, fees_so_far, fees)
        principal, interest, fee = instalment(plan, k, balance, state[LEVEL_MINOR])
        balance -= principal
        interest_so_far += interest
        fees_so_far += fee
        guarantee = guaranteed(plan, fees_so_far, fees)
        left = (
            min(principal, max(0, plan[P] - balance - state[COVERED]))
            + min(interest, max(0, interest_so_far - state[COVERED + 1]))
            + min(guarantee - before, max(0, guarantee - state[COVERED + 2]))
            + min(
                fee - guarantee + before, max(0, fees_so_far - guarantee - state[COVERED + 3])
            )
        )  # fmt: skip
        if left > 0:
            return k, left
        k += 1
    return k, 0


@kernel(inline=True)
def tell(out: I64, at: int, day: int, kind: int, amount: int, arg: int, ref: int) -> int:
    """Write a fact; the place after it."""
    out[at, 0], out[at, 1], out[at, 2], out[at, 3], out[at, 4] = day, kind, amount, arg, ref
    return at + 1


@kernel(inline=True)
def fee_ref(k: int) -> int:
    """The reference of the late fee of an instalment."""
    return REF + (_FEE_CHARGED << 16) + k + 1


@kernel(inline=True)
def claim_days(due: int, model: int, trigger: int, rules: I64) -> tuple[int, int]:
    """When a due that is not paid makes the claim pass to the platform, and is charged off."""
    claim = due + trigger + 1 if model in (_HEAVY, _OWN) else i64(NEVER)
    return claim, due + rules[OFF_DAYS] + 1


@kernel(inline=True)
def fees_due(
    plan: Plan, state: State, first: int, left: int, rules: I64, ends: int, after: int, until: int,
    out: I64, at: int,
) -> int:  # fmt: skip
    """Late fees of the days after one and until another, up to the day before fees end."""
    k = first
    while k < plan[COUNT]:
        day = due_day(plan, k) + rules[GRACE] + 1
        if day > until or day >= ends:
            break
        if day > after:
            unpaid = left
            if k > first:  # younger instalments of a loan in arrears are whole
                balance = plan[P] - due_to_date(plan, state, due_day(plan, k) - 1)[0]
                principal, interest, fees = instalment(plan, k, balance, state[LEVEL_MINOR])
                unpaid = principal + interest + fees
            fee = divide_half_up(unpaid * rules[FEE_PPM], 1_000_000)
            if fee > 0:
                at = tell(out, at, day, _FEE_CHARGED, fee, _LATE_FEE, fee_ref(k))
        k += 1
    return at


@kernel
def due_of_loan(
    plan: Plan, state: State, k: int, left: int, model: int, trigger: int, rules: I64,
    fees_after: int, fees_until: int, claims_after: int, claims_until: int, out: I64,
) -> int:  # fmt: skip
    """How many facts fall due: fees in one span of days, claims in another.

    `k` is the open instalment, and `left` what is unpaid of it.
    """
    meta = state[META]
    if not meta & IS_DISBURSED or meta & (IS_SETTLED | IS_CHARGED_OFF):
        return 0
    if k == plan[COUNT]:
        return 0
    due = due_day(plan, k)
    if due >= fees_until:  # nothing is overdue then
        return 0
    claim, off = claim_days(due, model, trigger, rules)
    at = 0
    if meta & (IS_RECOVERY | IS_BOUGHT_OUT):
        claim = i64(NEVER)  # it has passed already, and fees have ended
    else:
        at = fees_due(plan, state, k, left, rules, min(claim, off), fees_after, fees_until, out, at)
    owed = plan[P] - state[COVERED]
    if claims_after < claim <= claims_until and claim < off:
        if model == _HEAVY:
            interest = due_to_date(plan, state, claim - 1)[1] - state[COVERED + 1]
            at = tell(out, at, claim, _COMPENSATED, owed + max(0, interest), 0,
                      REF + (_COMPENSATED << 16))  # fmt: skip
        else:
            at = tell(out, at, claim, _BOUGHT_OUT, owed, 0, REF + (_BOUGHT_OUT << 16))
    if claims_after < off <= claims_until:
        at = tell(out, at, off, _CHARGED_OFF, owed, 0, REF + (_CHARGED_OFF << 16))
    return at


@kernel
def due_rows(
    start: int, stop: int, state: I64, out: I64, terms: TermArrays, states: I64, through: I32,
    model: I8, trigger: I16, rules: I64, until: int, offsets: I64, counts: I64, day: I32,
    kind: I8, amount: I64, arg: I64, ref: I64,
) -> None:  # fmt: skip
    """The due facts of some loans: counted where there is no room for them, else written."""
    for row in range(start, stop):
        for slot in range(SLOTS):
            state[slot] = states[row, slot]
        after, plan = through[row], plan_at(terms, row)
        k, left = open_instalment(plan, state)
        found = due_of_loan(
            plan, state, k, left, model[row], trigger[row], rules, after, until, after, until, out
        )
        if len(day) == 0:
            counts[row] = found
        else:
            for n in range(found):
                at = offsets[row] + n
                day[at], kind[at], amount[at] = out[n, 0], out[n, 1], out[n, 2]
                arg[at], ref[at] = out[n, 3], out[n, 4]
