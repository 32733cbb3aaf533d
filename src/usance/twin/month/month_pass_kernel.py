"""Loans carried through a month in one pass, compiled: facts, states, tape and dues, in place.

A loan that pays as planned takes the short path of `on_schedule_kernel`, one that has just missed a
due that of `newly_delinquent_kernel`. Any other is served and folded as `serve_kernel` and
`month_kernel` do it. One with a payment that is known only after the month is set apart: its state
stays, because it has to be folded again when the notice comes.
"""

from __future__ import annotations

from usance.base.arrays import I64, i64, u64
from usance.base.codes import FactKind, Status
from usance.base.compiled import kernel
from usance.loan.kernel.arrays import FactArrays, Plan
from usance.loan.kernel.batch import plan_at, record_refusal
from usance.loan.kernel.facts import refuse_amount
from usance.loan.kernel.plan import STARTS, due_day, month_of
from usance.loan.kernel.refusals import OK
from usance.loan.kernel.state import COVERED, IS_SETTLED, META, SLOTS
from usance.service.servicing_rules import ServicingRules
from usance.twin.month import month_kernel as m
from usance.twin.month import newly_delinquent_kernel as newly
from usance.twin.month.merge_facts_kernel import copy_fact
from usance.twin.month.month_arrays import (
    DueTotals,
    FactBuffer,
    LoanArrays,
    MonthEnd,
    MonthOutput,
    WorkSpace,
)
from usance.twin.month.month_kernel import (
    MAX_DAYS_PAST_DUE,
    fold_loan,
    is_unpaid,
    look_back,
    status_at,
    write_end,
)
from usance.twin.month.newly_delinquent_kernel import MissedDue, newly_delinquent_loan
from usance.twin.month.on_schedule_kernel import (
    OTHER,
    PAYS,
    PAYS_LAST,
    SETTLES,
    DueDraws,
    OnSchedule,
    on_schedule_loan,
)
from usance.twin.month.serve_kernel import serve_loan
from usance.world.behaviour_kernel import NEVER, BehaviourInputs, MonthSpan
from usance.world.draw_kernel import BLOCK, draw_block

_ACTIVE, _CLOSED = int(Status.ACTIVE), int(Status.CLOSED)
_PAID, _RECOVERED = int(FactKind.PAID), int(FactKind.RECOVERED)
_DUE, _OVERDUE, _COLLECTED, _FIRST, _UNPAID7, _UNPAID30 = range(6)
MONTHS = 3
"""Dues are summed for a month and the two before it."""


@kernel(inline=True)
def add_later(day: int, dues: I64, place: int, cell: int, month: int, totals: DueTotals) -> None:
    """Add the outcome of a missed due, to the final sums if its thirty days are over."""
    if day < 0:
        return
    due_month = month_of(day)
    back = due_month - month + MONTHS - 1
    if back < 0:
        return
    sums = totals.final if dues[place + 3] == 1 else totals.open
    nth = day - STARTS[due_month]
    sums[back, nth, cell, _COLLECTED] += dues[place]
    sums[back, nth, cell, _UNPAID7] += dues[place + 1]
    sums[back, nth, cell, _UNPAID30] += dues[place + 2]


@kernel(inline=True)
def add_dues(dues: I64, cell: int, span: MonthSpan, totals: DueTotals) -> None:
    """Add the dues of one loan to the sums."""
    if dues[m.DUE_ON] >= 0:
        own = totals.final[MONTHS - 1, dues[m.DUE_ON] - span.first, cell]
        own[_DUE] += dues[m.DUE]
        own[_OVERDUE] += dues[m.OVERDUE]
        own[_FIRST] += dues[m.FIRST]
    add_later(dues[m.OLD_DAY], dues, m.OLD_PAID, cell, span.month, totals)
    add_later(dues[m.DUE_ON], dues, m.NEW_PAID, cell, span.month, totals)


@kernel(inline=True)
def set_apart(
    known: FactBuffer, first: int, at: int, last: int, coming: FactBuffer, found: int
) -> tuple[int, int]:
    """Take out the facts of one loan that are known only later; the places after both kinds."""
    kept = first
    for place in range(first, at):
        if known.booked[place] > last:
            copy_fact(known, place, coming, found)
            found += 1
        else:
            if kept < place:
                copy_fact(known, place, known, kept)
            kept += 1
    return kept, found


@kernel(inline=True)
def write_on_schedule(
    plan: Plan, loans: LoanArrays, row: int, paid: OnSchedule, span: MonthSpan, out: MonthOutput
) -> None:
    """Write the month's end and dues of a loan that took the short path."""
    out.ends.principal_minor[row] = plan.principal - loans.states[row, COVERED]
    out.released[u64(loans.source[row]), u64(paid.day - span.first)] += (
        paid.principal + paid.prepaid
    )
    if paid.outcome >= SETTLES:
        out.ends.status[row], out.ends.prepaid_minor[row] = _CLOSED, paid.prepaid
    nth, cell = span.month - plan.first_month, u64(loans.cell[row])
    due_on = u64(due_day(plan, nth) - span.first)
    out.dues.met[due_on, cell] += paid.principal
    if nth == 0:
        out.dues.final[MONTHS - 1, due_on, cell, _FIRST] += plan.principal


@kernel(inline=True)
def clear(start: int, stop: int, ends: MonthEnd) -> None:
    """Zero the ends of some loans, just before they are written, so that they stay in the cache."""
    for each in range(start, stop):
        row = u64(each)
        ends.dpd[row], ends.bucket[row], ends.status[row], ends.principal_minor[row] = 0, 0, 0, 0
        ends.past_due_minor[row], ends.net30_minor[row], ends.net180_minor[row] = 0, 0, 0
        ends.prepaid_minor[row], ends.recovered_minor[row] = 0, 0


@kernel(inline=True)
def on_schedule_rows(
    start: int, stop: int, loans: LoanArrays, world: BehaviourInputs, work: WorkSpace,
    out: MonthOutput,
) -> int:  # fmt: skip
    """Carry the loans on schedule through the month; how many others there are, listed by row.

    Others are left for later: a processor predicts well what always goes the same way.
    """
    left = 0
    for each in range(start, stop):
        row, nth = u64(each), u64(each - start)
        if loans.watches[row, m.W_DAY] < 0:
            plan = plan_at(loans.terms, each)
            draws = DueDraws(work.draws[0, nth], work.draws[1, nth])
            paid = on_schedule_loan(plan, loans, row, draws, world, out.payments)
            if paid.outcome != OTHER:
                write_on_schedule(plan, loans, row, paid, world.span, out)
                continue
        work.others[u64(left)] = each
        left += 1
    return left


@kernel(inline=True)
def write_missed_due(
    plan: Plan, loans: LoanArrays, row: int, missed: MissedDue, span: MonthSpan, out: MonthOutput
) -> None:
    """Write the month's end, dues and new watch of a loan that missed its due."""
    states, watch = loans.states, loans.watches[row]
    nth = span.month - plan.first_month
    due, is_first = due_day(plan, nth), nth == 0
    pays, is_settled = missed.days_late < NEVER, states[row, META] & IS_SETTLED != 0
    dpd = i64(0) if pays else span.last - due
    worst = max(loans.worst[row], missed.days_late - 1 if pays else dpd)
    owed = plan.principal - states[row, COVERED]
    at_end = (_CLOSED if is_settled else _ACTIVE, dpd, missed.past_due)
    write_end(out.ends, row, at_end, owed, worst, 0, 0)
    loans.worst[row] = min(worst, MAX_DAYS_PAST_DUE)
    if pays:
        day = due + missed.days_late
        out.released[u64(loans.source[row]), u64(day - span.first)] += missed.principal
    if missed.principal == 0 and not is_first:
        return
    done, is_known = is_settled or due + m.AFTER_30 <= span.last, due + m.AFTER_7 <= span.last
    whole = plan.principal if is_first else i64(0)
    unpaid = i64(0) if pays else whole
    after_7 = 1 if is_first and missed.days_late > m.AFTER_7 else 0
    watch[m.W_DAY] = -1 if done else due
    watch[m.W_OVERDUE], watch[m.W_FIRST] = missed.principal, whole
    watch[m.W_PAID] = states[row, COVERED] - (missed.principal if pays else 0)
    watch[m.W_UNPAID7] = after_7 if is_known else -1
    own = out.dues.final[MONTHS - 1, u64(due - span.first), u64(loans.cell[row])]
    own[_DUE] += missed.principal
    own[_OVERDUE] += missed.principal
    own[_FIRST] += whole
    if not done:
        own = out.dues.open[MONTHS - 1, u64(due - span.first), u64(loans.cell[row])]
    own[_COLLECTED] += missed.principal if pays else 0
    own[_UNPAID7] += whole * after_7 if is_known else unpaid
    own[_UNPAID30] += unpaid


@kernel(inline=True)
def newly_delinquent_row(
    plan: Plan, loans: LoanArrays, row: int, draws: DueDraws, world: BehaviourInputs,
    rules: ServicingRules, out: MonthOutput, at: int,
) -> int:  # fmt: skip
    """Carry a loan that just missed its due, or whose notice is late, through the month.

    Returns how many facts it has, or `newly.OTHER` if it is another kind of loan and nothing was
    done.
    """
    if loans.watches[row, m.W_DAY] >= 0:
        return newly.OTHER
    missed = newly_delinquent_loan(plan, loans, row, draws, world, rules, out.known, at)
    if missed.days_late == newly.OTHER:
        return newly.OTHER
    if missed.days_late == 0:  # on its day, known later in the month
        outcome = PAYS_LAST if loans.states[row, META] & IS_SETTLED else PAYS
        day = due_day(plan, world.span.month - plan.first_month)
        paid = OnSchedule(outcome, day, missed.principal, i64(0))
        write_on_schedule(plan, loans, row, paid, world.span, out)
    else:
        write_missed_due(plan, loans, row, missed, world.span, out)
    return missed.facts


@kernel(inline=True)
def fold_unpaid(
    plan: Plan, loans: LoanArrays, row: int, facts: FactArrays, first: int, stop: int,
    span: MonthSpan, work: WorkSpace, out: MonthOutput,
) -> bool:  # fmt: skip
    """`fold_row` for a loan in arrears since before the month that pays nothing in it.

    Nothing of what is due or paid changes then, and the state in the work space, where the month's
    facts were applied, is that of the month's end. False if it is another, and nothing was done.
    """
    state, watch = work.state, loans.watches[row]
    for place in range(first, stop):  # a refusal is named by `fold_row`
        kind = facts[2][place]
        if kind in (_PAID, _RECOVERED) or refuse_amount(kind, facts[3][place]) != OK:
            return False
    at_end = status_at(plan, state, span.last)
    dpd = at_end[1]
    if dpd <= span.last - span.first:  # what is overdue fell due in this month, or nothing is
        return False
    worst = max(loans.worst[row], dpd)
    write_end(out.ends, row, at_end, plan.principal - state[COVERED], worst, 0, 0)
    loans.worst[row] = min(worst, MAX_DAYS_PAST_DUE)
    day = watch[m.W_DAY]
    if day >= 0:
        if watch[m.W_UNPAID7] < 0:  # its seven days are over: it is from before the month
            watch[m.W_UNPAID7] = 1 if is_unpaid(plan, state) else 0
        look_back(plan, state, watch, work.dues, m.OLD_PAID, day + m.AFTER_30 <= span.last)
        add_later(day, work.dues, m.OLD_PAID, loans.cell[row], span.month, out.dues)
    for slot in range(SLOTS):
        loans.states[row, slot] = state[slot]
    return True


@kernel(inline=True)
def fold_row(
    plan: Plan, loans: LoanArrays, row: int, facts: FactArrays, first: int, stop: int,
    span: MonthSpan, work: WorkSpace, out: MonthOutput,
) -> None:  # fmt: skip
    """Fold one loan's facts into its row, and add its dues."""
    refusal = fold_loan(
        plan, loans, row, facts, first, stop, span, work.dues, out.released, work, out.ends
    )
    add_dues(work.dues, loans.cell[row], span, out.dues)
    record_refusal(out.refused, row, refusal)


@kernel
def month_pass_rows(
    start: int, stop: int, loans: LoanArrays, world: BehaviourInputs, rules: ServicingRules,
    work: WorkSpace, out: MonthOutput,
) -> tuple[int, int, int, int]:  # fmt: skip
    """Carry loans through a month.

    Returns how many are on schedule; of the others the facts known and coming, and loans apart.
    """
    span, known, counter = world.span, out.known, world.span.month * 256
    facts = FactArrays(work.offsets, known.day, known.kind, known.amount, known.arg)
    on_schedule = at = coming = apart = 0
    for begin in range(start, stop, BLOCK):
        end = min(stop, begin + BLOCK)
        clear(begin, end, out.ends)
        draw_block(world.prefix.payment, loans.loan, begin, stop, counter, work.draws[0])
        draw_block(world.prefix.notice, loans.loan, begin, stop, counter, work.draws[1])
        left = on_schedule_rows(begin, end, loans, world, work, out)
        on_schedule += end - begin - left
        for place in range(left):
            row = work.others[u64(place)]
            plan, first = plan_at(loans.terms, row), at
            draws = DueDraws(work.draws[0, row - begin], work.draws[1, row - begin])
            missed = newly_delinquent_row(plan, loans, u64(row), draws, world, rules, out, at)
            if missed != newly.OTHER:
                out.payments.facts[row] = missed
                at += missed
                continue
            at = serve_loan(plan, loans, row, draws.payment, world, rules, work, known, at)
            at, more = set_apart(known, first, at, span.last, out.coming, coming)
            out.payments.facts[row] = at - first
            if more > coming:
                coming = more
                out.apart[apart] = row
                apart += 1
            elif not fold_unpaid(plan, loans, row, facts, first, at, span, work, out):
                fold_row(plan, loans, row, facts, first, at, span, work, out)
    return on_schedule, at, coming, apart
