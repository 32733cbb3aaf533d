"""Fact amounts: the posting amounts that follow from a loan's facts and terms alone.

They need no policy, no estimate and no calendar, so the live ledger posts them with each fact and
a close finds them as they are: `fill_fact_amounts` is the first step of the general amounts too.
A loan's fold does not know what had been paid when its claim was paid out or charged off; that is
kept beside it, in the seven numbers of an `EventMemory`.
"""

from __future__ import annotations

from typing import NamedTuple

from usance.base.arrays import I8, I32, I64, i64
from usance.base.codes import FactKind
from usance.base.compiled import kernel
from usance.base.refusals import pack_refusal
from usance.books.kernel.arithmetic import share_of
from usance.books.kernel.policy_layout import HEAVY, ICE, LIGHT, ON_BALANCE_SHEET, TECH
from usance.books.loans.amounts import AMOUNT as A
from usance.books.loans.amounts import FACT_AMOUNT_PLACES
from usance.books.loans.positions import CHARGE_OFF, FIELDS, NO_EVENT, PAYOUT
from usance.books.loans.positions import POSITION as P
from usance.loan.kernel.arrays import FactArrays, Plan, State, StateArrays, TermArrays
from usance.loan.kernel.batch import plan_at, record_refusal
from usance.loan.kernel.facts import waived_amount
from usance.loan.kernel.fold import fold_facts
from usance.loan.kernel.refusals import OK
from usance.loan.kernel.state import (
    COMPENSATED,
    COVERED,
    IS_DISBURSED,
    IS_SETTLED,
    META,
    OVERPAID,
    PENALTY_PAID,
)

MEMORY_SLOTS = 7
EVENT, BEFORE, WAIVED_GUARANTEE = 0, 1, 6
"""Places of an `EventMemory`: the event, cash by component before it, guarantee fees waived."""
FIELD_COUNT = len(FIELDS)
_COMPENSATED, _CHARGED_OFF = int(FactKind.COMPENSATED), int(FactKind.CHARGED_OFF)
_PENALTY = 4


class BookedLoans(NamedTuple):
    """Model and fees of a column of loans, which the books add to their terms."""

    model: I8
    upfront_fee_minor: I64
    fee_ppm: I32


@kernel
def fill_fact_amounts(at: I64, out: I64) -> None:
    """Fill the fact amounts of one loan from its position; the other amounts stay as they are."""
    model, ended = at[P.model], at[P.event] != NO_EVENT
    if model in (ICE, TECH):
        out[A.referral_fee if model == ICE else A.usage_fee] = share_of(
            at[P.principal], at[P.fee_ppm]
        )
        return
    out[A.overpaid] = at[P.overpaid]
    if model == ON_BALANCE_SHEET:
        out[A.disbursed], out[A.upfront_fee] = at[P.principal], at[P.upfront]
        out[A.principal_received] = at[P.before_principal]
        out[A.interest_received] = at[P.before_interest]
        out[A.fee_instalments_received] = at[P.before_guarantee] + at[P.before_service]
        out[A.penalty_received] = at[P.before_penalty]
        out[A.principal_written_off] = at[P.waived_principal]
        if ended:
            out[A.principal_written_off] = at[P.principal] - at[P.before_principal]
        return
    institution = at[P.paid_principal] + at[P.paid_interest]
    if at[P.event] == PAYOUT:
        ours = at[P.before_principal] + at[P.before_interest]
        out[A.recovered_claim] = institution - ours
        institution = ours
    out[A.to_institution] = institution
    out[A.guarantee_received] = at[P.before_guarantee]
    out[A.service_received] = at[P.before_service]
    out[A.penalty_received] = at[P.paid_penalty]
    cancelled = at[P.waived_guarantee]
    if at[P.is_settled] and not ended:
        cancelled = at[P.guarantee] - at[P.before_guarantee]
    out[A.guarantee_issued], out[A.guarantee_cancelled] = at[P.guarantee], cancelled
    if ended:
        out[A.recovered_guarantee] = at[P.paid_guarantee] - at[P.before_guarantee]
        out[A.recovered_service] = at[P.paid_service] - at[P.before_service]
        out[A.receivable_written_off] = at[P.guarantee] - cancelled - at[P.before_guarantee]
    if model != LIGHT:
        out[A.paid_out] = at[P.compensated]


@kernel(inline=True)
def ends_earning(kind: int, model: int) -> int:
    """The event that a fact is to the books: a payout, a charge-off, or none."""
    if kind == _CHARGED_OFF:
        return CHARGE_OFF
    return PAYOUT if kind == _COMPENSATED and model == HEAVY else NO_EVENT


@kernel
def remember(state: State, event: int, memory: I64) -> None:
    """Keep what had been paid and waived when the loan stopped earning."""
    memory[EVENT] = event
    for c in range(4):
        memory[BEFORE + c] = state[COVERED + c] - waived_amount(state, c)
    memory[BEFORE + _PENALTY] = state[PENALTY_PAID]
    memory[WAIVED_GUARANTEE] = waived_amount(state, 2)


@kernel
def fact_position(plan: Plan, state: State, memory: I64, at: I64) -> None:
    """Fill the fields of a position that fact amounts look at."""
    for c in range(4):
        at[P.paid_principal + c] = state[COVERED + c] - waived_amount(state, c)
    at[P.paid_principal + _PENALTY] = state[PENALTY_PAID]
    at[P.event] = memory[EVENT]
    for c in range(_PENALTY + 1):
        ended = memory[EVENT] != NO_EVENT
        at[P.before_principal + c] = memory[BEFORE + c] if ended else at[P.paid_principal + c]
    at[P.waived_principal] = waived_amount(state, 0)
    at[P.waived_guarantee] = waived_amount(state, 2)
    if memory[EVENT] != NO_EVENT:
        at[P.waived_guarantee] = memory[WAIVED_GUARANTEE]
    at[P.principal], at[P.guarantee] = plan.principal, plan.guarantee_fee
    at[P.is_settled] = 1 if state[META] & IS_SETTLED else 0
    at[P.compensated], at[P.overpaid] = state[COMPENSATED], state[OVERPAID]


@kernel
def fact_amount_rows(
    terms: TermArrays, states: I64, memories: I64, loans: BookedLoans, at: I64, row_out: I64,
    out: I64,
) -> None:  # fmt: skip
    """Fact amounts of each loan from its state; `at` and `row_out` are memory for one loan."""
    for row in range(len(states)):
        for place in range(len(FACT_AMOUNT_PLACES)):
            row_out[FACT_AMOUNT_PLACES[place]] = 0
        if states[row, META] & IS_DISBURSED:
            for field in range(FIELD_COUNT):
                at[field] = 0
            at[P.model], at[P.fee_ppm] = loans.model[row], loans.fee_ppm[row]
            at[P.upfront] = loans.upfront_fee_minor[row]
            fact_position(plan_at(terms, row), states[row], memories[row], at)
            fill_fact_amounts(at, row_out)
        for place in range(len(FACT_AMOUNT_PLACES)):
            out[row, place] = row_out[FACT_AMOUNT_PLACES[place]]


@kernel
def step_with_memory(
    terms: TermArrays, facts: FactArrays, until: int, model: I8, work: I64, states: StateArrays,
    memories: I64, refused: I64,
) -> None:  # fmt: skip
    """Each state and memory stepped to a later day, in place."""
    for row in range(len(memories)):
        state, memory, after = states.values[row], memories[row], i64(states.through[row])
        first, last = facts.offsets[row], facts.offsets[row + 1]
        plan, at = plan_at(terms, row), first
        refusal = OK
        while at < last and facts.day[at] <= until and memory[EVENT] == NO_EVENT:
            event = ends_earning(i64(facts.kind[at]), i64(model[row]))
            at += 1
            if event != NO_EVENT:
                refusal = fold_facts(plan, state, work, facts, first, at, after, until)
                if refusal != OK:
                    break
                remember(state, event, memory)
                first, after = at, i64(facts.day[at - 1]) - 1
        if refusal == OK:
            refusal = fold_facts(plan, state, work, facts, first, last, after, until)
        if refusal != OK:
            refusal = pack_refusal(refusal, first - facts.offsets[row])
        if not record_refusal(refused, row, refusal):
            states.through[row] = max(i64(states.through[row]), until)
