"""Every limit recomputed from what was routed, by other means than the kernel's.

Sums over the placed loans, one mandate at a time, in plain NumPy: budgets by day, by month and in
total, amounts, places, hours, borrowers, platform rooms, and the mix at the end. The router is
trusted with nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.base.dates import from_day, to_day, to_month
from usance.base.rates import PPM
from usance.match.limits import PLATFORM_ROOMS
from usance.match.mandate import (
    NO_LIMIT,
    EventKind,
    Mandate,
    Mandates,
    Measure,
    MinimumTake,
    MixLimit,
)
from usance.match.releases import revolves
from usance.match.requests import MICROSECONDS, Requests
from usance.match.router import Routed
from usance.match.source_columns import platform_rooms

Numbers = NDArray[np.int64]


@dataclass
class Audit:
    """What was found."""

    violations: list[str] = field(default_factory=list)
    mix_broken: list[str] = field(default_factory=list)
    shortfalls: list[tuple[int, MinimumTake]] = field(default_factory=list)


def audit(routed: Routed, mandates: Mandates) -> Audit:
    """Everything that breaks a limit, with the source and the limit."""
    found = Audit()
    requests, column = routed.requests, routed.column
    for number, mandate in enumerate(mandates.mandates):
        here = np.flatnonzero(column == number)
        name = f"source {mandate.source}"
        lent = _lent(mandate, requests.amount_minor[here])
        found.violations += [f"{name}: {what}" for what in _hard(mandate, mandates, routed, here)]
        found.violations += [
            f"{name}: {what}" for what in _budgets(mandate, mandates, routed, here, lent)
        ]
        found.mix_broken += [
            f"{name}: {each.measure}"
            for each in mandate.mix
            if _mix_excess(each, mandates, requests, here) > _largest(requests, here)
        ]
        if mandate.minimum_take is not None:
            short = mandate.minimum_take.amount_minor - int(lent.sum())
            if short > 0:
                found.shortfalls.append((short, mandate.minimum_take))
    found.violations += _platform(routed, mandates)
    return found


def _lent(mandate: Mandate, amount: Numbers) -> Numbers:
    part: Numbers = amount - amount * mandate.co_share_ppm // PPM
    return part


def _hard(mandate: Mandate, mandates: Mandates, routed: Routed, here: Numbers) -> Iterator[str]:
    """Loans outside what the mandate takes, by kind."""
    own, requests, rows = mandate.eligibility, routed.requests, routed.rows
    amount = requests.amount_minor[here]
    masks = {name: 1 << bit for bit, name in enumerate(mandates.attributes)}
    needs, refuses = (sum(masks[n] for n in names) for names in (own.needs, own.refuses))
    attributes = requests.attributes[here]
    wrong: dict[str, Any] = {
        "amount": (amount < own.least_minor) | (amount > own.most_minor),
        "product": _outside(requests.product[here], own.products),
        "region": _outside(requests.region[here], own.regions),
        "grade": _outside(requests.grade[here], own.grades),
        "channel": _outside(requests.channel[here], own.channels),
        "tenor": _outside(requests.months[here], own.months),
        "attributes": (attributes & needs != needs) | (attributes & refuses != 0),
        "blacklist": np.isin(requests.user_id[here], sorted(own.blacklist)),
        "hours": (rows.second[here] < own.opens) | (rows.second[here] >= own.cut_off),
        "dates": (rows.day[here] < to_day(mandate.valid_from))
        | (rows.day[here] > to_day(mandate.valid_to)),
        "left": _gone(mandate, mandates, requests, here),
    }
    yield from (name for name, mask in wrong.items() if mask.any())
    if own.borrower_minor != NO_LIMIT and len(here):
        _, user = np.unique(requests.user_id[here], return_inverse=True)
        if np.bincount(user, amount).max() > own.borrower_minor:
            yield "borrower limit"


def _outside(values: Numbers, allowed: frozenset[Any]) -> NDArray[np.bool_]:
    inside = np.isin(values, [int(each) for each in allowed]) if allowed else values == values
    return ~inside


def _gone(
    mandate: Mandate, mandates: Mandates, requests: Requests, here: Numbers
) -> NDArray[np.bool_]:
    """Loans placed while the source had left."""
    away = np.zeros(len(here), np.bool_)
    for event in mandates.events:
        if event.source == mandate.source and event.kind in (EventKind.LEAVES, EventKind.RETURNS):
            later = requests.requested_at[here] >= int(event.at.timestamp()) * MICROSECONDS
            away[later] = event.kind is EventKind.LEAVES
    return away


def _budgets(
    mandate: Mandate, mandates: Mandates, routed: Routed, here: Numbers, lent: Numbers
) -> Iterator[str]:
    days, day = np.unique(routed.rows.day[here], return_inverse=True)
    months = np.array([to_month(from_day(int(each))) for each in days], np.int64)
    budgets = mandate.budgets
    by_day = np.bincount(day, lent, len(days)) if len(here) else np.zeros(0)
    if budgets.day_minor != NO_LIMIT and by_day.max(initial=0) > budgets.day_minor:
        yield "daily budget"
    by_month = [by_day[months == month].sum() for month in np.unique(months)]
    if budgets.month_minor != NO_LIMIT and max(by_month, default=0) > budgets.month_minor:
        yield "monthly budget"
    changed = [
        event
        for event in mandates.events
        if event.source == mandate.source and event.kind is EventKind.TOTAL_BUDGET
    ]
    most_minor = max([budgets.total_minor, *(event.value for event in changed)])
    out = np.cumsum(lent) - _returned(mandate, routed, here)
    if budgets.total_minor != NO_LIMIT and int(out.max(initial=0)) > most_minor:
        yield "total budget"


def _returned(mandate: Mandate, routed: Routed, here: Numbers) -> Numbers:
    """What had come back to lend again at each loan of a mandate."""
    releases = routed.releases
    own = [
        (int(day), int(principal))
        for day, source, principal in zip(
            releases.day, releases.source, releases.principal_minor, strict=True
        )
        if source == mandate.source and revolves(mandate, int(day))
    ]
    days = np.array([day for day, _ in own], np.int64)
    sums = np.cumsum([0, *(principal for _, principal in own)])
    came_back: Numbers = sums[np.searchsorted(days, routed.rows.day[here], side="right")]
    return came_back


def _mix_excess(limit: MixLimit, mandates: Mandates, requests: Requests, here: Numbers) -> float:
    """By how much of an amount the mix is off at the end; at or below zero it is kept."""
    amount = requests.amount_minor[here]
    values = {
        Measure.REGION: requests.region, Measure.GRADE: requests.grade,
        Measure.PRODUCT: requests.product,
    }  # fmt: skip
    if limit.measure in values:
        weight = (values[limit.measure][here] == limit.member) * PPM - limit.bound_ppm
    elif limit.measure is Measure.EXPECTED_LOSS:
        losses = mandates.platform.losses
        weight = np.array([losses[int(g)] for g in requests.grade[here]]) - limit.bound_ppm
    else:
        sign = 1 if limit.measure is Measure.AVERAGE_RATE_MAX else -1
        weight = sign * (requests.rate_ppm[here] - limit.bound_ppm)
    return float((amount * weight).sum() / PPM)


def _largest(requests: Requests, here: Numbers) -> float:
    return float(requests.amount_minor[here].max(initial=0))


def _platform(routed: Routed, mandates: Mandates) -> Iterator[str]:
    platform = mandates.platform
    rooms = (platform.guarantee_minor, platform.microcredit_minor, platform.liquidity_minor)
    used = platform_rooms(mandates.mandates)
    placed = routed.column >= 0
    column, amount = routed.column[placed], routed.requests.amount_minor[placed]
    for kind, room_minor, weight in zip(PLATFORM_ROOMS, rooms, used, strict=True):
        if room_minor != NO_LIMIT and int((amount * weight[column] // PPM).sum()) > room_minor:
            yield str(kind)
