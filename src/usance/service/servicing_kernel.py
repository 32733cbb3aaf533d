"""Servicing events of one loan that nobody pays, compiled.

A fee is charged on the day after an instalment's grace, to whoever had not paid it the evening
before; the institution is compensated, the trust's loan bought out and the loan charged off on the
day their days past due are passed, if that day brought no payment either. Fees end with the first
of these claims, so a loan's events are in canonical order by themselves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from usance.base.arrays import I8, I16, I32, I64, i64
from usance.base.codes import FactKind, Fee, FundingModel
from usance.base.compiled import kernel
from usance.loan.bounds import MAX_KERNEL_INSTALMENTS
from usance.loan.kernel.arrays import Plan, State, TermArrays
from usance.loan.kernel.batch import plan_at
from usance.loan.kernel.plan import due_day, guaranteed, instalment
from usance.loan.kernel.state import (
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
from usance.service.servicing_rules import ServicingRules, late_fee

NEVER = 2**31 - 1
"""A day after all others."""
MAX_EVENTS = MAX_KERNEL_INSTALMENTS + 2
"""Events of one loan at once."""
FIRST_REF = 1 << 40
"""References of servicing events begin here, so that none meets a payment's."""
DAY, KIND, AMOUNT, ARG, REF = range(5)
"""Columns of a buffer of events."""

_FEE_CHARGED, _LATE_FEE = int(FactKind.FEE_CHARGED), int(Fee.LATE_FEE)
_COMPENSATED, _BOUGHT_OUT = int(FactKind.COMPENSATED), int(FactKind.BOUGHT_OUT)
_CHARGED_OFF = int(FactKind.CHARGED_OFF)
_HEAVY, _OWN = int(FundingModel.CAPITAL_HEAVY), int(FundingModel.ON_BALANCE_SHEET)


class Holder(NamedTuple):
    """Holder of one claim: its funding model, and the days past due its source waits."""

    model: int
    trigger_days: int


class OpenInstalment(NamedTuple):
    """The oldest instalment with an unpaid part; `COUNT` and 0 if there is none."""

    number: int
    unpaid_minor: int


class Days(NamedTuple):
    """Days after one and up to another."""

    after: int
    until: int


class HeldLoans(NamedTuple):
    """A column of loans with their states, the day each was folded to, and their holders."""

    terms: TermArrays
    states: I64
    through: I32
    model: I8
    trigger_days: I16


class EventArrays(NamedTuple):
    """Events of a column of loans: offsets and counts by loan, then the columns of the events."""

    offsets: I64
    counts: I64
    day: I32
    kind: I8
    amount: I64
    arg: I64
    ref: I64


def event_buffer() -> I64:
    """Empty buffer for the events of one loan, with the columns `DAY` to `REF`."""
    return np.empty((MAX_EVENTS, 5), np.int64)


@kernel
def open_instalment(plan: Plan, state: State) -> tuple[int, int]:
    """The oldest instalment with something unpaid, and how much; `COUNT` and 0 if there is none."""
    if state[META] & IS_SETTLED:
        return plan.instalments, 0
    k = state[META] & PAID_MASK
    balance, interest_so_far = state[BALANCE], state[INTEREST_BEFORE]
    fees, fees_so_far = state[FEES] >> 32, state[FEES] & LOW_32
    while k < plan.instalments:
        before = guaranteed(plan, fees_so_far, fees)
        principal, interest, fee = instalment(plan, k, balance, state[LEVEL_MINOR])
        balance -= principal
        interest_so_far += interest
        fees_so_far += fee
        guarantee = guaranteed(plan, fees_so_far, fees)
        unpaid = (
            min(principal, max(0, plan.principal - balance - state[COVERED]))
            + min(interest, max(0, interest_so_far - state[COVERED + 1]))
            + min(guarantee - before, max(0, guarantee - state[COVERED + 2]))
            + min(
                fee - guarantee + before, max(0, fees_so_far - guarantee - state[COVERED + 3])
            )
        )  # fmt: skip
        if unpaid > 0:
            return k, unpaid
        k += 1
    return k, 0


@kernel(inline=True)
def write_event(out: I64, at: int, day: int, kind: int, amount: int, arg: int, ref: int) -> int:
    """Write an event; the place after it."""
    out[at, DAY], out[at, KIND], out[at, AMOUNT], out[at, ARG], out[at, REF] = (
        day, kind, amount, arg, ref,
    )  # fmt: skip
    return at + 1


@kernel(inline=True)
def fee_ref(k: int) -> int:
    """Reference of the late fee of an instalment."""
    return FIRST_REF + (_FEE_CHARGED << 16) + k + 1


@kernel(inline=True)
def claim_days(due: int, holder: Holder, rules: ServicingRules) -> tuple[int, int]:
    """Days on which an unpaid due makes the claim pass to the platform, and is charged off."""
    passes = holder.model in (_HEAVY, _OWN)
    claim = due + holder.trigger_days + 1 if passes else i64(NEVER)
    return claim, due + rules.charge_off_days + 1


@kernel(inline=True)
def late_fees(
    plan: Plan, state: State, oldest: OpenInstalment, rules: ServicingRules, days: Days, ends: int,
    out: I64,
) -> int:  # fmt: skip
    """Write the late fees of some days, up to the day before fees end; how many there are."""
    at = 0
    k = oldest.number
    while k < plan.instalments:
        day, fee = late_fee(due_day(plan, k), oldest.unpaid_minor, rules)
        if day > days.until or day >= ends:
            break
        if day > days.after:
            if k > oldest.number:  # younger instalments of a loan in arrears are whole
                balance = plan.principal - due_to_date(plan, state, due_day(plan, k) - 1)[0]
                principal, interest, fees = instalment(plan, k, balance, state[LEVEL_MINOR])
                day, fee = late_fee(due_day(plan, k), principal + interest + fees, rules)
            if fee > 0:
                at = write_event(out, at, day, _FEE_CHARGED, fee, _LATE_FEE, fee_ref(k))
        k += 1
    return at


@kernel
def events_of_loan(
    plan: Plan, state: State, oldest: OpenInstalment, holder: Holder, rules: ServicingRules,
    fee_days: Days, claim_span: Days, out: I64,
) -> int:  # fmt: skip
    """Write the events of one loan: fees of one span of days, claims of another; how many."""
    meta = state[META]
    if not meta & IS_DISBURSED or meta & (IS_SETTLED | IS_CHARGED_OFF):
        return 0
    if oldest.number == plan.instalments:
        return 0
    due = due_day(plan, oldest.number)
    if due >= fee_days.until:  # nothing is overdue then
        return 0
    claim, off = claim_days(due, holder, rules)
    at = 0
    if meta & (IS_RECOVERY | IS_BOUGHT_OUT):
        claim = i64(NEVER)  # it has passed already, and fees have ended
    else:
        at = late_fees(plan, state, oldest, rules, fee_days, min(claim, off), out)
    owed = plan.principal - state[COVERED]
    if claim_span.after < claim <= claim_span.until and claim < off:
        if holder.model == _HEAVY:
            interest = due_to_date(plan, state, claim - 1)[1] - state[COVERED + 1]
            at = write_event(out, at, claim, _COMPENSATED, owed + max(0, interest), 0,
                             FIRST_REF + (_COMPENSATED << 16))  # fmt: skip
        else:
            at = write_event(out, at, claim, _BOUGHT_OUT, owed, 0, FIRST_REF + (_BOUGHT_OUT << 16))
    if claim_span.after < off <= claim_span.until:
        at = write_event(out, at, off, _CHARGED_OFF, owed, 0, FIRST_REF + (_CHARGED_OFF << 16))
    return at


@kernel
def event_rows(
    start: int, stop: int, state: I64, buffer: I64, loans: HeldLoans, rules: ServicingRules,
    until: int, out: EventArrays,
) -> None:  # fmt: skip
    """Events of some loans: counted where there is no space for them, else written."""
    for row in range(start, stop):
        for slot in range(SLOTS):
            state[slot] = loans.states[row, slot]
        days, plan = Days(i64(loans.through[row]), until), plan_at(loans.terms, row)
        k, unpaid = open_instalment(plan, state)
        found = events_of_loan(
            plan, state, OpenInstalment(k, unpaid),
            Holder(i64(loans.model[row]), i64(loans.trigger_days[row])), rules, days, days, buffer,
        )  # fmt: skip
        if len(out.day) == 0:
            out.counts[row] = found
        else:
            for n in range(found):
                at = out.offsets[row] + n
                out.day[at], out.kind[at] = buffer[n, DAY], buffer[n, KIND]
                out.amount[at], out.arg[at] = buffer[n, AMOUNT], buffer[n, ARG]
                out.ref[at] = buffer[n, REF]
