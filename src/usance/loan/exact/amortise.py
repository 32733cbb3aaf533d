"""Principal and interest of an exact plan, under every amortisation."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from usance.loan.convention import Amortisation, DayCount, RoundingDifference
from usance.loan.exact.charge import charges, flat_charges, level_instalment, spans_of
from usance.loan.exact.dates import Period, Round
from usance.loan.exact.rows import PRINCIPAL, PlanInputs, Row

_LEVEL = (Amortisation.EQUAL_INSTALMENT, Amortisation.BALLOON)


def amortised(inputs: PlanInputs, rnd: Round) -> list[Row]:
    """Rows of a plan with their principal, finance charge and interest."""
    amortisation = inputs.terms.convention.amortisation
    if amortisation is Amortisation.FLAT:
        return _flat(inputs, rnd)
    return _level(inputs, rnd) if amortisation in _LEVEL else _declining(inputs, rnd)


def share(total: int, index: int, count: int, rnd: Round) -> int:
    """The part of a total that falls on one of `count` instalments, rounded cumulatively.

    >>> from usance.base.money import half_up
    >>> [share(100, index, 3, half_up) for index in range(3)]
    [33, 34, 33]
    """
    return rnd(total * (index + 1), count) - rnd(total * index, count) if total else 0


def _declining(inputs: PlanInputs, rnd: Round) -> list[Row]:
    """Equal parts of principal, or none but the last; interest on the balance."""
    part = _PARTS[inputs.terms.convention.amortisation]
    rows: list[Row] = []
    balance, last = inputs.principal, len(inputs.periods) - 1
    for index, period in enumerate(inputs.periods):
        principal = balance if index == last else part(inputs, index, balance, rnd)
        rows.append(_row(inputs, index, period, balance, principal, rnd))
        balance -= principal
        if not balance and inputs.ends_when_repaid:
            break
    return rows


def _row(
    inputs: PlanInputs, index: int, period: Period, balance: int, principal: int, rnd: Round
) -> Row:
    spans = spans_of(period, balance, () if index else inputs.before)
    return Row(period, spans, balance, principal, *charges(inputs.terms, period, spans, rnd))


def _equal_part(inputs: PlanInputs, index: int, balance: int, rnd: Round) -> int:
    if index < inputs.grace_principal:
        return 0
    if inputs.parts:
        return min(balance, inputs.parts[index])
    grace = inputs.grace_principal
    return share(inputs.principal, index - grace, len(inputs.periods) - grace, rnd)


def _no_part(inputs: PlanInputs, index: int, balance: int, rnd: Round) -> int:
    del inputs, index, balance, rnd
    return 0


_PARTS: Mapping[Amortisation, Callable[[PlanInputs, int, int, Round], int]] = {
    Amortisation.EQUAL_PRINCIPAL: _equal_part,
    Amortisation.INTEREST_ONLY: _no_part,
}


def _level(inputs: PlanInputs, rnd: Round) -> list[Row]:
    """Level instalments, down to a balloon where there is one."""
    convention, grace = inputs.terms.convention, inputs.grace_principal
    balloon = min(inputs.terms.balloon_minor, inputs.principal)
    level = inputs.level
    if level is None:
        before = () if grace else inputs.before
        level = level_instalment(
            inputs.terms, inputs.periods[grace:], inputs.principal, balloon, before
        )
    difference_first = convention.difference is RoundingDifference.FIRST
    rows: list[Row] = []
    balance, last = inputs.principal, len(inputs.periods) - 1
    for index, period in enumerate(inputs.periods):
        row = _row(inputs, index, period, balance, 0, rnd)
        room = max(0, level - _planned_charge(inputs, row, rnd))
        if index == last:
            principal = room if difference_first else balance
        else:
            principal = 0 if index < grace else min(room, balance - balloon)
        row.replace_principal(principal)
        row.level = level
        rows.append(row)
        balance -= principal
        if not balance and inputs.ends_when_repaid:
            break
    _difference_first(rows[grace:], balance)
    return rows


def _planned_charge(inputs: PlanInputs, row: Row, rnd: Round) -> int:
    """The charge that principal is planned with: by months, that of a regular period."""
    period = row.period
    if inputs.terms.convention.day_count is not DayCount.MONTHLY:
        return row.charge
    if period.num * period.regular_den == period.regular_num * period.den and len(row.spans) == 1:
        return row.charge
    plain = period._replace(num=period.regular_num, den=period.regular_den)
    return charges(inputs.terms, plain, spans_of(period, row.balance, ()), rnd)[0]


def _difference_first(rows: list[Row], left: int) -> None:
    """Give the first what is left over; what it cannot give back is taken from the last ones."""
    for row in (rows[0], *reversed(rows)) if left else ():
        change = max(left, -row.own[PRINCIPAL])
        row.replace_principal(row.own[PRINCIPAL] + change)
        left -= change


def _flat(inputs: PlanInputs, rnd: Round) -> list[Row]:
    """Equal parts of principal; interest on the original principal throughout."""
    count = len(inputs.periods)
    total, interest = flat_charges(
        inputs.terms, inputs.periods, inputs.principal, inputs.before, rnd
    )
    rows: list[Row] = []
    balance = inputs.principal
    for index, period in enumerate(inputs.periods):
        principal = _equal_part(inputs, index, balance, rnd)
        own = share(interest, index, count, rnd)
        # Two spreads may cross by a unit; the fee is spread by itself and never negative.
        charge = own + share(total - interest, index, count, rnd)
        spans = spans_of(period, inputs.principal, () if index else inputs.before)
        rows.append(Row(period, spans, balance, principal, charge, own))
        balance -= principal
    return rows
