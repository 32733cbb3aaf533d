"""Loans taken through a month, compiled: facts, states, tape and dues in one pass, in place.

A loan that pays as planned goes the short way of `calm_kernel`, one that has just missed a due that
of `late_kernel`. Any other is served and folded as `serve_kernel` and `month_kernel` do it. One
with a payment that is known only after the month is set apart: its state stays, because it has to
be folded again when the notice comes.
"""

from __future__ import annotations

import numpy as np

from usance.base.ageing import LAST_BUCKET
from usance.base.ageing_kernel import ageing_bucket
from usance.base.arrays import I8, I16, I32, I64, U64, i64, u64
from usance.base.codes import FactKind, Status
from usance.base.compiled import kernel
from usance.loan.kernel.arrays import FactArrays, Plan, State, TermArrays
from usance.loan.kernel.batch import plan_at, record_refusal
from usance.loan.kernel.facts import refuse_amount
from usance.loan.kernel.fold import COVERED, IS_DISBURSED, IS_SETTLED, META, RECOVERED, SLOTS
from usance.loan.kernel.plan import MONTH, STARTS, P, due_day, month_of
from usance.loan.kernel.refusals import OK
from usance.twin.month import month_kernel as m
from usance.twin.month.merge_facts_kernel import Paid, Told, copy_fact
from usance.twin.month.month_kernel import (
    NOTE_PREPAID,
    NOTE_WORST,
    fold_month,
    is_unpaid,
    look_back,
    stand,
)
from usance.twin.month.newly_delinquent_kernel import NOT_LATE, late_loan
from usance.twin.month.on_schedule_kernel import NOT_CALM, PAYS, PAYS_LAST, SETTLES, calm_loan
from usance.twin.month.serve_kernel import serve_loan
from usance.world.behaviour_kernel import BY_NOTICE, BY_PAYMENT, NEVER
from usance.world.draw_kernel import AHEAD, draw_ahead

Loans = tuple[I64, I8, I16, I32, I16, I16, I16]
"""Loan, model, trigger, hazard, source, cell, and worst days past due, which grow."""
Ends = tuple[I16, I8, I8, I64, I64, I64, I64, I64, I64]
"""Days past due, bucket, status, unpaid principal, what is past due, principal of those ever beyond
30 and 180 days, prepaid, recovered; all of them zero before they are written."""
Room = tuple[State, I64, I64, I64, I64, I64, U64, I64, I64]
"""Work space of a thread: a state, due facts, payments, notes, stops, the dues of one loan, the
draws of the next loans (of their dues, and of the notices of payment), rows left for later, and by
day and cell what was due and paid on the day."""

_ACTIVE, _CLOSED, _CHARGED_OFF = int(Status.ACTIVE), int(Status.CLOSED), int(Status.CHARGED_OFF)
_PAID, _RECOVERED = int(FactKind.PAID), int(FactKind.RECOVERED)
_DUE, _OVERDUE, _COLLECTED, _FIRST, _UNPAID7, _UNPAID30 = range(6)
MONTHS = 3
"""Dues are summed for a month and the two before it."""
MAX_DAYS_PAST_DUE = 32_767


@kernel(inline=True)
def add_later(
    day: int, dues: I64, place: int, cell: int, month: int, sure: I64, open_still: I64
) -> None:
    """What became of a missed due, among what is sure if its thirty days are over."""
    if day < 0:
        return
    due_month = month_of(day)
    back = due_month - month + MONTHS - 1
    if back < 0:
        return
    sums = sure if dues[place + 3] == 1 else open_still
    nth = day - STARTS[due_month]
    sums[back, nth, cell, _COLLECTED] += dues[place]
    sums[back, nth, cell, _UNPAID7] += dues[place + 1]
    sums[back, nth, cell, _UNPAID30] += dues[place + 2]


@kernel(inline=True)
def add_dues(dues: I64, cell: int, month: int, first: int, sure: I64, open_still: I64) -> None:
    """What one loan adds to the sums of dues."""
    if dues[m.DUE_ON] >= 0:
        own = sure[MONTHS - 1, dues[m.DUE_ON] - first, cell]
        own[_DUE] += dues[m.DUE]
        own[_OVERDUE] += dues[m.OVERDUE]
        own[_FIRST] += dues[m.FIRST]
    add_later(dues[m.OLD_DAY], dues, m.OLD_PAID, cell, month, sure, open_still)
    add_later(dues[m.DUE_ON], dues, m.NEW_PAID, cell, month, sure, open_still)


@kernel(inline=True)
def set_apart(
    known: Told, begun: int, at: int, last: int, coming: Told, found: int
) -> tuple[int, int]:
    """Facts of one loan that are known only later are taken out; the places after both kinds."""
    kept = begun
    for place in range(begun, at):
        if known[5][place] > last:
            copy_fact(known, place, coming, found)
            found += 1
        else:
            if kept < place:
                copy_fact(known, place, known, kept)
            kept += 1
    return kept, found


@kernel(inline=True)
def write_end(
    row: int, dpd: int, status: int, owed: int, past_due: int, worst: int, prepaid: int,
    recovered: int, ends: Ends,
) -> None:  # fmt: skip
    """Where a loan stands at the month's end."""
    ends[0][row] = min(dpd, MAX_DAYS_PAST_DUE)
    ends[1][row] = LAST_BUCKET if status == _CHARGED_OFF else ageing_bucket(dpd)
    ends[2][row], ends[3][row], ends[4][row] = status, owed, past_due
    if dpd > 0 or status == _CHARGED_OFF:
        ends[5][row] = owed if worst > 30 else 0
        ends[6][row] = owed if worst > 180 else 0
    ends[7][row], ends[8][row] = prepaid, recovered


@kernel(inline=True)
def fold_row(
    plan: Plan, row: int, room: Room, states: I64, watches: I64, loans: Loans, arrays: FactArrays,
    begun: int, at: int, month: int, first: int, last: int, ends: Ends, sure: I64,
    open_still: I64, released: I64,
) -> int:  # fmt: skip
    """One loan's facts folded into its state, with all that is told of the month."""
    state, notes, stops, dues = room[0], room[3], room[4], room[5]
    for slot in range(SLOTS):
        state[slot] = states[row, slot]
    notes[NOTE_WORST], notes[NOTE_PREPAID] = loans[6][row], 0
    refusal = fold_month(
        plan, state, arrays, begun, at, month, last, watches[row], dues, notes, stops,
        released[loans[4][row]], first,
    )  # fmt: skip
    status, dpd, past_due = stand(plan, state, last)
    owed = plan[P] - state[COVERED] if state[META] & IS_DISBURSED else 0
    worst = max(notes[NOTE_WORST], dpd)
    write_end(
        row, dpd, status, owed, past_due, worst, notes[NOTE_PREPAID],
        state[RECOVERED] - states[row, RECOVERED], ends,
    )  # fmt: skip
    loans[6][row] = min(worst, MAX_DAYS_PAST_DUE)
    add_dues(dues, loans[5][row], month, first, sure, open_still)
    for slot in range(SLOTS):
        states[row, slot] = state[slot]
    return refusal


@kernel(inline=True)
def write_calm(
    plan: Plan, row: int, how: int, day: int, principal: int, early: int, states: I64,
    loans: Loans, month: int, first: int, ends: Ends, met: I64, sure: I64, released: I64,
) -> None:  # fmt: skip
    """What is told of a loan that went the short way.

    Nearly all dues are met, hence sums of their own, a sixth of the others' size.
    """
    ends[3][row] = plan[P] - states[row, COVERED]
    released[u64(loans[4][row]), u64(day - first)] += principal + early
    if how >= SETTLES:
        ends[2][row], ends[7][row] = _CLOSED, early
    nth, cell = month - plan[MONTH], u64(loans[5][row])
    due_on = u64(due_day(plan, nth) - first)
    met[due_on, cell] += principal
    if nth == 0:
        sure[MONTHS - 1, due_on, cell, _FIRST] += plan[P]


@kernel(inline=True)
def clear(start: int, stop: int, ends: Ends) -> None:
    """Zero the ends of some loans, just before they are written, so that they stay in the cache."""
    for each in range(start, stop):
        row = u64(each)
        ends[0][row], ends[1][row], ends[2][row], ends[3][row], ends[4][row] = 0, 0, 0, 0, 0
        ends[5][row], ends[6][row], ends[7][row], ends[8][row] = 0, 0, 0, 0


@kernel(inline=True)
def calm_rows(
    start: int, stop: int, others: I64, terms: TermArrays, states: I64, watches: I64, loans: Loans,
    month: int, first: int, begun: U64, drawn: U64, knobs: I64, paid: Paid, ends: Ends, met: I64,
    sure: I64, released: I64,
) -> int:  # fmt: skip
    """Loans that are calm; how many others there are, whose rows are listed.

    They are left for later, because a processor guesses well what always goes the same way.
    """
    left = 0
    for each in range(start, stop):
        row, nth = u64(each), u64(each - start)
        if watches[row, m.W_DAY] < 0:
            plan = plan_at(terms, each)
            how, day, principal, early = calm_loan(
                plan, states, row, loans[0][row], loans[3][row], month, first, begun,
                drawn[0, nth], drawn[1, nth], knobs, paid,
            )  # fmt: skip
            if how != NOT_CALM:
                write_calm(plan, row, how, day, principal, early, states, loans, month, first,
                           ends, met, sure, released)  # fmt: skip
                continue
        others[u64(left)] = each
        left += 1
    return left


@kernel(inline=True)
def write_late(
    plan: Plan, row: int, k: int, principal: int, past_due: int, states: I64, watch: I64,
    loans: Loans, month: int, first: int, last: int, ends: Ends, sure: I64, open_still: I64,
    released: I64,
) -> None:  # fmt: skip
    """What is told of a loan that missed its due: its end, what came back, and a new watch."""
    nth = month - plan[MONTH]
    due, is_first = due_day(plan, nth), nth == 0
    pays, is_over = k < NEVER, states[row, META] & IS_SETTLED != 0
    dpd = 0 if pays else last - due
    worst = max(loans[6][row], k - 1 if pays else dpd)
    owed = plan[P] - states[row, COVERED]
    write_end(row, dpd, _CLOSED if is_over else _ACTIVE, owed, past_due, worst, 0, 0, ends)
    loans[6][row] = min(worst, MAX_DAYS_PAST_DUE)
    if pays:
        released[u64(loans[4][row]), u64(due + k - first)] += principal
    if principal == 0 and not is_first:
        return
    done, is_known = is_over or due + m.AFTER_30 <= last, due + m.AFTER_7 <= last
    whole = plan[P] if is_first else i64(0)
    unpaid = i64(0) if pays else whole
    after_7 = 1 if is_first and k > m.AFTER_7 else 0
    watch[m.W_DAY] = -1 if done else due
    watch[m.W_OVERDUE], watch[m.W_FIRST] = principal, whole
    watch[m.W_PAID] = states[row, COVERED] - (principal if pays else 0)
    watch[m.W_UNPAID7] = after_7 if is_known else -1
    own = sure[MONTHS - 1, u64(due - first), u64(loans[5][row])]
    own[_DUE] += principal
    own[_OVERDUE] += principal
    own[_FIRST] += whole
    if not done:
        own = open_still[MONTHS - 1, u64(due - first), u64(loans[5][row])]
    own[_COLLECTED] += principal if pays else 0
    own[_UNPAID7] += whole * after_7 if is_known else unpaid
    own[_UNPAID30] += unpaid


@kernel(inline=True)
def late_row(
    plan: Plan, row: int, states: I64, watches: I64, loans: Loans, month: int, first: int,
    last: int, rules: I64, begun: U64, paying: np.uint64, notice: np.uint64, knobs: I64,
    days: I16, known: Told, at: int, ends: Ends, met: I64, sure: I64, open_still: I64,
    released: I64,
) -> int:  # fmt: skip
    """Take a loan that just missed its due, or is told of late, through the month.

    How many facts it has, or `NOT_LATE` if it is another kind of loan and nothing was done.
    """
    if watches[row, m.W_DAY] >= 0:
        return NOT_LATE
    k, principal, past_due, found = late_loan(
        plan, states, row, loans[0][row], loans[1][row], loans[2][row], loans[3][row], month, last,
        begun, paying, notice, rules, knobs, days, known, at,
    )  # fmt: skip
    if k == NOT_LATE:
        return NOT_LATE
    if k == 0:  # on its day, told of later in the month
        how = PAYS_LAST if states[row, META] & IS_SETTLED else PAYS
        day = due_day(plan, month - plan[MONTH])
        write_calm(plan, row, how, day, principal, 0, states, loans, month, first, ends, met, sure,
                   released)  # fmt: skip
    else:
        write_late(
            plan, row, k, principal, past_due, states, watches[row], loans, month, first, last,
            ends, sure, open_still, released,
        )  # fmt: skip
    return found


@kernel(inline=True)
def fold_unpaid(
    plan: Plan, row: int, room: Room, states: I64, watch: I64, loans: Loans, arrays: FactArrays,
    before: int, at: int, month: int, first: int, last: int, ends: Ends, sure: I64,
    open_still: I64,
) -> bool:  # fmt: skip
    """`fold_row` for a loan in arrears since before the month that pays nothing in it.

    Nothing of what is due or paid changes then, and the state in the work space, where the month's
    facts are made, is that of the month's end. Whether it is like this; if not, nothing is done.
    """
    state, dues = room[0], room[5]
    for place in range(before, at):  # what is refused is told by `fold_row`
        kind = arrays[2][place]
        if kind in (_PAID, _RECOVERED) or refuse_amount(kind, arrays[3][place]) != OK:
            return False
    status, dpd, past_due = stand(plan, state, last)
    if dpd <= last - first:  # what is overdue fell due in this month, or nothing is
        return False
    worst = max(loans[6][row], dpd)
    write_end(row, dpd, status, plan[P] - state[COVERED], past_due, worst, 0, 0, ends)
    loans[6][row] = min(worst, MAX_DAYS_PAST_DUE)
    day = watch[m.W_DAY]
    if day >= 0:
        if watch[m.W_UNPAID7] < 0:  # its seven days are over: it is from before the month
            watch[m.W_UNPAID7] = 1 if is_unpaid(plan, state) else 0
        look_back(plan, state, watch, dues, m.OLD_PAID, day + m.AFTER_30 <= last)
        add_later(day, dues, m.OLD_PAID, loans[5][row], month, sure, open_still)
    for slot in range(SLOTS):
        states[row, slot] = state[slot]
    return True


@kernel
def through_rows(
    start: int, stop: int, room: Room, terms: TermArrays, states: I64, watches: I64, loans: Loans,
    month: int, first: int, last: int, rules: I64, begun: U64, knobs: I64, days: I16,
    paid: Paid, known: Told, coming: Told, apart: I64, offsets: I64, ends: Ends, sure: I64,
    open_still: I64, released: I64, refused: I64,
) -> tuple[int, int, int, int]:  # fmt: skip
    """Loans through a month: how many are calm; of others the facts known and coming, and loans."""
    state, due, pay, drawn, others, met = room[0], room[1], room[2], room[6], room[7], room[8]
    arrays = (offsets, known[0], known[1], known[2], known[3])
    calm = at = found = few = 0
    for begin in range(start, stop, AHEAD):
        clear(begin, min(stop, begin + AHEAD), ends)
        draw_ahead(begun[BY_PAYMENT], loans[0], begin, stop, month * 256, drawn[0])
        draw_ahead(begun[BY_NOTICE], loans[0], begin, stop, month * 256, drawn[1])
        left = calm_rows(
            begin, min(stop, begin + AHEAD), others, terms, states, watches, loans, month, first,
            begun, drawn, knobs, paid, ends, met, sure, released,
        )  # fmt: skip
        calm += min(stop, begin + AHEAD) - begin - left
        for place in range(left):
            row = others[u64(place)]
            plan, before = plan_at(terms, row), at
            late = late_row(
                plan, u64(row), states, watches, loans, month, first, last, rules, begun,
                drawn[0, row - begin], drawn[1, row - begin], knobs, days, known, at, ends, met,
                sure, open_still, released,
            )  # fmt: skip
            if late != NOT_LATE:
                paid[0][row] = late
                at += late
                continue
            for slot in range(SLOTS):
                state[slot] = states[row, slot]
            at = serve_loan(
                plan, state, loans[0][row], loans[1][row], loans[2][row], loans[3][row],
                drawn[0, row - begin], month, first, last, rules, begun, knobs, days, due, pay,
                known, arrays, at,
            )  # fmt: skip
            at, more = set_apart(known, before, at, last, coming, found)
            paid[0][row] = at - before
            if more > found:
                found = more
                apart[few] = row
                few += 1
                continue
            if not fold_unpaid(
                plan, row, room, states, watches[row], loans, arrays, before, at, month, first,
                last, ends, sure, open_still,
            ):  # fmt: skip
                record_refusal(refused, row, fold_row(
                    plan, row, room, states, watches, loans, arrays, before, at, month, first,
                    last, ends, sure, open_still, released,
                ))  # fmt: skip
    return calm, at, found, few
