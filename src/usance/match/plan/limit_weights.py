"""Limits as rows of weights on the amounts placed, by slot of time and mandate."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from usance.base.arrays import F64, I64
from usance.base.dates import from_day, to_month
from usance.base.rates import PPB, PPM
from usance.match.mandates.columns import SourceColumns
from usance.match.mandates.events import max_total_budget
from usance.match.mandates.limits import BUDGETS, PLATFORM_KINDS, Limit, LimitKind
from usance.match.mandates.mandate import Mandates

# A price above this (four times the amount lent) never means anything.
MAX_PRICE = 4.0 * PPB


@dataclass
class LimitWeights:
    """Limits collected one by one, with their numbers in the file; 0 has none there."""

    columns: SourceColumns
    slots: int
    limit: list[I64] = field(default_factory=list)
    cell: list[I64] = field(default_factory=list)
    weight: list[F64] = field(default_factory=list)
    bound: list[float] = field(default_factory=list)
    max_price: list[float] = field(default_factory=list)
    number: list[int] = field(default_factory=list)

    def lent(self, column: int) -> float:
        """The part of a loan a column lends itself."""
        return 1.0 - int(self.columns.others_ppm[column]) / PPM

    def of_column(
        self, number: int, column: int, slots: I64, bound: float, *, at_least: bool = False,
        max_price: float = MAX_PRICE,
    ) -> None:  # fmt: skip
        """A limit on what one column lends in some slots: at most its bound, or at least."""
        sign = -1.0 if at_least else 1.0
        cells = slots * len(self.columns.source) + column
        weights = np.full(len(cells), sign * self.lent(column))
        self._add(number, cells, weights, sign * bound, max_price)

    def of_all(self, number: int, weights: F64, bound: float) -> None:
        """A limit on everything placed, with a weight for each column."""
        columns = len(self.columns.source)
        cells = np.arange(self.slots * columns)
        kept = np.tile(weights, self.slots)
        self._add(number, cells[kept != 0], kept[kept != 0], bound, MAX_PRICE)

    def of_platform(self, limit: Limit, bound: float) -> None:
        """A limit of the platform: the part of each loan that counts against it."""
        use = self.columns.platform_use_ppm[PLATFORM_KINDS.index(limit.kind)]
        self.of_all(limit.number, use / PPM, bound)

    def of_minimum_take(self, limit: Limit, mandates: Mandates, slots: I64, bound: float) -> None:
        """A minimum take; a shortfall costs no more than its fee."""
        take = mandates.mandates[limit.column].minimum_take
        assert take is not None
        fee = float(take.shortfall_fee_ppm) * (PPB // PPM)
        self.of_column(limit.number, limit.column, slots, bound, at_least=True, max_price=fee)

    def _add(self, number: int, cells: I64, weights: F64, bound: float, max_price: float) -> None:
        self.limit.append(np.full(len(cells), len(self.bound), np.int64))
        self.cell.append(cells)
        self.weight.append(weights)
        self.bound.append(bound)
        self.max_price.append(max_price)
        self.number.append(number)

    def arrays(self) -> tuple[I64, I64, F64, F64, F64]:
        """Limit, cell and weight of every entry; bound and highest price of every limit."""
        empty: list[I64] = [np.zeros(0, np.int64)]
        return (
            np.concatenate(self.limit or empty),
            np.concatenate(self.cell or empty),
            np.concatenate(self.weight or [np.zeros(0)]),
            np.array(self.bound, np.float64),
            np.array(self.max_price, np.float64),
        )


def model_weights(columns: SourceColumns, model: int, share_ppm: int) -> F64:
    """Weights of a limit on a model's share of everything placed."""
    weights: F64 = (columns.model == model).astype(np.float64) - share_ppm / PPM
    return weights


def add_limit(
    weights: LimitWeights, limit: Limit, mandates: Mandates, day: I64, ramp: float, *,
    by_day: bool,
) -> None:  # fmt: skip
    """Add one limit; daily and monthly budgets for each day or month, or for their sum.

    `day` is the day of each slot; before the `ramp` is placed a model share is not judged.
    """
    kind, column, every = limit.kind, limit.column, np.arange(weights.slots)
    if kind is LimitKind.TOTAL:
        weights.of_column(limit.number, column, every, float(max_total_budget(mandates, limit)))
    elif kind in BUDGETS:
        month = np.array([to_month(from_day(int(each))) for each in day])
        key = day if kind is LimitKind.DAY else month
        times = len(np.unique(key))
        groups = [np.flatnonzero(key == each) for each in np.unique(key)] if by_day else [every]
        for slots in groups:
            bound = float(limit.bound) * (1 if by_day else times)
            weights.of_column(limit.number, column, slots, bound)
    elif kind is LimitKind.MINIMUM:
        weights.of_minimum_take(limit, mandates, every, float(limit.bound))
    elif kind in PLATFORM_KINDS:
        weights.of_platform(limit, float(limit.bound))
    elif kind is LimitKind.MODEL_MAX:
        shares = model_weights(weights.columns, limit.member, limit.bound)
        weights.of_all(limit.number, shares, ramp)
