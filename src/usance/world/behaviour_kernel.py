"""Payments of one borrower in one month, decided on its first day, compiled.

A due that is paid late is paid `k` days late by a draw keyed by its loan and the month it fell due
in. If that day lies in the next month, the next month draws the same number again; nothing needs
to be remembered.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from usance.base.ageing import LAST_BUCKET
from usance.base.ageing_kernel import ageing_bucket
from usance.base.arrays import I8, I16, I32, I64, U64, i64, u64
from usance.base.compiled import kernel
from usance.base.draws import CERTAIN
from usance.base.ids import USER_SHIFT
from usance.loan.kernel.plan import month_of
from usance.world.draw_kernel import BLOCK, chance, draw_block, draw_from


class MonthSpan(NamedTuple):
    """A month by its number, and its first and last day."""

    month: int
    first: int
    last: int


class StreamPrefixes(NamedTuple):
    """Prefixes of the streams of random numbers that behaviour draws from."""

    payment: np.uint64
    cure: np.uint64
    recovery: np.uint64
    notice: np.uint64


class DueChances(NamedTuple):
    """Outcomes of a month's dues, as thresholds of 53 bits."""

    prepay: int
    failed: int
    late: int
    collected: tuple[int, int, int, int]
    """Of those late, paid within thirty days, by arm of a strategy; all the same without arms."""


class BehaviourParams(NamedTuple):
    """Parameters of a month: chances as thresholds of 53 bits, then plain numbers."""

    dues: tuple[DueChances, DueChances, DueChances]
    """Of the month two before, the month before and the month itself."""
    cure: tuple[int, int, int, int, int]
    """By bucket, from 31–60 days past due on."""
    partial: int
    recovery: int
    late_notice: int
    recovered_share_ppm: int
    late_notice_days: int
    providers: int
    early_ppm: int


class ArmDraw(NamedTuple):
    """Draw of a borrower's arm: its prefix, and the end of each arm but the last, of 53 bits."""

    prefix: np.uint64
    ends: tuple[int, int, int]


class BehaviourInputs(NamedTuple):
    """Everything that decides how borrowers pay in a month."""

    span: MonthSpan
    prefix: StreamPrefixes
    params: BehaviourParams
    days_late: I16
    """Inverse table of days late."""
    arms: ArmDraw


class DueStatus(NamedTuple):
    """A loan on the evening before a month, as far as its borrower's decision depends on it."""

    hazard: int
    """Of the oldest unpaid instalment; a negative hazard never pays."""
    oldest: int
    """Due day of the oldest unpaid instalment."""
    own_hazard: int
    own_due: int
    """Of the month's own due, -1 if it has none."""
    in_recovery: bool
    is_charged_off: bool


PAYS_DUE, SETTLES, PAYS_ONE, RECOVERS = 1, 2, 3, 4
"""Intentions of a payment: all due, everything, one instalment, a part of the claim."""

SETTLEMENT, NEVER = -1, 99
"""Answers of `lateness` beside days."""
DAYS = 1024
"""Steps of the table of days late."""
MAX_PAYMENTS, MAX_ARMS = 2, 4
STEP = 8
"""A payment in one number: its day times this, and what it means to pay."""


_CERTAIN = CERTAIN
_LOW = np.uint64(0x7FF)
"""The eleven bits of a draw that `chance` leaves out."""


@kernel(inline=True)
def at_due(hazard: int, k: int, count: int, early_ppm: int) -> int:
    """The hazard of the k-th due (from 0): early ones are likelier late, last ones as much less."""
    if early_ppm == 0 or count < 2 or hazard < 0:
        return hazard
    last = count - 1
    if k > last:  # all dues are paid, and something else is open
        return hazard * (1_000_000 + early_ppm * (last - 2 * k) // last) // 1_000_000
    # With floor(early × (last − 2k) ÷ last) = floor(2 × early × (last − k) ÷ last) − early, nothing
    # is negative.
    more = i64(u64(2 * early_ppm * (last - k)) // u64(last))
    return i64(u64(hazard * (1_000_000 - early_ppm + more)) // u64(1_000_000))


@kernel(inline=True)
def is_on_time(u: int, hazard: int, chances: DueChances) -> bool:
    """True if a due whose first chance is `u` is paid on its day."""
    # Threshold × hazard would not fit 64 bits: twenty low bits of the threshold are left out. And
    # u ≥ floor(late × hazard ÷ million) is asked without the division.
    steps: int = (u - chances.prepay - chances.failed >> 20) + 1
    enough: bool = steps * 1_000_000 > (chances.late >> 20) * hazard
    return enough


@kernel(inline=True)
def notice_of(drawn: np.uint64, day: int, params: BehaviourParams) -> tuple[int, int]:
    """The provider of a day's payment, and the day on which its notice comes."""
    low = i64(drawn & _LOW)
    booked = day
    if chance(drawn) < params.late_notice:
        booked += 1 + (low * params.late_notice_days >> 11)
    return 1 + i64(u64(low) % u64(params.providers)), booked


@kernel(inline=True)
def collected_of(loan: int, chances: DueChances, arms: ArmDraw) -> int:
    """Of a borrower's dues that are late, the part paid within thirty days: that of their arm."""
    one, two, three, four = chances.collected
    first, second, third = arms.ends
    if first == _CERTAIN:
        return one
    u = chance(draw_from(arms.prefix, loan >> USER_SHIFT, 0))
    if u < first:
        return one
    if u < second:
        return two
    return three if u < third else four


@kernel(inline=True)
def lateness(
    drawn: np.uint64, loan: int, due_month: int, hazard: int, chances: DueChances,
    world: BehaviourInputs,
) -> int:  # fmt: skip
    """Days after its due day that a due is paid, `NEVER` within thirty, or `SETTLEMENT`."""
    u = chance(drawn)
    if u < chances.prepay:
        return SETTLEMENT
    if u < chances.prepay + chances.failed:
        return 1
    if is_on_time(u, hazard, chances):
        return 0
    v = chance(draw_from(world.prefix.payment, loan, due_month * 256 + 1))
    collected = collected_of(loan, chances, world.arms)
    if v >= collected:
        return NEVER
    return i64(world.days_late[(v >> 20) * DAYS // ((collected >> 20) + 1)])


@kernel(inline=True)
def day_between(prefix: np.uint64, loan: int, counter: int, first: int, last: int) -> int:
    """A day between two, both included, each as likely."""
    drawn = chance(draw_from(prefix, loan, counter)) >> 32
    return first + i64(u64(drawn) * u64(last - first + 1) >> u64(21))


@kernel(inline=True)
def pay_due(
    drawn: np.uint64, loan: int, status: DueStatus, first: int, world: BehaviourInputs, out: I64,
    at: int,
) -> int:  # fmt: skip
    """Payment of the month's own due, from a day on, by a loan that has nothing else unpaid."""
    span, due = world.span, status.own_due
    if due < first or due > span.last:
        return at
    k = lateness(drawn, loan, span.month, status.own_hazard, world.params.dues[2], world)
    if k == SETTLEMENT:
        out[at, 0] = day_between(world.prefix.payment, loan, span.month * 256 + 2, first, due)
        out[at, 1] = SETTLES
        return at + 1
    if due + k > span.last:
        return at
    out[at, 0], out[at, 1] = due + k, PAYS_DUE
    return at + 1


@kernel
def pay_in_arrears(loan: int, status: DueStatus, world: BehaviourInputs, out: I64) -> int:
    """Payments of a loan with something overdue in this month: 0 or 1."""
    span, prefix, params = world.span, world.prefix, world.params
    month, oldest = span.month, status.oldest
    age = span.first - 1 - oldest
    how, paid_on = PAYS_DUE, i64(-1)
    if age <= 30 and not status.in_recovery:
        due_month = month_of(oldest)
        drawn = draw_from(prefix.payment, loan, due_month * 256)
        then = params.dues[due_month - month + 2]
        k = lateness(drawn, loan, due_month, status.hazard, then, world)
        if k == NEVER:
            return 0
        paid_on = oldest + k
        if paid_on < span.first:  # an opening loan, whose arrears were drawn and not simulated
            z = chance(draw_from(prefix.cure, loan, month * 256 + 2))
            if z >= collected_of(loan, params.dues[2], world.arms):
                return 0
            until = max(span.first, min(span.last, oldest + 30))
            paid_on = day_between(prefix.cure, loan, month * 256 + 1, span.first, until)
    else:
        bucket = min(max(ageing_bucket(age), 2), LAST_BUCKET - 1)
        z = chance(draw_from(prefix.cure, loan, month * 256))
        cure = params.cure[bucket - 2]
        if z >= cure + params.partial:
            return 0
        if z >= cure:
            how = PAYS_ONE
        elif status.in_recovery:
            how = SETTLES
        paid_on = day_between(prefix.cure, loan, month * 256 + 1, span.first, span.last)
    if paid_on > span.last:
        return 0
    out[0, 0], out[0, 1] = paid_on, how
    return 1


@kernel(inline=True)
def decide(drawn: np.uint64, loan: int, status: DueStatus, world: BehaviourInputs, out: I64) -> int:
    """Payments a loan makes in a month, at most `MAX_PAYMENTS`, each with its day and intention.

    `drawn` is the draw of the month's own due.
    """
    span, prefix = world.span, world.prefix
    if status.hazard < 0:
        return 0
    if status.is_charged_off:
        if chance(draw_from(prefix.recovery, loan, span.month * 256)) >= world.params.recovery:
            return 0
        counter = span.month * 256 + 1
        out[0, 0] = day_between(prefix.recovery, loan, counter, span.first, span.last)
        out[0, 1] = RECOVERS
        return 1
    if status.oldest >= span.first:
        if status.oldest > span.last:
            return 0
        return pay_due(drawn, loan, status, span.first, world, out, 0)
    if pay_in_arrears(loan, status, world, out) == 0:
        return 0
    if out[0, 1] != PAYS_DUE or status.own_due <= out[0, 0]:
        return 1
    # Nothing is overdue any more when the month's own due comes.
    return pay_due(drawn, loan, status, out[0, 0] + 1, world, out, 1)


class DueColumns(NamedTuple):
    """Columns of loans as `decide_rows` takes them; `flags` is 1 in recovery, 2 charged off."""

    loan: I64
    hazard: I32
    oldest: I32
    due: I32
    flags: I8


@kernel(inline=True)
def pay_on_time(
    start: int, count: int, drawn: U64, loans: DueColumns, world: BehaviourInputs, paid: I32
) -> None:
    """Payments of loans with nothing overdue that pay on the day; 0 for any other."""
    first, last, chances = world.span.first, world.span.last, world.params.dues[2]
    hazard, oldest, due, flags = loans.hazard, loans.oldest, loans.due, loans.flags
    for nth in range(count):  # nothing here branches, so several loans are one
        at, row = u64(nth), u64(start + nth)
        is_plain = (flags[row] == 0) & (hazard[row] >= 0) & (oldest[row] == due[row])
        is_due = (first <= due[row]) & (due[row] <= last)
        pays = is_plain & is_due & is_on_time(chance(drawn[at]), hazard[row], chances)
        paid[0, row], paid[1, row] = due[row] * STEP + PAYS_DUE if pays else 0, 0


@kernel
def decide_rows(
    start: int, stop: int, loans: DueColumns, world: BehaviourInputs, draws: U64, others: I64,
    out: I64, paid: I32,
) -> None:  # fmt: skip
    """`decide` for a column of loans: the payments of each, first and second."""
    for begin in range(start, stop, BLOCK):
        count, left = min(stop - begin, BLOCK), 0
        draw_block(world.prefix.payment, loans.loan, begin, stop, world.span.month * 256, draws)
        # Most loans in most months have nothing overdue, and pay on the day.
        pay_on_time(begin, count, draws, loans, world, paid)
        for nth in range(count):
            others[u64(left)] = nth
            left += paid[0, u64(begin + nth)] == 0
        for place in range(left):
            nth = others[u64(place)]
            row = u64(begin + nth)
            hazard, flags = i64(loans.hazard[row]), loans.flags[row]
            status = DueStatus(
                hazard, i64(loans.oldest[row]), hazard, i64(loans.due[row]), flags & 1 != 0,
                flags & 2 != 0,
            )  # fmt: skip
            found = decide(draws[u64(nth)], loans.loan[row], status, world, out)
            for n in range(found):
                paid[n, row] = out[n, 0] * STEP + out[n, 1]
