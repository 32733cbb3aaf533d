"""Limits of a loan by name: what each candidate draws on, and the ceiling it is judged by.

A name is `source/kind/dimension/period` and holds no version: a new version of a mandate changes
the ceiling, not the use. The period is a day, a month, or the first day the mandate counts from.
A share or average has a numerator of its own and the denominator of its source: it is kept while

    numerator ≤ ceiling (ppm) × denominator

where the numerator sums amount × 1,000,000 of the loans with the property, amount × value of an
average, or the negative of both for a lower bound. So every limit is a name, an amount to draw, a
ceiling and, for these, the name of the whole.

>>> from datetime import date
>>> from usance.match.mandates.mandate import Budgets, ConcentrationLimit, Measure
>>> bank = Mandate(
...     source=7, version=2, valid_from=date(2024, 4, 1), valid_to=date(2024, 12, 31),
...     counts_from=date(2024, 1, 1), model=FundingModel.ICE, fee_ppm=27_000,
...     budgets=Budgets(day_minor=100_000_00, total_minor=9_000_000_00),
...     concentration_limits=(ConcentrationLimit(Measure.REGION, 80_000, 4),),
... )  # fmt: skip
>>> request = LimitRequest(person_id=1, amount_minor=5_000_00, on=date(2024, 6, 3), product=1,
...                        region=4, grade=3, rate_ppm=240_000)  # fmt: skip
>>> for draw in limits_of(Mandates((bank,)), 0, request):
...     print(draw.name, draw.amount, draw.ceiling, draw.whole)
7/total/all/2024-01-01 500000 900000000
7/day/all/2024-06-03 500000 10000000
7/placed/all/2024-01-01 500000 4611686018427387904
7/region/4/2024-01-01 500000000000 80000 7/placed/all/2024-01-01
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import NamedTuple

from usance.base.codes import FundingModel
from usance.base.rates import PPM
from usance.match.mandates.co_funding import partners_of
from usance.match.mandates.columns import UNLIMITED
from usance.match.mandates.concentration import AVERAGES, SHARES
from usance.match.mandates.limits import PLATFORM_LIMITS, Limit, LimitKind, list_limits
from usance.match.mandates.mandate import ConcentrationLimit, Mandate, Mandates, Measure

PLATFORM = "platform"
_BUDGET_NAMES = {LimitKind.TOTAL: "total", LimitKind.MONTH: "month", LimitKind.DAY: "day"}
_PLATFORM_NAMES = {
    LimitKind.GUARANTEE: "guarantee",
    LimitKind.MICROCREDIT: "microcredit",
    LimitKind.LIQUIDITY: "liquidity",
}


class LimitRequest(NamedTuple):
    """A loan as limits see it; `person_id` counts over all users of one person."""

    person_id: int
    amount_minor: int
    on: date
    """Day of the platform's clocks."""
    product: int
    region: int
    grade: int
    rate_ppm: int


class LimitDraw(NamedTuple):
    """An amount that a loan draws on one limit."""

    name: str
    amount: int
    """Minor units; of the numerator of a share or average times parts per million."""
    ceiling: int
    """Minor units; of a share or average parts per million of the whole."""
    whole: str = ""
    """Name of the denominator, for a share or average."""
    ramp_minor: int = 0
    """Of the whole: before this much a share is not judged."""
    number: int = 0
    """The limit's number in `list_limits`; 0 of a denominator, which limits nothing itself."""


class NamedLimits:
    """The limits of a file of mandates, ready to be drawn on."""

    def __init__(self, mandates: Mandates) -> None:
        self.mandates = mandates
        self._own: list[list[Limit]] = [[] for _ in mandates.mandates]
        self._platform: list[Limit] = []
        self._partners = [partners_of(each, mandates.mandates) for each in mandates.mandates]
        # Shares last: their denominator comes before them.
        for limit in sorted(list_limits(mandates), key=_is_share):
            (self._own[limit.column] if limit.column >= 0 else self._platform).append(limit)

    def of(self, column: int, request: LimitRequest) -> tuple[LimitDraw, ...]:
        """Every limit that a loan with a mandate draws on, platform limits included."""
        mandate = self.mandates.mandates[column]
        return (
            *_of_mandate(mandate, self._own[column], self.mandates, request),
            *self._of_partner(mandate, self._partners[column], request),
            *_of_platform(self.mandates, self._platform, mandate, request),
        )

    def _of_partner(
        self, lead: Mandate, partners: list[int], request: LimitRequest
    ) -> Iterator[LimitDraw]:
        """Budgets that the partner's part of a loan is drawn on."""
        part = lead.partner_part_minor(request.amount_minor)
        for place in partners if part else ():
            mandate = self.mandates.mandates[place]
            if mandate.valid_from <= request.on <= mandate.valid_to:
                for limit in self._own[place]:
                    if limit.kind in _BUDGET_NAMES:
                        name = _budget_name(mandate, limit.kind, request.on)
                        yield LimitDraw(name, part, limit.bound, number=limit.number)


def limits_of(mandates: Mandates, column: int, request: LimitRequest) -> tuple[LimitDraw, ...]:
    """Every limit that one loan with a mandate draws on; `NamedLimits` serves many."""
    return NamedLimits(mandates).of(column, request)


def _is_share(limit: Limit) -> bool:
    return limit.kind in (LimitKind.CONCENTRATION, LimitKind.MODEL_MAX)


def breaks_share(
    used: int, amount: int, ceiling_ppm: int, whole_used: int, whole_amount: int, ramp_minor: int
) -> bool:
    """True if a draw on a numerator would leave it above its share, and makes it worse.

    >>> breaks_share(0, 500_000_000, 80_000, 0, 500, ramp_minor=0)
    True
    >>> breaks_share(0, 500_000_000, 80_000, 9_500, 500, ramp_minor=0)
    False
    """
    worsens = amount > ceiling_ppm * whole_amount
    whole = whole_used + whole_amount
    return worsens and whole > ramp_minor and used + amount > ceiling_ppm * whole


def total_limit(mandate: Mandate) -> str:
    """The name of a mandate's budget for all time, which revolves where its money does."""
    return _budget_name(mandate, LimitKind.TOTAL, mandate.since)


def _budget_name(mandate: Mandate, kind: LimitKind, on: date) -> str:
    period = {LimitKind.TOTAL: mandate.since.isoformat(), LimitKind.MONTH: f"{on:%Y-%m}"}
    return f"{mandate.source}/{_BUDGET_NAMES[kind]}/all/{period.get(kind, on.isoformat())}"


def _of_mandate(
    mandate: Mandate, limits: list[Limit], mandates: Mandates, request: LimitRequest
) -> Iterator[LimitDraw]:
    amount, source, since = request.amount_minor, mandate.source, mandate.since.isoformat()
    lent = mandate.source_part_minor(amount)
    whole = f"{source}/placed/all/{since}"
    has_whole = False
    for limit in limits:
        if limit.kind in _BUDGET_NAMES:
            name = _budget_name(mandate, limit.kind, request.on)
            yield LimitDraw(name, lent, limit.bound, number=limit.number)
        elif limit.kind is LimitKind.BORROWER:
            name = f"{source}/borrower/{request.person_id}/{since}"
            yield LimitDraw(name, amount, limit.bound, number=limit.number)
        elif limit.kind is LimitKind.CONCENTRATION:
            if not has_whole:
                has_whole = True
                yield LimitDraw(whole, amount, UNLIMITED)
            share = mandate.concentration_limits[limit.member]
            drawn, ceiling = _numerator(share, mandates, request)
            if drawn:
                dimension = share.member if share.measure in SHARES else "all"
                name = f"{source}/{share.measure}/{dimension}/{since}"
                yield LimitDraw(name, drawn, ceiling, whole, mandate.ramp_minor, limit.number)


def _numerator(
    limit: ConcentrationLimit, mandates: Mandates, request: LimitRequest
) -> tuple[int, int]:
    """Draw on the numerator of a share or average, and its ceiling."""
    amount = request.amount_minor
    if limit.measure in SHARES:
        value = getattr(request, SHARES[limit.measure].column)
        return (amount * PPM if value == limit.member else 0), limit.bound_ppm
    value = request.rate_ppm
    if limit.measure is Measure.EXPECTED_LOSS:
        value = mandates.platform.losses[request.grade]
    sign = -1 if AVERAGES[limit.measure].at_least else 1
    return sign * amount * value, sign * limit.bound_ppm


def _of_platform(
    mandates: Mandates, limits: list[Limit], mandate: Mandate, request: LimitRequest
) -> Iterator[LimitDraw]:
    period = mandates.period[0].isoformat() if mandates.period else "always"
    amount, whole = request.amount_minor, f"{PLATFORM}/placed/all/{period}"
    has_whole = False
    for limit in limits:
        if limit.kind in PLATFORM_LIMITS:
            used = amount * PLATFORM_LIMITS[limit.kind].use_ppm(mandate) // PPM
            if used:
                name = f"{PLATFORM}/{_PLATFORM_NAMES[limit.kind]}/all/{period}"
                yield LimitDraw(name, used, limit.bound, number=limit.number)
        elif limit.kind is LimitKind.MODEL_MAX:
            if not has_whole:
                has_whole = True
                yield LimitDraw(whole, amount, UNLIMITED)
            if limit.member == mandate.model:
                name = f"{PLATFORM}/model/{FundingModel(limit.member).label}/{period}"
                ramp = mandates.platform.ramp_minor
                yield LimitDraw(name, amount * PPM, limit.bound, whole, ramp, limit.number)
