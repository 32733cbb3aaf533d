"""Mandates as events leave them: those in force, their approval rates, their total budgets."""

from __future__ import annotations

from usance.base.arrays import I64, U64
from usance.base.dates import from_day
from usance.match.mandates.columns import SourceColumns, bit_set
from usance.match.mandates.limits import Limit
from usance.match.mandates.mandate import EventKind, Mandates


def open_columns(mandates: Mandates, day: int, events: int) -> U64:
    """The mandates in force on a day after so many events, as a set."""
    today, absent = from_day(day), set[int]()
    for event in mandates.events[:events]:
        if event.kind is EventKind.LEAVES:
            absent.add(event.source)
        elif event.kind is EventKind.RETURNS:
            absent.discard(event.source)
    rows = mandates.mandates
    in_force = [
        column
        for column, each in enumerate(rows)
        if each.valid_from <= today <= each.valid_to and each.source not in absent
    ]
    return bit_set(in_force, len(rows))


def approval_rates(mandates: Mandates, columns: SourceColumns, events: int) -> I64:
    """Approval rates after so many events, parts per million."""
    rates = columns.approval.copy()
    for event in mandates.events[:events]:
        if event.kind is EventKind.APPROVAL_RATE:
            rates[columns.source == event.source] = event.value
    return rates


def max_total_budget(mandates: Mandates, limit: Limit) -> int:
    """The largest value that the total budget of a mandate ever has."""
    source = mandates.mandates[limit.column].source
    changed = (
        event.value
        for event in mandates.events
        if event.kind is EventKind.TOTAL_BUDGET and event.source == source
    )
    return max([limit.bound, *changed])
