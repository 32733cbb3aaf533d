"""Every limit recomputed from what was routed, by other means than the kernel's.

Sums over the placed loans, one mandate at a time, in plain NumPy: budgets by day, by month and in
total, amounts, places, hours, borrowers, platform rooms, and the mix at the end. The router is
trusted with nothing. A stream that went on from an earlier one begins with what that had used.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import I64
from usance.base.dates import from_day, to_day, to_month
from usance.base.rates import PPM
from usance.match.mandates.columns import MEASURES, platform_rooms
from usance.match.mandates.limits import PLATFORM_ROOMS
from usance.match.mandates.mandate import (
    NO_LIMIT,
    EventKind,
    Mandate,
    Mandates,
    Measure,
    MinimumTake,
    MixLimit,
)
from usance.match.router.checkpoint import by_model
from usance.match.router.releases import revolves
from usance.match.router.requests import MICROSECONDS, Requests
from usance.match.router.router import Routed


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
            if _mix_excess(each, mandate, mandates, routed, here) > _largest(requests, here)
        ]
        if mandate.minimum_take is not None:
            lent_before = _lent(mandate, _before(routed, mandate, "placed")).sum()
            short = mandate.minimum_take.amount_minor - int(lent.sum() + lent_before)
            if short > 0:
                found.shortfalls.append((short, mandate.minimum_take))
    found.violations += _platform(routed, mandates)
    found.mix_broken += _models(routed, mandates)
    return found


def _before(routed: Routed, mandate: Mandate, name: str) -> I64:
    """What an earlier stream had used of a mandate: one number or none."""
    if routed.before is None:
        return np.zeros(0, np.int64)
    own = (routed.before["source"] == mandate.source) & (
        routed.before["version"] == mandate.version
    )
    found: I64 = routed.before[name][own]
    return found


def _lent(mandate: Mandate, amount: I64) -> I64:
    part: I64 = amount - amount * mandate.co_share_ppm // PPM
    return part


def _hard(mandate: Mandate, mandates: Mandates, routed: Routed, here: I64) -> Iterator[str]:
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
        "left": gone(mandate, mandates, requests, here),
    }
    yield from (name for name, mask in wrong.items() if mask.any())
    limited = own.borrower_minor != NO_LIMIT and len(here)
    if limited and _most_of_one(mandate, routed, here) > own.borrower_minor:
        yield "borrower limit"


def _most_of_one(mandate: Mandate, routed: Routed, here: I64) -> int:
    """The most one borrower of this stream has from a mandate."""
    users, user = np.unique(routed.requests.user_id[here], return_inverse=True)
    has = np.bincount(user, routed.requests.amount_minor[here])
    if routed.before is not None:
        held = routed.before["borrowed_from"]
        known = routed.before["source"][held] == mandate.source
        known &= routed.before["version"][held] == mandate.version
        known &= np.isin(routed.before["borrower"], users)
        place = np.searchsorted(users, routed.before["borrower"][known])
        np.add.at(has, place, routed.before["borrowed"][known])
    return int(has.max())


def _outside(values: I64, allowed: frozenset[Any]) -> NDArray[np.bool_]:
    inside = np.isin(values, [int(each) for each in allowed]) if allowed else values == values
    return ~inside


def gone(mandate: Mandate, mandates: Mandates, requests: Requests, here: I64) -> NDArray[np.bool_]:
    """Loans placed while the source had left."""
    away = np.zeros(len(here), np.bool_)
    for event in mandates.events:
        if event.source == mandate.source and event.kind in (EventKind.LEAVES, EventKind.RETURNS):
            later = requests.requested_at[here] >= int(event.at.timestamp()) * MICROSECONDS
            away[later] = event.kind is EventKind.LEAVES
    return away


def _budgets(
    mandate: Mandate, mandates: Mandates, routed: Routed, here: I64, lent: I64
) -> Iterator[str]:
    days, day = np.unique(routed.rows.day[here], return_inverse=True)
    months = np.array([to_month(from_day(int(each))) for each in days], np.int64)
    budgets = mandate.budgets
    by_day = np.bincount(day, lent, len(days)) if len(here) else np.zeros(0)
    by_month = {int(m): int(by_day[months == m].sum()) for m in np.unique(months)}
    if routed.before is not None and (today := int(routed.before["today"])) >= 0:
        by_day[days == today] += _before(routed, mandate, "used_day").sum()
        month = to_month(from_day(today))
        if month in by_month:
            by_month[month] += int(_before(routed, mandate, "used_month").sum())
    if budgets.day_minor != NO_LIMIT and by_day.max(initial=0) > budgets.day_minor:
        yield "daily budget"
    if budgets.month_minor != NO_LIMIT and max(by_month.values(), default=0) > budgets.month_minor:
        yield "monthly budget"
    out = np.cumsum(lent) - _returned(mandate, routed, here)
    out += _before(routed, mandate, "used_total").sum()
    if (out > _total_at(mandate, mandates, routed.requests.requested_at[here])).any():
        yield "total budget"


def _total_at(mandate: Mandate, mandates: Mandates, moments: I64) -> I64:
    """The total budget of a mandate at each moment, as events have changed it."""
    budget_minor = mandate.budgets.total_minor
    endless = np.iinfo(np.int64).max
    most = np.full(len(moments), endless if budget_minor == NO_LIMIT else budget_minor)
    for event in mandates.events:
        if event.source == mandate.source and event.kind is EventKind.TOTAL_BUDGET:
            most[moments >= int(event.at.timestamp()) * MICROSECONDS] = event.value
    return most


def _returned(mandate: Mandate, routed: Routed, here: I64) -> I64:
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
    came_back: I64 = sums[np.searchsorted(days, routed.rows.day[here], side="right")]
    return came_back


def _mix_excess(
    limit: MixLimit, mandate: Mandate, mandates: Mandates, routed: Routed, here: I64
) -> float:
    """By how much of an amount the mix is off at the end; at or below zero it is kept."""
    requests = routed.requests
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
    # In Python's own integers: a long stream of large loans does not fit into 64 bits.
    excess: int = sum((amount * weight).tolist()) + _mix_before(limit, mandate, routed)
    return excess / PPM


def _mix_before(limit: MixLimit, mandate: Mandate, routed: Routed) -> int:
    if routed.before is None:
        return 0
    key = [mandate.source, mandate.version, MEASURES.index(limit.measure), limit.member,
           limit.bound_ppm]  # fmt: skip
    same = (routed.before["mix_key"] == key).all(axis=1)
    return int(routed.before["mix_state"][same].sum())


def _largest(requests: Requests, here: I64) -> float:
    return float(requests.amount_minor[here].max(initial=0))


def _platform(routed: Routed, mandates: Mandates) -> Iterator[str]:
    platform = mandates.platform
    rooms = (platform.guarantee_minor, platform.microcredit_minor, platform.liquidity_minor)
    used = platform_rooms(mandates.mandates)
    placed = routed.column >= 0
    column, amount = routed.column[placed], routed.requests.amount_minor[placed]
    before = routed.before["room_used"] if routed.before else np.zeros(len(rooms), np.int64)
    for kind, room_minor, weight, so_far in zip(PLATFORM_ROOMS, rooms, used, before, strict=True):
        sums = int((amount * weight[column] // PPM).sum() + so_far)
        if room_minor != NO_LIMIT and amount.size and sums > room_minor:
            yield str(kind)


def _models(routed: Routed, mandates: Mandates) -> Iterator[str]:
    """Models that have more of everything placed than they may, by more than one loan."""
    placed = routed.column >= 0
    amount = routed.requests.amount_minor[placed]
    model = routed.columns.model[routed.column[placed]]
    sums = by_model(amount, model)
    if routed.before is not None:
        sums += by_model(routed.before["placed"], routed.before["model"])
        sums += routed.before["gone_placed"]
    for each in mandates.platform.mix:
        over = int(sums[each.model]) * PPM - int(sums.sum()) * each.most_ppm
        if over > int(amount.max(initial=0)) * PPM:
            yield f"most of {each.model.label}"
