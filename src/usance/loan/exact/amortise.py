"""Principal and interest of an exact plan, under every amortisation."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from usance.loan.convention import Amortisation, DayCount, Difference
from usance.loan.exact.charge import charges, flat_charges, level_instalment, spans_of
from usance.loan.exact.dates import Period, Round
from usance.loan.exact.rows import PRINCIPAL, Job, Row

_LEVEL = (Amortisation.EQUAL_INSTALMENT, Amortisation.BALLOON)


def amortised(job: Job, rnd: Round) -> list[Row]:
    """The rows of a job with their principal, finance charge and interest."""
    amortisation = job.terms.convention.amortisation
    if amortisation is Amortisation.FLAT:
        return _flat(job, rnd)
    return _level(job, rnd) if amortisation in _LEVEL else _declining(job, rnd)


def share(total: int, index: int, count: int, rnd: Round) -> int:
    """The part of a total that falls on one of `count` instalments, rounded cumulatively.

    >>> from usance.loan.exact.dates import half_up
    >>> [share(100, index, 3, half_up) for index in range(3)]
    [33, 34, 33]
    """
    return rnd(total * (index + 1), count) - rnd(total * index, count) if total else 0


def _declining(job: Job, rnd: Round) -> list[Row]:
    """Equal parts of principal, or none but the last; interest on the balance."""
    part = _PARTS[job.terms.convention.amortisation]
    rows: list[Row] = []
    balance, last = job.principal, len(job.periods) - 1
    for index, period in enumerate(job.periods):
        principal = balance if index == last else part(job, index, balance, rnd)
        rows.append(_row(job, index, period, balance, principal, rnd))
        balance -= principal
        if not balance and job.ends_when_repaid:
            break
    return rows


def _row(job: Job, index: int, period: Period, balance: int, principal: int, rnd: Round) -> Row:
    spans = spans_of(period, balance, () if index else job.before)
    return Row(period, spans, balance, principal, *charges(job.terms, period, spans, rnd))


def _equal_part(job: Job, index: int, balance: int, rnd: Round) -> int:
    if index < job.grace_principal:
        return 0
    if job.parts:
        return min(balance, job.parts[index])
    grace = job.grace_principal
    return share(job.principal, index - grace, len(job.periods) - grace, rnd)


def _no_part(job: Job, index: int, balance: int, rnd: Round) -> int:
    del job, index, balance, rnd
    return 0


_PARTS: Mapping[Amortisation, Callable[[Job, int, int, Round], int]] = {
    Amortisation.EQUAL_PRINCIPAL: _equal_part,
    Amortisation.INTEREST_ONLY: _no_part,
}


def _level(job: Job, rnd: Round) -> list[Row]:
    """Level instalments, down to a balloon where there is one."""
    convention, grace = job.terms.convention, job.grace_principal
    balloon = min(job.terms.balloon_minor, job.principal)
    level = job.level
    if level is None:
        before = () if grace else job.before
        level = level_instalment(job.terms, job.periods[grace:], job.principal, balloon, before)
    difference_first = convention.difference is Difference.FIRST
    rows: list[Row] = []
    balance, last = job.principal, len(job.periods) - 1
    for index, period in enumerate(job.periods):
        row = _row(job, index, period, balance, 0, rnd)
        room = max(0, level - _planned_charge(job, row, rnd))
        if index == last:
            principal = room if difference_first else balance
        else:
            principal = 0 if index < grace else min(room, balance - balloon)
        row.replace_principal(principal)
        row.level = level
        rows.append(row)
        balance -= principal
        if not balance and job.ends_when_repaid:
            break
    _difference_first(rows[grace:], balance)
    return rows


def _planned_charge(job: Job, row: Row, rnd: Round) -> int:
    """The charge that principal is planned with: by months, that of a regular period."""
    period = row.period
    if job.terms.convention.day_count is not DayCount.MONTHLY:
        return row.charge
    if period.num * period.regular_den == period.regular_num * period.den and len(row.spans) == 1:
        return row.charge
    plain = period._replace(num=period.regular_num, den=period.regular_den)
    return charges(job.terms, plain, spans_of(period, row.balance, ()), rnd)[0]


def _difference_first(rows: list[Row], left: int) -> None:
    """Give the first what is left over; what it cannot give back is taken from the last ones."""
    for row in (rows[0], *reversed(rows)) if left else ():
        change = max(left, -row.own[PRINCIPAL])
        row.replace_principal(row.own[PRINCIPAL] + change)
        left -= change


def _flat(job: Job, rnd: Round) -> list[Row]:
    """Equal parts of principal; interest on the original principal throughout."""
    count = len(job.periods)
    total, interest = flat_charges(job.terms, job.periods, job.principal, job.before, rnd)
    rows: list[Row] = []
    balance = job.principal
    for index, period in enumerate(job.periods):
        principal = _equal_part(job, index, balance, rnd)
        own = share(interest, index, count, rnd)
        # Two spreads may cross by a unit; the fee is spread by itself and never negative.
        charge = own + share(total - interest, index, count, rnd)
        spans = spans_of(period, job.principal, () if index else job.before)
        rows.append(Row(period, spans, balance, principal, charge, own))
        balance -= principal
    return rows
