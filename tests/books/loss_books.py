"""Triangles, exposures and assumptions for tests of credit losses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

import numpy as np
from hypothesis import strategies as st

from usance.base.codes import FundingModel
from usance.base.dates import last_of_month
from usance.base.parameters import Parameters
from usance.books.losses.assumptions import Assumptions
from usance.books.losses.pools import Exposures
from usance.measure.triangles import Triangle

LAST = 653
AS_OF = last_of_month(LAST)


@cache
def parameters() -> Parameters:
    return Parameters.load()


def assumptions(**changes: object) -> Assumptions:
    """The shipped assumptions with IFRS on the same curves, changed as asked."""
    plain = {"ifrs_multiple": (Fraction(1), Fraction(1)), **changes}
    return replace(Assumptions.at(parameters(), AS_OF), **plain)  # type: ignore[arg-type]


@dataclass(frozen=True)
class LossBook:
    triangle: Triangle
    exposures: Exposures


def loss_book(
    defaulted: list[list[list[int]]],
    originated: list[list[int]],
    exposure: list[list[list[int]]],
    models: list[FundingModel],
    recovered: list[list[list[int]]] | None = None,
) -> LossBook:
    """A book from cumulative amounts by segment, cohort and age; the rest is filled with zeros."""
    size = len(originated[0])
    cohorts = np.arange(LAST - size + 1, LAST + 1, dtype=np.int16)
    limits = (LAST - cohorts).astype(np.int16)
    known = np.arange(size) <= limits[:, None]
    shape = (len(models), size, size)
    base = np.where(known, np.array(originated, np.int64)[:, :, None], 0)
    losses = np.where(known, np.array(defaulted, np.int64), 0)
    back = np.zeros(shape, np.int64) if recovered is None else np.array(recovered, np.int64)
    heavy = np.array([model is FundingModel.CAPITAL_HEAVY for model in models])[:, None, None]
    triangle = Triangle(
        np.arange(1, len(models) + 1, dtype=np.int16), cohorts, limits, base,
        np.where(heavy, losses, 0), np.where(heavy, 0, losses), np.where(known, back, 0),
    )  # fmt: skip
    minor = np.array(exposure, np.int64)
    return LossBook(triangle, Exposures(np.array(models), minor))


LOSS_MODELS = (
    FundingModel.CAPITAL_HEAVY,
    FundingModel.ON_BALANCE_SHEET,
    FundingModel.CAPITAL_LIGHT,
)


@st.composite
def loss_books(draw: st.DrawFn) -> LossBook:
    """Any book of one to three segments and up to 24 vintages, of any quality."""
    size = draw(st.integers(1, 24))
    models = draw(st.lists(st.sampled_from(LOSS_MODELS), min_size=1, max_size=3))
    seed = draw(st.integers(0, 2**32 - 1))
    chance = np.random.default_rng(seed)
    shape = (len(models), size)
    originated = chance.integers(0, 10**9, shape) * (chance.random(shape) < 0.9)
    steps = chance.random((*shape, size)) * draw(st.sampled_from([0.0, 0.001, 0.01]))
    defaulted = (np.cumsum(steps, 2).clip(0, 1) * originated[:, :, None]).astype(np.int64)
    back = (defaulted * chance.random()).astype(np.int64)
    left = (originated * chance.random(shape)).astype(np.int64) * (chance.random(shape) < 0.8)
    parts = chance.dirichlet([8, 1, 1], shape)
    later = [(left * parts[..., stage]).astype(np.int64) for stage in (1, 2)]
    exposure = np.stack([left - later[0] - later[1], *later])
    return loss_book(
        defaulted.tolist(), originated.tolist(), exposure.tolist(), models, back.tolist()
    )
