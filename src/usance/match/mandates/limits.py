"""The limits of a file of mandates, numbered once: kind, mandate and bound of each.

The number of a limit is the one in `limits.limit` and `routing.binding_limit`; 0 is none. A new
limit of the platform is a field of `Platform` with its key in `file`, and a row of
`PLATFORM_LIMITS` here; a new concentration limit is described in `concentration`.

>>> from usance.match.mandates.mandate import Platform
>>> [limit.text for limit in list_limits(Mandates((), platform=Platform(liquidity_minor=5_00)))]
['liquidity: 5.00 CNY']
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from usance.base.codes import FundingModel
from usance.base.money import Money
from usance.base.rates import PPM, Rate
from usance.match.mandates.concentration import limit_text
from usance.match.mandates.mandate import NO_LIMIT, Mandate, Mandates, Platform


class LimitKind(StrEnum):
    """Kinds of limits, in words."""

    TOTAL = "total budget"
    MONTH = "monthly budget"
    DAY = "daily budget"
    MINIMUM = "minimum take"
    CONCENTRATION = "share or average"
    BORROWER = "borrower limit"
    GUARANTEE = "guarantee leverage"
    MICROCREDIT = "microcredit leverage"
    LIQUIDITY = "liquidity"
    MODEL_MAX = "most of a model"
    MODEL_MIN = "least of a model"


class PlatformLimit(NamedTuple):
    """A limit of the platform on loans of all sources together."""

    bound_minor: Callable[[Platform], int]
    use_ppm: Callable[[Mandate], int]
    """Part of a loan with a mandate that counts against it."""


def _guaranteed_ppm(mandate: Mandate) -> int:
    heavy = mandate.model is FundingModel.CAPITAL_HEAVY
    return PPM - mandate.co_share_ppm if heavy and not mandate.guarantee.guarantor else 0


PLATFORM_LIMITS = {
    LimitKind.GUARANTEE: PlatformLimit(lambda own: own.guarantee_minor, _guaranteed_ppm),
    LimitKind.MICROCREDIT: PlatformLimit(
        lambda own: own.microcredit_minor,
        lambda mandate: PPM - mandate.co_share_ppm if mandate.microcredit else 0,
    ),
    LimitKind.LIQUIDITY: PlatformLimit(
        lambda own: own.liquidity_minor, lambda mandate: mandate.co_share_ppm
    ),
}
PLATFORM_KINDS = tuple(PLATFORM_LIMITS)
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
    """Position among the mandate's concentration limits, or the model of a model share."""


def list_limits(mandates: Mandates) -> tuple[Limit, ...]:
    """Every limit of the file, the platform's own first."""
    rows = [(-1, *each) for each in _of_platform(mandates)]
    for column, mandate in enumerate(mandates.mandates):
        label = mandates.label_of(mandate)
        for kind, bound, text, member in _of_mandate(mandate, mandates):
            rows.append((column, kind, bound, f"{label}: {text}", member))
    return tuple(
        Limit(number, kind, column, bound, text, member)
        for number, (column, kind, bound, text, member) in enumerate(rows, start=1)
    )


def _of_platform(mandates: Mandates) -> Iterator[tuple[LimitKind, int, str, int]]:
    platform = mandates.platform
    for kind, limit in PLATFORM_LIMITS.items():
        bound = limit.bound_minor(platform)
        if bound != NO_LIMIT:
            yield kind, bound, f"{kind}: {Money(bound, mandates.currency)}", 0
    for each in platform.model_shares:
        if each.max_ppm < PPM:
            text = f"{each.model.label} at most {Rate(each.max_ppm)} of everything"
            yield LimitKind.MODEL_MAX, each.max_ppm, text, int(each.model)
        if each.min_ppm > 0:
            text = f"{each.model.label} at least {Rate(each.min_ppm)} of everything"
            yield LimitKind.MODEL_MIN, each.min_ppm, text, int(each.model)


def _of_mandate(mandate: Mandate, mandates: Mandates) -> Iterator[tuple[LimitKind, int, str, int]]:
    budgets, take = mandate.budgets, mandate.minimum_take
    amounts = {
        LimitKind.TOTAL: budgets.total_minor,
        LimitKind.MONTH: budgets.month_minor,
        LimitKind.DAY: budgets.day_minor,
        LimitKind.MINIMUM: NO_LIMIT if take is None else take.amount_minor,
        LimitKind.BORROWER: mandate.eligibility.borrower_minor,
    }
    for kind, bound in amounts.items():
        if bound != NO_LIMIT:
            yield kind, bound, f"{kind} {Money(bound, mandates.currency)}", 0
    for position, each in enumerate(mandate.concentration_limits):
        yield LimitKind.CONCENTRATION, each.bound_ppm, limit_text(each, mandates), position
