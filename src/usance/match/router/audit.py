"""Every limit recomputed from what was routed, by other means than the kernel's.

Sums over the placed loans, one mandate at a time, in plain NumPy: budgets by day, by month and in
total, eligibility, borrowers, platform limits, and concentration at the end. Nothing is taken from
the router's own sums. A resumed stream begins with the use of the earlier one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from usance.base.arrays import I64, Bools
from usance.base.codes import FundingModel
from usance.base.dates import from_day, to_day, to_month
from usance.base.rates import PPM
from usance.match.mandates.co_funding import partners_of
from usance.match.mandates.columns import MEASURES
from usance.match.mandates.concentration import weights_ppm
from usance.match.mandates.limits import PLATFORM_LIMITS
from usance.match.mandates.mandate import (
    NO_LIMIT,
    ConcentrationLimit,
    EventKind,
    Mandate,
    Mandates,
    MinimumTake,
)
from usance.match.router.checkpoint import by_model
from usance.match.router.releases import revolves
from usance.match.router.request_rows import RequestRows
from usance.match.router.requests import Requests
from usance.match.router.router import RoutingResult


@dataclass
class Audit:
    """Breaches of limits, and minimum takes that were missed."""

    violations: list[str] = field(default_factory=list)
    concentration_breaches: list[str] = field(default_factory=list)
    shortfalls: list[tuple[int, MinimumTake]] = field(default_factory=list)


def audit(result: RoutingResult, mandates: Mandates) -> Audit:
    """Every breach of a limit, with the source and the limit."""
    found = Audit()
    requests, column = result.requests, result.column
    for number, mandate in enumerate(mandates.mandates):
        here = np.flatnonzero(column == number)
        name = mandates.label_of(mandate)
        lent = _lent(mandate, requests.amount_minor[here])
        found.violations += [
            f"{name}: {what}" for what in _ineligible(mandate, mandates, result, here)
        ]
        rows, drawn = _with_partner_parts(number, mandates, result, here, lent)
        found.violations += [
            f"{name}: {what}" for what in _budgets(mandate, mandates, result, rows, drawn)
        ]
        found.concentration_breaches += [
            f"{name}: {each.measure}"
            for each in mandate.concentration_limits
            if _breaks(each, number, mandates, result)
        ]
        if mandate.minimum_take is not None:
            lent_before = _lent(mandate, _before(result, mandate, "placed")).sum()
            short = mandate.minimum_take.amount_minor - int(lent.sum() + lent_before)
            if short > 0:
                found.shortfalls.append((short, mandate.minimum_take))
    found.violations += _platform(result, mandates)
    found.concentration_breaches += _models(result, mandates)
    return found


def _before(result: RoutingResult, mandate: Mandate, name: str) -> I64:
    """Use of a mandate by an earlier stream: one number or none."""
    if result.resumed_from is None:
        return np.zeros(0, np.int64)
    own = (result.resumed_from["source"] == mandate.source) & (
        result.resumed_from["version"] == mandate.version
    )
    found: I64 = result.resumed_from[name][own]
    return found


def _lent(mandate: Mandate, amount: I64) -> I64:
    if mandate.co_funding is not None:
        return amount - _partner_parts(mandate, amount)
    part: I64 = amount - amount * mandate.co_share_ppm // PPM
    return part


def _partner_parts(lead: Mandate, amount: I64) -> I64:
    return np.array([lead.partner_part_minor(each) for each in amount.tolist()], np.int64)


def _with_partner_parts(
    number: int, mandates: Mandates, result: RoutingResult, here: I64, lent: I64
) -> tuple[I64, I64]:
    """Rows and amounts that a mandate lent, of its own loans and of those it is partner of."""
    own = mandates.mandates[number]
    first, last = to_day(own.valid_from), to_day(own.valid_to)
    rows, parts = [here], [lent]
    for column, lead in enumerate(mandates.mandates):
        if number in partners_of(lead, mandates.mandates):
            day = result.rows.day
            with_it = np.flatnonzero((result.column == column) & (first <= day) & (day <= last))
            rows.append(with_it)
            parts.append(_partner_parts(lead, result.requests.amount_minor[with_it]))
    order = np.argsort(np.concatenate(rows), kind="stable")
    return np.concatenate(rows)[order], np.concatenate(parts)[order]


def _ineligible(
    mandate: Mandate, mandates: Mandates, result: RoutingResult, here: I64
) -> Iterator[str]:
    """Rules that exclude a loan placed with the mandate."""
    own = mandate.eligibility
    masks = exclusions(mandate, mandates, result.requests.take(here), result.rows.take(here))
    yield from (name for name, mask in masks.items() if mask.any())
    limited = own.borrower_minor != NO_LIMIT and len(here)
    if limited and _most_of_one(mandate, result, here) > own.borrower_minor:
        yield "borrower limit"


def _most_of_one(mandate: Mandate, result: RoutingResult, here: I64) -> int:
    """The most one borrower of this stream has from a mandate."""
    users, user = np.unique(result.requests.user_id[here], return_inverse=True)
    has = np.bincount(user, result.requests.amount_minor[here])
    if result.resumed_from is not None:
        held = result.resumed_from["borrower_column"]
        known = result.resumed_from["source"][held] == mandate.source
        known &= result.resumed_from["version"][held] == mandate.version
        known &= np.isin(result.resumed_from["borrower"], users)
        place = np.searchsorted(users, result.resumed_from["borrower"][known])
        np.add.at(has, place, result.resumed_from["borrowed"][known])
    return int(has.max())


def _budgets(
    mandate: Mandate, mandates: Mandates, result: RoutingResult, here: I64, lent: I64
) -> Iterator[str]:
    days, day = np.unique(result.rows.day[here], return_inverse=True)
    months = np.array([to_month(from_day(int(each))) for each in days], np.int64)
    budgets = mandate.budgets
    by_day = np.bincount(day, lent, len(days)) if len(here) else np.zeros(0)
    by_month = {int(m): int(by_day[months == m].sum()) for m in np.unique(months)}
    if result.resumed_from is not None and (today := int(result.resumed_from["today"])) >= 0:
        by_day[days == today] += _before(result, mandate, "used_day").sum()
        month = to_month(from_day(today))
        if month in by_month:
            by_month[month] += int(_before(result, mandate, "used_month").sum())
    if budgets.day_minor != NO_LIMIT and by_day.max(initial=0) > budgets.day_minor:
        yield "daily budget"
    if budgets.month_minor != NO_LIMIT and max(by_month.values(), default=0) > budgets.month_minor:
        yield "monthly budget"
    out = np.cumsum(lent) - _released(mandate, result, here)
    out += _before(result, mandate, "used_total").sum()
    if (out > _total_at(mandate, mandates, result.requests.requested_at[here])).any():
        yield "total budget"


def _total_at(mandate: Mandate, mandates: Mandates, moments: I64) -> I64:
    """The total budget of a mandate at each moment, as events have changed it."""
    budget_minor = mandate.budgets.total_minor
    largest = np.iinfo(np.int64).max
    budget = np.full(len(moments), largest if budget_minor == NO_LIMIT else budget_minor)
    for event in mandates.events:
        if event.source == mandate.source and event.kind is EventKind.TOTAL_BUDGET:
            budget[moments >= event.moment] = event.value
    return budget


def _released(mandate: Mandate, result: RoutingResult, here: I64) -> I64:
    """Principal released to lend again before each loan of a mandate."""
    releases = result.releases
    own = [
        (int(day), int(principal))
        for day, source, principal in zip(
            releases.day, releases.source, releases.principal_minor, strict=True
        )
        if source == mandate.source and revolves(mandate, int(day))
    ]
    days = np.array([day for day, _ in own], np.int64)
    sums = np.cumsum([0, *(principal for _, principal in own)])
    released: I64 = sums[np.searchsorted(days, result.rows.day[here], side="right")]
    return released


def _breaks(
    limit: ConcentrationLimit, column: int, mandates: Mandates, result: RoutingResult
) -> bool:
    """True if a loan beyond the ramp broke a concentration limit when it was placed.

    Loans of earlier versions that count from the same day are part of what a version holds.
    """
    mandate = mandates.mandates[column]
    before = [
        number
        for number, each in enumerate(mandates.mandates)
        if (each.source, each.since, each.model) == (mandate.source, mandate.since, mandate.model)
        and each.valid_from <= mandate.valid_from
    ]
    here = np.flatnonzero(np.isin(result.column, before))
    requests = result.requests.take(here)
    weight = weights_ppm(limit, requests, mandates)
    excess, placed = 0, 0
    if result.resumed_from is not None:
        key = [mandate.source, mandate.version, MEASURES.index(limit.measure), limit.member,
               limit.bound_ppm]  # fmt: skip
        same = (result.resumed_from["concentration_key"] == key).all(axis=1)
        excess = int(result.resumed_from["concentration_excess"][same].sum())
        placed = int(_before(result, mandate, "placed").sum())
    # In Python's own integers: a long stream of large loans does not fit into 64 bits.
    for amount, each, own in zip(
        requests.amount_minor.tolist(), weight.tolist(), result.column[here].tolist(), strict=True
    ):
        excess, placed = excess + amount * each, placed + amount
        if own == column and each > 0 and excess > 0 and placed > mandate.ramp_minor:
            return True
    return False


def _platform(result: RoutingResult, mandates: Mandates) -> Iterator[str]:
    placed = result.column >= 0
    column, amount = result.column[placed], result.requests.amount_minor[placed]
    for number, (kind, limit) in enumerate(PLATFORM_LIMITS.items()):
        bound = limit.bound_minor(mandates.platform)
        use_ppm = np.array([limit.use_ppm(each) for each in mandates.mandates], np.int64)
        used = int((amount * use_ppm[column] // PPM).sum())
        if result.resumed_from is not None:
            used += int(result.resumed_from["platform_used"][number])
        if bound != NO_LIMIT and amount.size and used > bound:
            yield str(kind)


def _models(result: RoutingResult, mandates: Mandates) -> Iterator[str]:
    """Models whose maximum share of everything placed was broken by a loan beyond the ramp."""
    placed = result.column >= 0
    amounts = result.requests.amount_minor[placed].tolist()
    models = result.columns.model[result.column[placed]].tolist()
    before = np.zeros(len(FundingModel), np.int64)
    if result.resumed_from is not None:
        before += by_model(result.resumed_from["placed"], result.resumed_from["model"])
        before += result.resumed_from["closed_placed"]
    for each in mandates.platform.model_shares:
        own, whole = int(before[each.model]), int(before.sum())
        for amount, model in zip(amounts, models, strict=True):
            own, whole = own + (amount if model == each.model else 0), whole + amount
            above = own * PPM > whole * each.max_ppm and whole > mandates.platform.ramp_minor
            if model == each.model and above:
                yield f"most of {each.model.label}"
                break


def exclusions(
    mandate: Mandate, mandates: Mandates, requests: Requests, rows: RequestRows
) -> dict[str, Bools]:
    """For each rule of a mandate the requests that it excludes, without the kernel."""
    own = mandate.eligibility
    masks = {name: 1 << bit for bit, name in enumerate(mandates.attributes)}
    needs, refuses = (sum(masks[name] for name in names) for names in (own.needs, own.refuses))
    amount, attributes = requests.amount_minor, requests.attributes
    return {
        "amount": (amount < own.min_amount_minor) | (amount > own.max_amount_minor),
        "product": _outside(requests.product, own.products),
        "region": _outside(requests.region, own.regions),
        "grade": _outside(requests.grade, own.grades),
        "channel": _outside(requests.channel, own.channels),
        "tenor": _outside(requests.months, own.months),
        "attributes": (attributes & needs != needs) | (attributes & refuses != 0),
        "blacklist": np.isin(requests.user_id, sorted(own.blacklist)),
        "hours": (rows.second < own.opens) | (rows.second >= own.cut_off),
        "not in force": (rows.day < to_day(mandate.valid_from))
        | (rows.day > to_day(mandate.valid_to))
        | _absent(mandate, mandates, requests),
    }


def _outside(values: I64, allowed: frozenset[Any]) -> Bools:
    if not allowed:
        return np.zeros(len(values), np.bool_)
    return ~np.isin(values, [int(each) for each in allowed])


def _absent(mandate: Mandate, mandates: Mandates, requests: Requests) -> Bools:
    """Requests made while the source had left."""
    absent = np.zeros(len(requests), np.bool_)
    for event in mandates.events:
        if event.source == mandate.source and event.kind in (EventKind.LEAVES, EventKind.RETURNS):
            later = requests.requested_at >= event.moment
            absent[later] = event.kind is EventKind.LEAVES
    return absent
