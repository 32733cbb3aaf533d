"""Allocation of payments in the exact form: any order of claims, any rule for prepayments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from usance.loan.convention import Allocation, DueStatus, EarlyPayment, Sweep
from usance.loan.exact.plan import replanned
from usance.loan.exact.rows import INTEREST, PRINCIPAL, Row
from usance.loan.exact.state import State

Group = tuple[DueStatus, tuple[int, ...]]
"""Components of instalments in one standing that are finished instalment by instalment."""


@lru_cache(maxsize=256)
def groups(allocation: Allocation) -> tuple[Group | None, ...]:
    """The order as groups; `None` stands for penalties.

    >>> from usance.loan.convention import DEFAULT_ALLOCATION
    >>> [group and (group[0].value, group[1]) for group in groups(DEFAULT_ALLOCATION)]
    [('past_due', (1, 0, 2, 3)), ('due', (1, 0, 2, 3)), None, ('in_advance', (1, 0, 2, 3))]
    """
    result: list[Group | None] = []
    by_instalment = allocation.sweep is Sweep.BY_INSTALMENT
    for bucket in allocation.order:
        if bucket is None:
            result.append(None)
            continue
        when, component = bucket
        last = result[-1] if result else None
        if by_instalment and last is not None and last[0] is when:
            result[-1] = (when, (*last[1], int(component)))
        else:
            result.append((when, (int(component),)))
    return tuple(result)


def allocate(state: State, money: int, day: int) -> int:
    """Let money that does not settle the loan meet its claims; what is left over."""
    convention = state.terms.convention
    order = groups(convention.allocation)
    early = convention.early is not EarlyPayment.NEXT
    for group in order:
        if not money:
            break
        if group is None:
            money = state.pay_penalty(money)
        elif group[0] is not DueStatus.IN_ADVANCE or not early:
            money = _sweep(state, _rows_with_status(state.rows, group[0], day), group[1], money)
        elif group is _first_in_advance(order):
            money = _EARLY_PAYMENT_RULES[convention.early](state, money, day)
            for when, components in filter(None, order):
                if when is DueStatus.IN_ADVANCE:
                    money = _sweep(
                        state, _rows_with_status(state.rows, when, day), components, money
                    )
    return money


def _first_in_advance(order: Sequence[Group | None]) -> Group | None:
    return next(group for group in order if group and group[0] is DueStatus.IN_ADVANCE)


def _rows_with_status(rows: Sequence[Row], when: DueStatus, day: int) -> list[Row]:
    if when is DueStatus.PAST_DUE:
        return [row for row in rows if row.end < day]
    if when is DueStatus.DUE:
        return [row for row in rows if row.end == day]
    return [row for row in rows if row.end > day]


def _sweep(state: State, rows: Sequence[Row], components: Sequence[int], money: int) -> int:
    for row in rows:
        if not money:
            break
        if row.is_paid:
            continue
        for component in components:
            money = state.cover_row(row, component, money)
    return money


def _cover_last_first(state: State, money: int, day: int) -> int:
    """Principal from the last instalment backwards."""
    for row in reversed(_rows_with_status(state.rows, DueStatus.IN_ADVANCE, day)):
        money = state.cover_row(row, PRINCIPAL, money)
    return money


def _reamortise(state: State, money: int, day: int) -> int:
    """Principal of all coming instalments in equal parts; what one cannot take, the next does."""
    coming = _rows_with_status(state.rows, DueStatus.IN_ADVANCE, day)
    if not coming:
        return money
    whole, given, carry = money, 0, 0
    for number, row in enumerate(coming, start=1):
        part = state.round(whole * number, len(coming)) - given
        given += part
        carry = state.cover_row(row, PRINCIPAL, part + carry)
    return _sweep(state, coming, (PRINCIPAL,), carry)


def _reduce(state: State, money: int, day: int, *, keep_level: bool) -> int:
    """Interest accrued to the day, then a lower balance and a new plan for what is left of it."""
    coming = _rows_with_status(state.rows, DueStatus.IN_ADVANCE, day)
    interest = min(money, max(0, state.earned(day) - state.covered(INTEREST)))
    state.apply_oldest_first(INTEREST, interest, state.cash)
    uncovered = sum(row.due[PRINCIPAL] - row.covered[PRINCIPAL] for row in coming)
    lowered = min(money - interest, uncovered)
    if lowered:
        new = replanned(
            state.plan_rows(), state.terms, day, -lowered, keep_level=keep_level,
            pauses=state.pauses, carried=state.carried,
        )  # fmt: skip
        state.replace_rows(coming, new)
        _sweep(state, new, (PRINCIPAL,), lowered)
    return money - interest - lowered


def _reduce_amount(state: State, money: int, day: int) -> int:
    return _reduce(state, money, day, keep_level=False)


def _reduce_instalments(state: State, money: int, day: int) -> int:
    return _reduce(state, money, day, keep_level=True)


_EARLY_PAYMENT_RULES: Mapping[EarlyPayment, Callable[[State, int, int], int]] = {
    EarlyPayment.LAST: _cover_last_first,
    EarlyPayment.REAMORTISE: _reamortise,
    EarlyPayment.REDUCE_AMOUNT: _reduce_amount,
    EarlyPayment.REDUCE_INSTALMENTS: _reduce_instalments,
}
