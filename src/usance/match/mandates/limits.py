"""The limits of a file of mandates, numbered once: what each counts, for whom and how much.

The number of a limit is the one in `limits.limit` and `routing.binding_limit`; 0 is none.

>>> Scope.REGION.name
'REGION'
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from usance.base.codes import Product, Scope
from usance.base.money import Money
from usance.base.rates import PPM, Rate
from usance.match.mandates.mandate import NO_LIMIT, Mandate, Mandates, Measure


class LimitKind(StrEnum):
    """What a limit is."""

    TOTAL = "total budget"
    MONTH = "monthly budget"
    DAY = "daily budget"
    MINIMUM = "minimum take"
    MIX = "share or average"
    BORROWER = "borrower limit"
    GUARANTEE = "guarantee leverage"
    MICROCREDIT = "microcredit leverage"
    LIQUIDITY = "liquidity"
    MODEL_MAX = "most of a model"
    MODEL_MIN = "least of a model"


PLATFORM_ROOMS = (LimitKind.GUARANTEE, LimitKind.MICROCREDIT, LimitKind.LIQUIDITY)
BUDGETS = (LimitKind.TOTAL, LimitKind.MONTH, LimitKind.DAY)


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit; `column` is the position of its mandate in the file, -1 the platform's own."""

    number: int
    kind: LimitKind
    column: int
    bound: int
    """Minor units of a budget or take, parts per million of a share or average."""
    text: str
    member: int = 0
    """The place in the mandate's mix, or the model of a target mix."""


def list_limits(mandates: Mandates) -> tuple[Limit, ...]:
    """Every limit of the file, the platform's own first."""
    found: list[Limit] = []

    def add(kind: LimitKind, column: int, bound: int, text: str, member: int = 0) -> None:
        found.append(Limit(len(found) + 1, kind, column, bound, text, member))

    platform = mandates.platform
    rooms = (platform.guarantee_minor, platform.microcredit_minor, platform.liquidity_minor)
    for kind, room_minor in zip(PLATFORM_ROOMS, rooms, strict=True):
        if room_minor != NO_LIMIT:
            add(kind, -1, room_minor, f"{kind}: {Money(room_minor, mandates.currency)}")
    for each in platform.mix:
        if each.most_ppm < PPM:
            text = f"{each.model.label} at most {Rate(each.most_ppm)} of everything"
            add(LimitKind.MODEL_MAX, -1, each.most_ppm, text, int(each.model))
        if each.least_ppm > 0:
            text = f"{each.model.label} at least {Rate(each.least_ppm)} of everything"
            add(LimitKind.MODEL_MIN, -1, each.least_ppm, text, int(each.model))
    for column, mandate in enumerate(mandates.mandates):
        for kind, bound, text, member in _of_mandate(mandate, mandates):
            add(kind, column, bound, f"source {mandate.source}: {text}", member)
    return tuple(found)


def source_tables(mandates: Mandates) -> dict[str, Any]:
    """The mandates as the tables `sources` and `limits` of a book."""
    from usance.base.columns import make, sort
    from usance.base.dates import to_day
    from usance.base.tables import table

    rows = sorted(mandates.mandates, key=lambda each: (each.source, each.version))
    sources = make(
        "sources",
        source=[each.source for each in rows],
        version=[each.version for each in rows],
        valid_from=[to_day(each.valid_from) for each in rows],
        valid_to=[to_day(each.valid_to) for each in rows],
        institution=[each.institution or each.source for each in rows],
        entity=[each.entity for each in rows],
        model=[int(each.model) for each in rows],
        coupon_ppm=[each.coupon_ppm for each in rows],
        fee_ppm=[each.fee_ppm for each in rows],
        trigger_days=[each.guarantee.trigger_days for each in rows],
        guarantor=[each.guarantee.guarantor for each in rows],
        co_share_ppm=[each.co_share_ppm for each in rows],
        settlement_lag=[each.settlement_lag for each in rows],
    )
    scoped = [(limit, _scope(limit, mandates)) for limit in list_limits(mandates)]
    kept = [(limit, scope) for limit, scope in scoped if scope is not None]
    money = [limit.kind in BUDGETS for limit, _ in kept]
    limits = make(
        "limits",
        source=[mandates.mandates[limit.column].source for limit, _ in kept],
        version=[mandates.mandates[limit.column].version for limit, _ in kept],
        limit=[limit.number for limit, _ in kept],
        scope=[int(scope) for _, scope in kept],
        amount_minor=[limit.bound if m else -1 for (limit, _), m in zip(kept, money, strict=True)],
        share_ppm=[-1 if m else limit.bound for (limit, _), m in zip(kept, money, strict=True)],
    )
    return {"sources": sources, "limits": sort(limits, table("limits"))}


def _of_mandate(mandate: Mandate, book: Mandates) -> list[tuple[LimitKind, int, str, int]]:
    budgets = mandate.budgets
    bounds = (budgets.total_minor, budgets.month_minor, budgets.day_minor)
    found = [
        (kind, bound, f"{kind} {Money(bound, book.currency)}", 0)
        for kind, bound in zip(BUDGETS, bounds, strict=True)
        if bound != NO_LIMIT
    ]
    if mandate.minimum_take is not None:
        bound = mandate.minimum_take.amount_minor
        kind = LimitKind.MINIMUM
        found.append((kind, bound, f"{kind} {Money(bound, book.currency)}", 0))
    if mandate.eligibility.borrower_minor != NO_LIMIT:
        kind, bound = LimitKind.BORROWER, mandate.eligibility.borrower_minor
        found.append((kind, bound, f"{kind} {Money(bound, book.currency)}", 0))
    for position, each in enumerate(mandate.mix):
        found.append((LimitKind.MIX, each.bound_ppm, _mix_text(each, book), position))
    return found


def _mix_text(each: Any, book: Mandates) -> str:
    names: dict[Measure, Callable[[int], str]] = {
        Measure.REGION: book.regions.shown,
        Measure.PRODUCT: lambda member: Product(member).label,
        Measure.GRADE: str,
    }
    bound = Rate(each.bound_ppm)
    if each.measure in names:
        return f"{each.measure} {names[each.measure](each.member)} at most {bound}"
    if each.measure is Measure.AVERAGE_RATE_MIN:
        return f"average rate at least {bound}"
    what = "average rate" if each.measure is Measure.AVERAGE_RATE_MAX else "expected loss"
    return f"{what} at most {bound}"


def _scope(limit: Limit, mandates: Mandates) -> Scope | None:
    """The scope in the table of limits; averages, takes and platform limits have none there."""
    own = {
        LimitKind.TOTAL: Scope.TOTAL, LimitKind.MONTH: Scope.MONTH, LimitKind.DAY: Scope.DAY,
    }  # fmt: skip
    if limit.kind in own:
        return own[limit.kind]
    if limit.kind is not LimitKind.MIX:
        return None
    measure = mandates.mandates[limit.column].mix[limit.member].measure
    shares = {
        Measure.REGION: Scope.REGION, Measure.GRADE: Scope.BAND, Measure.PRODUCT: Scope.PRODUCT,
    }  # fmt: skip
    return shares.get(measure)
