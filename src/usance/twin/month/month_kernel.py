"""A month's facts folded into loans, compiled: states, tape and dues on the way.

The fold stops at the days that metrics ask about: the eve and the end of the month's due day, and
the seventh and thirtieth day after a due that was missed. What is missed is watched until its
thirtieth day, which may lie one or two months on; a loan has one such watch, because the next due
counts only if nothing is overdue before it.
"""

from __future__ import annotations

import numpy as np

from usance.base.ageing import LAST_BUCKET
from usance.base.ageing_kernel import ageing_bucket
from usance.base.arrays import I64, i64
from usance.base.codes import FactKind, Status
from usance.base.compiled import kernel
from usance.loan.kernel.arrays import FactArrays, Plan, State
from usance.loan.kernel.batch import plan_at, record_refusal
from usance.loan.kernel.fold import BEFORE_FIRST_FACT, fold_facts
from usance.loan.kernel.plan import due_day, instalment
from usance.loan.kernel.state import (
    BALANCE,
    COVERED,
    IS_CHARGED_OFF,
    IS_DISBURSED,
    IS_SETTLED,
    LEVEL_MINOR,
    META,
    PAID_MASK,
    PENALTY_OPEN,
    RECOVERED,
    SLOTS,
    due_to_date,
)
from usance.service.servicing_kernel import NEVER, open_instalment
from usance.twin.month.month_arrays import LoanArrays, MonthEnd, WorkSpace
from usance.world.behaviour_kernel import MonthSpan

DUE_ON, DUE, OVERDUE, FIRST, OLD_DAY, OLD_PAID, OLD_7, OLD_30, OLD_DONE = range(9)
NEW_PAID, NEW_7, NEW_30, NEW_DONE, COUNTED = 9, 10, 11, 12, 13
DUES = 14
"""The columns of what a loan adds to the sums of dues: the month's own, and its watches; and all
principal due by the month's due day, if that due counts."""

W_DAY, W_OVERDUE, W_PAID, W_FIRST, W_UNPAID7 = range(5)
WATCH = 5
"""The columns of a watch: due day or -1, what was overdue, paid by then, principal if it is the
first due, and whether that was unpaid after seven days (-1 not yet known)."""

NOTE_WORST, NOTE_PREPAID = 0, 1
AFTER_7, AFTER_30 = 7, 30
_PAID = int(FactKind.PAID)
_ACTIVE, _CLOSED, _CHARGED_OFF = int(Status.ACTIVE), int(Status.CLOSED), int(Status.CHARGED_OFF)
MAX_DAYS_PAST_DUE = 32_767
_OLD_7, _OLD_30, _EVE, _DUE, _NEW_7, _NEW_30 = range(6)


def fold_space() -> tuple[I64, I64]:
    """Space for the notes of one loan and for the days to stop at."""
    return np.zeros(2, np.int64), np.empty(6, np.int64)


@kernel
def principal_by(plan: Plan, state: State, day: int) -> int:
    """Scheduled principal that falls due by a day, paid or not."""
    balance = plan.principal
    for k in range(plan.instalments):
        if due_day(plan, k) > day:
            break
        balance -= instalment(plan, k, balance, state[LEVEL_MINOR])[0]
    return plan.principal - balance


@kernel(inline=True)
def prepaid_on(plan: Plan, state: State, before: int, day: int) -> int:
    """Principal that a day's payments met before it was due."""
    after, k = state[COVERED], state[META] & PAID_MASK
    if not state[META] & IS_SETTLED:
        paid_up = k == 0 or due_day(plan, k - 1) <= day
        inside = after <= plan.principal - state[BALANCE] or (
            k < plan.instalments and due_day(plan, k) <= day
        )
        if paid_up and inside:
            return 0
    early: int = max(0, after - max(before, principal_by(plan, state, day)))
    return early


@kernel(inline=True)
def fold_until(
    plan: Plan, facts: FactArrays, at: int, stop: int, until: int, work: WorkSpace, released: I64,
    first: int,
) -> tuple[int, int]:  # fmt: skip
    """Facts up to a day, day by day, with the worst days past due and what was paid early.

    Returns the place after them and the reason of a refusal. Principal that came back is added to
    the place of its day.
    """
    state, notes = work.state, work.notes
    while at < stop and facts[1][at] <= until:
        day, end, pays = i64(facts[1][at]), at, False
        while end < stop and facts[1][end] == day:
            pays = pays or facts[2][end] == _PAID
            end += 1
        k = state[META] & PAID_MASK
        if state[META] & IS_DISBURSED and k < plan.instalments and due_day(plan, k) < day - 1:
            k, _ = open_instalment(plan, state)
            if k < plan.instalments:
                notes[NOTE_WORST] = max(notes[NOTE_WORST], day - 1 - due_day(plan, k))
        before = state[COVERED]
        refusal = fold_facts(plan, state, state[SLOTS:], facts, at, end, BEFORE_FIRST_FACT, until)
        if refusal != 0:
            return at, refusal
        if pays:
            notes[NOTE_PREPAID] += prepaid_on(plan, state, before, day)
        if state[COVERED] > before:
            released[min(max(day - first, 0), len(released) - 1)] += state[COVERED] - before
        at = end
    return at, 0


@kernel(inline=True)
def is_unpaid(plan: Plan, state: State) -> bool:
    """True if not even the first instalment is paid."""
    return state[META] & (PAID_MASK | IS_SETTLED) == 0 and open_instalment(plan, state)[0] == 0


@kernel
def due_by(plan: Plan, state: State, nth: int, day: int) -> tuple[int, int]:
    """Principal that instalment `nth`, due on a day, asks for, and all that is due by then."""
    if state[META] & PAID_MASK == nth:
        balance = state[BALANCE]
        principal = instalment(plan, nth, balance, state[LEVEL_MINOR])[0]
        return principal, plan.principal - balance + principal
    whole = principal_by(plan, state, day)
    return whole - principal_by(plan, state, day - 1), whole


@kernel(inline=True)
def meet_due(plan: Plan, state: State, nth: int, day: int, out: I64) -> bool:
    """Note the month's own due at the end of its day; true if it is to be watched."""
    out[DUE_ON] = day
    if nth == 0:
        out[FIRST] = plan.principal
    if out[COUNTED] > 0 and not state[META] & IS_SETTLED:
        out[OVERDUE] = min(out[DUE], max(0, out[COUNTED] - state[COVERED]))
    return out[OVERDUE] > 0 or (nth == 0 and is_unpaid(plan, state))


@kernel(inline=True)
def collected(state: State, watch: I64) -> int:
    """Part of a missed due that was paid since."""
    paid: int = min(watch[W_OVERDUE], max(0, state[COVERED] - watch[W_PAID]))
    return paid


@kernel
def look_back(plan: Plan, state: State, watch: I64, out: I64, place: int, done: bool) -> None:
    """Outcome of a missed due so far, written from a place on: paid, unpaid after 7 and 30 days."""
    unpaid = watch[W_FIRST] if is_unpaid(plan, state) else i64(0)
    out[place] = collected(state, watch)
    out[place + 1] = unpaid if watch[W_UNPAID7] < 0 else watch[W_FIRST] * watch[W_UNPAID7]
    out[place + 2] = unpaid
    out[place + 3] = 1 if done else 0
    if done:
        watch[W_DAY] = -1


@kernel(inline=True)
def first_stops(plan: Plan, watch: I64, nth: int, stops: I64) -> None:
    """The days of a month at which the fold stops, as they are known at its beginning."""
    for place in range(6):
        stops[place] = NEVER
    if watch[W_DAY] >= 0:
        stops[_OLD_30] = watch[W_DAY] + AFTER_30
        if watch[W_UNPAID7] < 0:
            stops[_OLD_7] = watch[W_DAY] + AFTER_7
    if 0 <= nth < plan.instalments:
        stops[_DUE] = due_day(plan, nth)
        stops[_EVE] = stops[_DUE] - 1


@kernel(inline=True)
def earliest(stops: I64) -> int:
    """The place of the next day to stop at."""
    which = 0
    for place in range(1, 6):
        if stops[place] < stops[which]:
            which = place
    return which


@kernel(inline=True)
def stop_at(
    plan: Plan,
    state: State,
    which: int,
    day: int,
    nth: int,
    watch: I64,
    out: I64,
    stops: I64,
) -> None:
    """Note what metrics ask at the end of a day: the eve of the due, the due, or days after one."""
    place = NEW_PAID if out[DUE_ON] >= 0 and watch[W_DAY] == out[DUE_ON] else OLD_PAID
    if which in (_OLD_7, _NEW_7):
        watch[W_UNPAID7] = 1 if is_unpaid(plan, state) else 0
    elif which in (_OLD_30, _NEW_30):
        look_back(plan, state, watch, out, place, True)
    elif which == _EVE:
        k, _ = open_instalment(plan, state)
        if k < plan.instalments and due_day(plan, k) > day:  # nothing is overdue, something to come
            out[DUE], out[COUNTED] = due_by(plan, state, nth, day + 1)
    elif meet_due(plan, state, nth, day, out):
        if watch[W_DAY] >= 0:  # all of it is paid, or this due would not count
            look_back(plan, state, watch, out, OLD_PAID, True)
            stops[_OLD_7] = stops[_OLD_30] = NEVER
        watch[W_DAY], watch[W_OVERDUE], watch[W_PAID] = (
            day,
            out[OVERDUE],
            state[COVERED],
        )
        watch[W_FIRST], watch[W_UNPAID7] = out[FIRST], -1
        stops[_NEW_7], stops[_NEW_30] = day + AFTER_7, day + AFTER_30


@kernel(inline=True)
def fold_month(
    plan: Plan, facts: FactArrays, at: int, stop: int, span: MonthSpan, watch: I64, out: I64,
    work: WorkSpace, released: I64,
) -> int:  # fmt: skip
    """Fold one month's facts into the state of the work space; `OK` or the reason of a refusal."""
    state, stops = work.state, work.stops
    for place in range(DUES):
        out[place] = 0
    out[DUE_ON] = -1
    out[OLD_DAY] = watch[W_DAY]
    nth = span.month - plan.first_month
    first_stops(plan, watch, nth, stops)
    while True:
        which = earliest(stops)
        day = min(stops[which], span.last)
        at, refusal = fold_until(plan, facts, at, stop, day, work, released, span.first)
        if refusal != 0:
            return refusal
        if stops[which] > span.last:
            break
        stops[which] = NEVER
        stop_at(plan, state, which, day, nth, watch, out, stops)
    if watch[W_DAY] >= 0:
        is_new = watch[W_DAY] == out[DUE_ON]
        is_settled = state[META] & IS_SETTLED != 0
        look_back(plan, state, watch, out, NEW_PAID if is_new else OLD_PAID, is_settled)
    return 0


@kernel(inline=True)
def status_at(plan: Plan, state: State, day: int) -> tuple[int, int, int]:
    """Status of a loan at the end of a day, its days past due, and what is past due."""
    meta = state[META]
    status = _CHARGED_OFF if meta & IS_CHARGED_OFF else _ACTIVE
    if not meta & IS_DISBURSED:
        return _ACTIVE, i64(0), i64(0)
    if meta & IS_SETTLED:
        return _CLOSED if state[PENALTY_OPEN] == 0 else status, i64(0), state[PENALTY_OPEN]
    k, left = open_instalment(plan, state)
    if k == plan.instalments or due_day(plan, k) > day:  # all that has fallen due is paid
        return status, i64(0), state[PENALTY_OPEN]
    if k + 1 < plan.instalments and due_day(plan, k + 1) <= day:
        left = past_due(plan, state, day)
    return status, day - due_day(plan, k), left + state[PENALTY_OPEN]


@kernel
def past_due(plan: Plan, state: State, day: int) -> int:
    """All that has fallen due by a day and is not paid, without penalties."""
    due = due_to_date(plan, state, day)
    left = i64(0)
    for c in range(4):
        left += max(0, due[c] - state[COVERED + c])
    return left


@kernel(inline=True)
def write_end(
    ends: MonthEnd, row: int, at_end: tuple[int, int, int], owed: int, worst: int, prepaid: int,
    recovered: int,
) -> None:  # fmt: skip
    """Write a loan's columns of the tape, from `status_at` and what the month brought."""
    status, dpd, past_due = at_end
    ends.dpd[row] = min(dpd, MAX_DAYS_PAST_DUE)
    ends.bucket[row] = LAST_BUCKET if status == _CHARGED_OFF else ageing_bucket(dpd)
    ends.status[row], ends.principal_minor[row], ends.past_due_minor[row] = status, owed, past_due
    is_late = dpd > 0 or status == _CHARGED_OFF
    ends.net30_minor[row] = owed if is_late and worst > 30 else 0
    ends.net180_minor[row] = owed if is_late and worst > 180 else 0
    ends.prepaid_minor[row], ends.recovered_minor[row] = prepaid, recovered


@kernel(inline=True)
def fold_loan(
    plan: Plan, loans: LoanArrays, row: int, facts: FactArrays, at: int, stop: int,
    span: MonthSpan, out: I64, released: I64, work: WorkSpace, ends: MonthEnd,
) -> int:  # fmt: skip
    """Fold a loan's facts of a month into its row; `OK` or the reason of a refusal.

    State, watch and worst days past due are carried to the month's end, `out` gets its dues.
    """
    state, notes = work.state, work.notes
    for slot in range(SLOTS):
        state[slot] = loans.states[row, slot]
    notes[NOTE_WORST], notes[NOTE_PREPAID] = loans.worst[row], 0
    refusal = fold_month(
        plan, facts, at, stop, span, loans.watches[row], out, work, released[loans.source[row]]
    )
    at_end = status_at(plan, state, span.last)
    owed = plan.principal - state[COVERED] if state[META] & IS_DISBURSED else 0
    worst = max(notes[NOTE_WORST], at_end[1])
    recovered = state[RECOVERED] - loans.states[row, RECOVERED]
    write_end(ends, row, at_end, owed, worst, notes[NOTE_PREPAID], recovered)
    loans.worst[row] = min(worst, MAX_DAYS_PAST_DUE)
    for slot in range(SLOTS):
        loans.states[row, slot] = state[slot]
    return refusal


@kernel
def fold_rows(
    start: int, stop: int, loans: LoanArrays, facts: FactArrays, span: MonthSpan, work: WorkSpace,
    ends: MonthEnd, dues: I64, released: I64, refused: I64,
) -> None:  # fmt: skip
    """Fold the facts of a month into some loans, each with its dues."""
    for row in range(start, stop):
        refusal = fold_loan(
            plan_at(loans.terms, row), loans, row, facts, facts[0][row], facts[0][row + 1], span,
            dues[row], released, work, ends,
        )  # fmt: skip
        record_refusal(refused, row, refusal)
