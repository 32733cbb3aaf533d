"""How one borrower pays in one month, decided on its first day from the evening before, compiled.

A due that is paid late is paid `k` days late by a draw keyed by its loan and the month it fell due
in. If that day lies in the next month, the next month draws the same number again; nothing needs
to be remembered.
"""

from __future__ import annotations

import numpy as np

from usance.base.ageing import LAST_BUCKET
from usance.base.ageing_kernel import ageing_bucket
from usance.base.arrays import I8, I16, I32, I64, U64, i64, u64
from usance.base.compiled import kernel
from usance.loan.kernel.plan import month_of
from usance.world.draw_kernel import AHEAD, chance, draw_ahead, draw_from

PREPAY, FAILED, LATE, COLLECTED, CURE = 0, 1, 2, 3, 4
PARTIAL, RECOVERY, SHARE_PPM, NOTICE, NOTICE_DAYS, PROVIDERS, EARLY_PPM = 9, 10, 11, 12, 13, 14, 15
KNOBS = 16
"""The places of a month's knobs: chances as thresholds of 53 bits, then plain numbers."""

BY_PAYMENT, BY_CURE, BY_RECOVERY, BY_NOTICE = range(4)
"""The places of the prefixes of streams."""

PAYS_DUE, SETTLES, PAYS_ONE, RECOVERS = 1, 2, 3, 4
"""What a borrower means to pay: all due, everything, one instalment, a part of the claim."""

SETTLEMENT, NEVER = -1, 99
"""Answers of `lateness` beside days."""
DAYS = 1024
"""Steps of the table of days late."""
MAX_PAYMENTS = 2
STEP = 8
"""A payment in one number: its day times this, and what it means to pay."""


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
def is_on_time(u: int, hazard: int, knobs: I64) -> bool:
    """Whether a due whose first chance is `u` is paid on its day."""
    # Threshold × hazard would not fit 64 bits: twenty low bits of the threshold are left out. And
    # u ≥ floor(late × hazard ÷ million) is asked without the division.
    steps: int = (u - knobs[PREPAY] - knobs[FAILED] >> 20) + 1
    enough: bool = steps * 1_000_000 > (knobs[LATE] >> 20) * hazard
    return enough


@kernel(inline=True)
def notice_of(drawn: np.uint64, day: int, knobs: I64) -> tuple[int, int]:
    """The provider of a day's payment, and the day on which its notice comes."""
    low = i64(drawn & _LOW)
    booked = day
    if chance(drawn) < knobs[NOTICE]:
        booked += 1 + (low * knobs[NOTICE_DAYS] >> 11)
    return 1 + i64(u64(low) % u64(knobs[PROVIDERS])), booked


@kernel(inline=True)
def lateness(
    begun: U64, paying: np.uint64, loan: int, due_month: int, hazard: int, knobs: I64, days: I16
) -> int:
    """Days after its due day that a due is paid, `NEVER` within thirty, or `SETTLEMENT`."""
    u = chance(paying)
    if u < knobs[PREPAY]:
        return SETTLEMENT
    if u < knobs[PREPAY] + knobs[FAILED]:
        return 1
    if is_on_time(u, hazard, knobs):
        return 0
    v = chance(draw_from(begun[BY_PAYMENT], loan, due_month * 256 + 1))
    if v >= knobs[COLLECTED]:
        return NEVER
    return i64(days[(v >> 20) * DAYS // ((knobs[COLLECTED] >> 20) + 1)])


@kernel(inline=True)
def a_day(begun: U64, stream: int, loan: int, counter: int, first: int, last: int) -> int:
    """A day between two, both included, each as likely."""
    drawn = chance(draw_from(begun[stream], loan, counter)) >> 32
    return first + i64(u64(drawn) * u64(last - first + 1) >> u64(21))


@kernel(inline=True)
def pay_due(
    begun: U64, paying: np.uint64, loan: int, hazard: int, due: int, month: int, first: int,
    last: int, knobs: I64, days: I16, out: I64, at: int,
) -> int:  # fmt: skip
    """What becomes of the month's due of a loan that has nothing else unpaid."""
    if due < first or due > last:
        return at
    k = lateness(begun, paying, loan, month, hazard, knobs, days)
    if k == SETTLEMENT:
        out[at, 0] = a_day(begun, BY_PAYMENT, loan, month * 256 + 2, first, due)
        out[at, 1] = SETTLES
        return at + 1
    if due + k > last:
        return at
    out[at, 0], out[at, 1] = due + k, PAYS_DUE
    return at + 1


@kernel
def pay_in_arrears(
    begun: U64, loan: int, hazard: int, oldest: int, in_recovery: bool, month: int, first: int,
    last: int, knobs: I64, days: I16, out: I64,
) -> int:  # fmt: skip
    """Whether a loan with something overdue pays this month: 0 or 1 payments."""
    age = first - 1 - oldest
    how, paid_on = PAYS_DUE, i64(-1)
    if age <= 30 and not in_recovery:
        due_month = month_of(oldest)
        paying = draw_from(begun[BY_PAYMENT], loan, due_month * 256)
        k = lateness(begun, paying, loan, due_month, hazard, knobs[due_month - month + 2], days)
        if k == NEVER:
            return 0
        paid_on = oldest + k
        if paid_on < first:  # an opening loan, whose arrears were drawn and not lived
            z = chance(draw_from(begun[BY_CURE], loan, month * 256 + 2))
            if z >= knobs[2, COLLECTED]:
                return 0
            until = max(first, min(last, oldest + 30))
            paid_on = a_day(begun, BY_CURE, loan, month * 256 + 1, first, until)
    else:
        bucket = min(max(ageing_bucket(age), 2), LAST_BUCKET - 1)
        z = chance(draw_from(begun[BY_CURE], loan, month * 256))
        cure = knobs[2, CURE + bucket - 2]
        if z >= cure + knobs[2, PARTIAL]:
            return 0
        if z >= cure:
            how = PAYS_ONE
        elif in_recovery:
            how = SETTLES
        paid_on = a_day(begun, BY_CURE, loan, month * 256 + 1, first, last)
    if paid_on > last:
        return 0
    out[0, 0], out[0, 1] = paid_on, how
    return 1


@kernel(inline=True)
def decide(
    begun: U64, paying: np.uint64, loan: int, hazard: int, due_hazard: int, oldest: int, due: int,
    in_recovery: bool, is_off: bool, month: int, first: int, last: int, knobs: I64, days: I16,
    out: I64,
) -> int:  # fmt: skip
    """How many payments a loan makes in a month, each with its day and what it means to pay.

    `paying` is the draw of the month's own due, `oldest` the due day of the oldest unpaid
    instalment, `due` the month's own due day or -1, each with its hazard; `knobs` are those of this
    month and the two before. A negative hazard never pays.
    """
    if hazard < 0:
        return 0
    if is_off:
        if chance(draw_from(begun[BY_RECOVERY], loan, month * 256)) >= knobs[2, RECOVERY]:
            return 0
        out[0, 0] = a_day(begun, BY_RECOVERY, loan, month * 256 + 1, first, last)
        out[0, 1] = RECOVERS
        return 1
    if oldest >= first:
        if oldest > last:
            return 0
        return pay_due(
            begun, paying, loan, due_hazard, due, month, first, last, knobs[2], days, out, 0
        )
    if pay_in_arrears(
        begun, loan, hazard, oldest, in_recovery, month, first, last, knobs, days, out
    ) == 0:  # fmt: skip
        return 0
    if out[0, 1] != PAYS_DUE or due <= out[0, 0]:
        return 1
    # Nothing is overdue any more when the month's own due comes.
    after = out[0, 0] + 1
    return pay_due(begun, paying, loan, due_hazard, due, month, after, last, knobs[2], days, out, 1)


@kernel(inline=True)
def pay_on_time(
    start: int, count: int, drawn: U64, hazard: I32, oldest: I32, due: I32, flags: I8, first: int,
    last: int, knobs: I64, paid: I32,
) -> None:  # fmt: skip
    """The payments of loans with nothing overdue that pay on the day; 0 for any other."""
    for nth in range(count):  # nothing here branches, so several loans are one
        at, row = u64(nth), u64(start + nth)
        is_plain = (flags[row] == 0) & (hazard[row] >= 0) & (oldest[row] == due[row])
        is_due = (first <= due[row]) & (due[row] <= last)
        pays = is_plain & is_due & is_on_time(chance(drawn[at]), hazard[row], knobs)
        paid[0, row], paid[1, row] = due[row] * STEP + PAYS_DUE if pays else 0, 0


@kernel
def decide_rows(
    start: int, stop: int, begun: U64, loan: I64, hazard: I32, oldest: I32, due: I32, flags: I8,
    month: int, first: int, last: int, knobs: I64, days: I16, drawn: U64, others: I64, out: I64,
    paid: I32,
) -> None:  # fmt: skip
    """`decide` for a column of loans: the payments of each, first and second."""
    for begin in range(start, stop, AHEAD):
        count, left = min(stop - begin, AHEAD), 0
        draw_ahead(begun[BY_PAYMENT], loan, begin, stop, month * 256, drawn)
        # Most loans in most months have nothing overdue, and pay on the day.
        pay_on_time(begin, count, drawn, hazard, oldest, due, flags, first, last, knobs[2], paid)
        for nth in range(count):
            others[u64(left)] = nth
            left += paid[0, u64(begin + nth)] == 0
        for place in range(left):
            nth = others[u64(place)]
            row = u64(begin + nth)
            found = decide(
                begun, drawn[u64(nth)], loan[row], hazard[row], hazard[row], oldest[row], due[row],
                flags[row] & 1 != 0, flags[row] & 2 != 0, month, first, last, knobs, days, out,
            )  # fmt: skip
            for n in range(found):
                paid[n, row] = out[n, 0] * STEP + out[n, 1]
