"""The part of a scenario file about institutions: how many, their terms, who lends with whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from usance.base.codes import FundingModel
from usance.base.fields import Fields, Reader, one_of, whole_of
from usance.base.rates import PPM
from usance.world.scenario.scenario import CoFundingPair, Funding
from usance.world.scenario.sections import Part, built, needed, optional
from usance.world.scenario.values import (
    annual,
    by_name,
    code,
    day_count,
    factor,
    month,
    share,
)

_MODEL = one_of(FundingModel)
_PLACE = whole_of(1, 2_000)


def read_funding(given: Fields) -> tuple[Funding | None, ...]:
    """The institutions of each model."""
    return tuple(
        built(Funding, each, {**_INSTITUTIONS, **_TERMS}) for each in given.each("funding")
    )


def read_later_funding(
    given: Fields, first: Sequence[Funding | None]
) -> dict[int, tuple[Funding, ...]]:
    """The same institutions on later terms: each entry has its first month and what differs."""
    known = {each.model: each for each in first if each is not None}
    found: dict[int, tuple[Funding, ...]] = {}
    for each in given.each("funding_from"):
        model, since = each.need_or_none("model", _MODEL), each.need_or_none("from", month)
        earlier = known.get(model) if model is not None else None
        terms: dict[str, Any] = {n: each.take(key, read) for n, (key, read) in _DATED.items()}
        each.close()
        if model is not None and earlier is None and None not in first:
            each.wrong(f"{model.label} has no funding before", "Name a model of funding", "model")
        if earlier is not None and since is not None:
            later = replace(earlier, **{k: v for k, v in terms.items() if v is not None})
            known[earlier.model] = later
            found[since] = (*found.get(since, ()), later)
    return found


_PAIR: Mapping[str, Part] = {
    "lead": needed("lead", _PLACE), "partner": needed("partner", _PLACE),
    "share_ppm": needed("share", share),
}  # fmt: skip
_FEES: Mapping[str, tuple[str, Reader[int]]] = {
    "coupon_ppm": ("coupon", annual),
    "fee_ppm": ("fee", share),
    "guarantee_fee_ppm": ("guarantee_fee", share),
    "service_fee_ppm": ("service_fee", share),
    "upfront_fee_ppm": ("upfront_fee", share),
}
_DATED = {**_FEES, "hazard_ppm": ("hazard", factor)}
"""Terms that may change with time."""
_TERMS: Mapping[str, Part] = {name: optional(key, read, 0) for name, (key, read) in _FEES.items()}
_INSTITUTIONS: Mapping[str, Part] = {
    "model": needed("model", _MODEL),
    "sources": needed("sources", _PLACE),
    "trigger_days": optional("trigger_days", day_count, 60),
    "approval_ppm": needed("approval", share),
    "head_room_ppm": needed("head_room", factor),
    "eligible_ppm": needed("eligible", share),
    "entity": optional("entity", code, 1),
    "hazard_ppm": optional("hazard", factor, PPM),
    "settlement_days": optional("settlement_days", whole_of(0, 14), 1),
    "tenor_ppm": lambda given: (
        by_name(given, "tenors", whole_of(1, 60), factor) if "tenors" in given else {}
    ),
    "co_funding": lambda given: tuple(
        built(CoFundingPair, each, _PAIR) for each in given.each("co_funding")
    ),
}
