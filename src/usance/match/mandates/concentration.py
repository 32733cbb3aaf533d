"""Concentration limits by measure: reading them from a file, their wording, and their audit.

A share bounds the part of a source's loans that has one property, an average a value weighted by
amount. A new measure is a member of `Measure`, a row of `SHARES` or `AVERAGES`, and its weight in
`router.rank_kernel.concentration_weight`.

>>> from usance.match.mandates.mandate import ConcentrationLimit, Mandates
>>> limit_text(ConcentrationLimit(Measure.GRADE, 200_000, 4), Mandates(()))
'grade 4 at most 20%'
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from usance.base.arrays import I64
from usance.base.codes import Product
from usance.base.fields import whole_of
from usance.base.rates import PPM, Rate
from usance.match.mandates.field_readers import named_number, product_number
from usance.match.mandates.mandate import ConcentrationLimit, Eligibility, Mandates, Measure, Names

if TYPE_CHECKING:
    from usance.match.router.requests import Requests


@dataclass(frozen=True, slots=True)
class Share:
    """At most a share of what a source lends has a property."""

    column: str
    """Column of the requests that holds the property."""
    reader: Callable[[Names], Callable[[Any, str], int]]
    """Reader of the property in a file, given the names of regions."""
    label: Callable[[int, Mandates], str]
    eligible: Callable[[Eligibility, Mandates], frozenset[int]]
    """Values that a source takes at all."""


@dataclass(frozen=True, slots=True)
class Average:
    """A bound on an average, weighted by amount."""

    title: str
    values_ppm: Callable[[Requests, Mandates], I64]
    at_least: bool = False


def _losses(requests: Requests, mandates: Mandates) -> I64:
    losses = mandates.platform.losses
    return np.array([losses[int(grade)] for grade in requests.grade], np.int64)


SHARES = {
    Measure.REGION: Share(
        "region",
        named_number,
        lambda member, mandates: mandates.regions.label_of(member),
        lambda own, mandates: own.regions or frozenset(mandates.regions.numbers.values()),
    ),
    Measure.GRADE: Share(
        "grade",
        lambda _: whole_of(0, 127),
        lambda member, _: str(member),
        lambda own, mandates: own.grades or frozenset(mandates.platform.losses),
    ),
    Measure.PRODUCT: Share(
        "product",
        lambda _: product_number,
        lambda member, _: Product(member).label,
        lambda own, _: own.products or frozenset(Product),
    ),
}
AVERAGES = {
    Measure.EXPECTED_LOSS: Average("expected loss", _losses),
    Measure.AVERAGE_RATE_MAX: Average("average rate", lambda requests, _: requests.rate_ppm),
    Measure.AVERAGE_RATE_MIN: Average(
        "average rate", lambda requests, _: requests.rate_ppm, at_least=True
    ),
}


def limit_text(limit: ConcentrationLimit, mandates: Mandates) -> str:
    """A limit in words."""
    bound = Rate(limit.bound_ppm)
    if limit.measure in SHARES:
        label = SHARES[limit.measure].label(limit.member, mandates)
        return f"{limit.measure} {label} at most {bound}"
    average = AVERAGES[limit.measure]
    return f"{average.title} at {'least' if average.at_least else 'most'} {bound}"


def weights_ppm(limit: ConcentrationLimit, requests: Requests, mandates: Mandates) -> I64:
    """Weight of each request in a limit; it is kept while Σ amount × weight is not above zero."""
    if limit.measure in SHARES:
        values = getattr(requests, SHARES[limit.measure].column)
        return np.where(values == limit.member, PPM, 0) - limit.bound_ppm
    average = AVERAGES[limit.measure]
    over: I64 = average.values_ppm(requests, mandates) - limit.bound_ppm
    return -over if average.at_least else over
